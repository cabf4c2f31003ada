import { EditFold, explain } from '@palimpsest/history'
import type { Session, SessionEvent } from '@palimpsest/session'
import { CommandError } from './failure.js'
import { unknownSeq } from './unknown-seq.js'

/** Refuses a seq that is no visible replacement. Mostly it is near one that is: says which. */
export function assertRestorable(session: Session, node: number, storeFlag: string): void {
  const event = session.at(node)
  if (event === undefined) throw unknownSeq(session, node)
  const { surface, id } = session
  if (surface.has(node) && surface.shadowed(node).length > 0) return
  const restoreOf = (seq: number) => `palimpsest restore ${id} ${seq}${storeFlag}`
  const [told] = nodesToldBy(session, event)
  if (told !== undefined) throw refusal(`${node}, the ${event.type} of the replacement ${told}`, restoreOf(told))
  const above = surface.coveredBy(node)
  if (above !== undefined) throw refusal(`${node} below ${above}`, `level by level: ${restoreOf(above)}`)
  if (explain(session, node).state === 'undone') {
    throw refusal(`${node}, which was undone already`, `palimpsest explain ${id} ${node}${storeFlag} tells by what`)
  }
  throw refusal(
    `${node}, of type ${event.type}, which replaced nothing`,
    `palimpsest log ${id} --edits${storeFlag} lists what did`,
  )
}

// --- internal ---

function refusal(found: string, next: string): CommandError {
  return new CommandError('SURFACE_RESTORE_INVALID', `expected a visible replacement, found ${found}; ${next}`)
}

/** The replacements of the edit that an event beside them tells of. */
function nodesToldBy(session: Session, { seq, type, data }: SessionEvent): readonly number[] {
  if (type === 'prune/applied') return data.nodes
  if (type === 'compaction/end') return data.node === undefined ? [] : [data.node]
  if (type !== 'compaction/start') return []
  const fold = new EditFold()
  for (const event of session.slice(seq)) fold.add(event)
  return fold.finish()[0]!.nodes
}
