import type { Edit } from '@palimpsest/history'

/** What a command needs to name a session. */
export interface SessionName {
  readonly id: string
  /** `--store …`, or nothing. */
  readonly storeFlag: string
}

/** What became of a compaction that was begun and never ended, in a sentence. */
export function interruptionText({ seq, nodes, range }: Edit, { id, storeFlag }: SessionName): string {
  const of = range === undefined ? 'a compaction' : `the compaction of ${range.start}…${range.end}`
  const begun = `${of} that began at event ${seq} never came to its end`
  if (nodes.length === 0) return `${begun}: nothing was replaced, the model sees what it saw before`
  return `${begun}, but its summary stands as event ${nodes[0]}: palimpsest explain ${id} ${nodes[0]}${storeFlag} shows it, palimpsest restore ${id} ${nodes[0]}${storeFlag} undoes it`
}
