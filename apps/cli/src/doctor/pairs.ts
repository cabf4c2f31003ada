import type { SessionEvent } from '@palimpsest/session'
import type { Finding } from './findings.js'

/**
 * What the kernel does not look at: calls and results pair, and the sources of an answer or a result are
 * what they say. A call of the turn that is still open may wait for its result.
 */
export function findUnpaired(events: readonly SessionEvent[]): Finding[] {
  const findings: Finding[] = []
  let waiting = new Map<string, number>()
  for (const event of events) {
    if (event.type === 'turn/end') {
      for (const [id, seq] of waiting) findings.push(unanswered(id, seq))
      waiting = new Map()
    }
    if (event.type === 'assistant/message' && event.surfaceOp === 'append') {
      for (const id of callsOf(event)) waiting.set(id, event.seq)
    }
    if (event.type === 'tool/result' && event.surfaceOp === 'append' && !waiting.delete(event.data.toolCallId)) {
      findings.push(uncalled(event))
    }
    findings.push(...unfitSources(event, events))
  }
  return findings
}

// --- internal ---

function callsOf({ data }: SessionEvent<'assistant/message'>): string[] {
  const parts = data.message.content as unknown as ({ [member: string]: unknown } | null)[]
  return parts.flatMap(part =>
    part?.type === 'tool-call' && part.providerExecuted !== true ? [String(part.toolCallId)] : [],
  )
}

/** A replacement cites what it shadows, which the kernel has checked. */
function unfitSources(event: SessionEvent, events: readonly SessionEvent[]): Finding[] {
  const fits = FITTING[event.type]
  if (fits === undefined || event.surfaceOp !== 'append') return []
  const unfit = (event.sourceEventSeqs ?? []).filter(seq => !fits.includes(events[seq]!.type))
  if (unfit.length === 0) return []
  const found = `${unfit[0]}, a ${events[unfit[0]!]!.type}`
  const message = `event ${event.seq}, a ${event.type}: expected ${fits.join(' or ')} as its sources, found ${found}`
  return [{ code: 'SOURCE_UNFIT', message, seq: event.seq }]
}

const FITTING: Partial<Record<string, readonly string[]>> = {
  'assistant/message': ['assistant/chunk'],
  'tool/result': ['tool/call', 'assistant/message'],
}

function unanswered(id: string, seq: number): Finding {
  const message = `event ${seq} calls ${JSON.stringify(id)}, and its turn ended without a result: a provider may refuse the history`
  return { code: 'CALL_WITHOUT_RESULT', message, seq }
}

function uncalled({ seq, data }: SessionEvent<'tool/result'>): Finding {
  const message = `event ${seq} answers ${JSON.stringify(data.toolCallId)}, which nobody called before it in this turn`
  return { code: 'RESULT_WITHOUT_CALL', message, seq }
}
