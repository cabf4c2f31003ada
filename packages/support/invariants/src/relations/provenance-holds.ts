import type { Session, SessionEvent } from '@palimpsest/session'
import { citesLoss, type Relation, type Violation } from '../relation.js'

export const provenanceHolds: Relation = {
  name: 'provenance-holds',
  description:
    'Sources lie before the event and are of the right kind: chunks under an answer, the call or its answer under a result, all that is shadowed under a replacement.',
  judgeLog: session => event => judge(session, event),
}

// --- internal ---

function judge(session: Session, event: SessionEvent): Violation | undefined {
  const { seq, sourceEventSeqs: sources, surfaceOp } = event
  if (sources === undefined) return needsSources(event) ? broken(event, 'sources', 'none') : undefined
  const late = sources.find(source => !(source < seq) || session.at(source) === undefined)
  if (late !== undefined) return broken(event, 'sources that lie before it', String(late))
  if (surfaceOp !== 'append') return undefined
  const violation = judgeKind(session, event, sources)
  return violation === undefined || citesLoss(session, event) ? undefined : violation
}

function judgeKind(session: Session, event: SessionEvent, sources: readonly number[]): Violation | undefined {
  if (event.type === 'assistant/message') return judgeAnswer(session, event, sources)
  return event.type === 'tool/result' ? judgeResult(session, event, sources) : undefined
}

function needsSources({ surfaceOp }: SessionEvent): boolean {
  return surfaceOp !== undefined && surfaceOp !== 'append'
}

function judgeAnswer(
  session: Session,
  event: SessionEvent<'assistant/message'>,
  sources: readonly number[],
): Violation | undefined {
  const { turn, step } = event.data
  for (const source of sources) {
    const cited = session.at(source)!
    // Of a type of somebody else's, as an importer keeps what it cannot translate: nobody here can say what it is.
    if (cited.ignorable) continue
    if (cited.type === 'assistant/chunk' && cited.data.turn === turn && cited.data.step === step) continue
    return broken(event, `chunks of turn ${turn} step ${step} as sources`, `${cited.type} at ${source}`)
  }
  return undefined
}

function judgeResult(
  session: Session,
  event: SessionEvent<'tool/result'>,
  sources: readonly number[],
): Violation | undefined {
  const { toolCallId } = event.data
  const isCited = sources.some(source => asksFor(session.at(source)!, toolCallId))
  return isCited
    ? undefined
    : broken(event, `the call ${JSON.stringify(toolCallId)} or its answer as a source`, `[${sources}]`)
}

function asksFor(event: SessionEvent, toolCallId: string): boolean {
  if (event.type === 'tool/call') return event.data.toolCallId === toolCallId
  if (event.type !== 'assistant/message') return false
  return event.data.message.content.some(part => part?.type === 'tool-call' && part.toolCallId === toolCallId)
}

function broken({ seq, type }: SessionEvent, expected: string, found: string): Violation {
  return { seqs: [seq], message: `${type} at ${seq}: expected ${expected}, found ${found}` }
}
