import type { SessionEvent } from '@palimpsest/session'
import type { Finding } from './findings.js'

/**
 * What the kernel does not look at: calls and results pair, and the sources of an answer or a result are
 * what they say. A call of the turn that is still open may wait for its result.
 */
export class PairCheck {
  readonly findings: Finding[] = []
  /** Of each event its type; every type is one string, however often it stands in the log. */
  readonly #types: string[] = []
  readonly #names = new Map<string, string>()
  /** Calls without a result, with the seqs that made them. */
  #waiting = new Map<string, number>()

  /** In order, from the first on. */
  add(event: SessionEvent): void {
    if (event.type === 'turn/end') {
      for (const [id, seq] of this.#waiting) this.findings.push(unanswered(id, seq))
      this.#waiting = new Map()
    }
    if (event.type === 'assistant/message' && event.surfaceOp === 'append') {
      for (const id of callsOf(event)) this.#waiting.set(id, event.seq)
    }
    if (event.type === 'tool/result' && event.surfaceOp === 'append') {
      if (!this.#waiting.delete(event.data.toolCallId)) this.findings.push(uncalled(event))
    }
    this.#noteType(event.type)
    this.#checkSources(event)
  }

  // --- internal ---

  #noteType(type: string): void {
    const name = this.#names.get(type) ?? type
    this.#names.set(name, name)
    this.#types.push(name)
  }

  /** A replacement cites what it shadows, which the kernel has checked. */
  #checkSources(event: SessionEvent): void {
    const fits = FITTING[event.type]
    if (fits === undefined || event.surfaceOp !== 'append') return
    const unfit = event.sourceEventSeqs?.find(seq => !fits.includes(this.#types[seq]!))
    if (unfit === undefined) return
    const found = `${unfit}, a ${this.#types[unfit]}`
    const message = `event ${event.seq}, a ${event.type}: expected ${fits.join(' or ')} as its sources, found ${found}`
    this.findings.push({ code: 'SOURCE_UNFIT', message, seq: event.seq })
  }
}

// --- internal ---

/** A `log/lost` stands for sources that are gone. */
const FITTING: Partial<Record<string, readonly string[]>> = {
  'assistant/message': ['assistant/chunk', 'log/lost'],
  'tool/result': ['tool/call', 'assistant/message', 'log/lost'],
}

function callsOf({ data }: SessionEvent<'assistant/message'>): string[] {
  const parts = data.message.content as unknown as ({ [member: string]: unknown } | null)[]
  return parts.flatMap(part =>
    part?.type === 'tool-call' && part.providerExecuted !== true ? [String(part.toolCallId)] : [],
  )
}

function unanswered(id: string, seq: number): Finding {
  const message = `event ${seq} calls ${JSON.stringify(id)}, and its turn ended without a result: a provider may refuse the history`
  return { code: 'CALL_WITHOUT_RESULT', message, seq }
}

function uncalled({ seq, data }: SessionEvent<'tool/result'>): Finding {
  const message = `event ${seq} answers ${JSON.stringify(data.toolCallId)}, which nobody called before it in this turn`
  return { code: 'RESULT_WITHOUT_CALL', message, seq }
}
