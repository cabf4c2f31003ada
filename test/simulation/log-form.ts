import type { SessionEvent } from '@palimpsest/session'

/** What is wrong with the form of a log at rest; a naive model: brackets, numbers that count, calls that wait. */
export function findMisformed(events: readonly SessionEvent[]): string | undefined {
  const form: Form = { turn: 0, step: 0, depth: 0, open: [], answer: -1, begun: new Map() }
  for (const event of events) {
    const problem = foldEvent(form, event)
    if (problem !== undefined) return `event ${event.seq} (${event.type}): ${problem}`
  }
  return form.depth === 0 ? undefined : `a turn or step is open at the end, after ${events.length} events`
}

// --- internal ---

interface Form {
  turn: number
  step: number
  depth: number
  /** Calls without a result, in the model's order. */
  open: string[]
  answer: number
  begun: Map<string, number>
}

function foldEvent(form: Form, event: SessionEvent): string | undefined {
  const { turn, step } = event.data as { turn?: number; step?: number }
  switch (event.type) {
    case 'turn/start':
      form.step = 0
      form.turn += 1
      return at(form.depth++ === 0 && turn === form.turn)
    case 'step/start':
      form.step += 1
      return at(form.depth++ === 1 && turn === form.turn && step === form.step)
    case 'step/end':
      if (form.open.length > 0) return `${form.open} without a result`
      return at(form.depth-- === 2 && turn === form.turn && step === form.step)
    case 'turn/end':
      return at(form.depth-- === 1 && turn === form.turn)
    case 'user/message':
      return event.surfaceOp === 'append' ? at(form.depth === 1 && form.step === 0) : undefined
    case 'surface/restore':
      return undefined
    case 'assistant/message':
      form.open = event.data.message.content.flatMap(part => (part.type === 'tool-call' ? [part.toolCallId] : []))
      form.answer = event.seq
      form.begun.clear()
      return at(form.depth === 2)
    case 'tool/call':
      if (!form.open.includes(event.data.toolCallId)) return 'of a call that does not wait'
      if (form.begun.has(event.data.toolCallId)) return 'begun twice'
      form.begun.set(event.data.toolCallId, event.seq)
      return at(form.depth === 2)
    case 'tool/settled':
      return at(form.begun.has(event.data.toolCallId))
    case 'tool/result':
      return foldResult(form, event)
    default:
      return at(form.depth === 2)
  }
}

function foldResult(form: Form, event: SessionEvent<'tool/result'>): string | undefined {
  const { toolCallId } = event.data
  const expected = form.open.shift()
  if (toolCallId !== expected) return `of ${toolCallId}, expected that of ${expected}`
  const source = form.begun.get(toolCallId) ?? form.answer
  return event.sourceEventSeqs?.join() === `${source}` ? undefined : `cites ${event.sourceEventSeqs}, not ${source}`
}

function at(isRight: boolean): string | undefined {
  return isRight ? undefined : 'out of place'
}
