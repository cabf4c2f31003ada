import type { Edit } from '@palimpsest/history'
import type { SessionEvent } from '@palimpsest/session'
import { IMPORT_END } from '../transcripts/import-end.js'

/** What another agent did to its history before it was imported: a summary in the place of turns, or a prompt in the place of others. */
export type ImportedEdit = 'compaction' | 'rewind'

/** Tells what the replacements of an imported log were, from its events in order. */
export class ImportedEdits {
  /** Of replacements, by seq: whether their own message says that it is a summary. */
  readonly #isSummary = new Map<number, boolean>()
  readonly #timeOf = new Map<number, number>()
  /** When the file tells of a compaction. */
  readonly #compactions = new Set<number>()
  #end = -1

  add({ seq, type, time, data, surfaceOp }: SessionEvent): void {
    const name: string = type
    if (name === IMPORT_END) this.#end = seq
    if (name.startsWith('import/') && /compact/.test(name)) this.#compactions.add(time)
    if (typeof surfaceOp !== 'object' || surfaceOp.op !== 'replace') return
    this.#isSummary.set(seq, /compact|summary/.test(String(Object(data).origin)))
    this.#timeOf.set(seq, time)
  }

  /** `undefined` of an edit that was made here. */
  originOf({ kind, seq }: Edit): ImportedEdit | undefined {
    if (kind !== 'replace' || seq >= this.#end) return undefined
    const isToldBeside = this.#compactions.has(this.#timeOf.get(seq) ?? -1)
    return this.#isSummary.get(seq) || isToldBeside ? 'compaction' : 'rewind'
  }
}
