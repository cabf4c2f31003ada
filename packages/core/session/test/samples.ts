import type {
  AssistantPart,
  EventMap,
  EventType,
  RequestHeader,
  RestoreIntent,
  Session,
  SessionEvent,
  SurfaceIntent,
  ToolMessage,
  UserMessage,
} from '@palimpsest/session'

export const APPEND = { surfaceOp: 'append' } as const

/** An intent that replaces `start…end`, citing `sources`. */
export function replaces(start: number, end: number, sources: readonly number[]): SurfaceIntent {
  return { surfaceOp: { op: 'replace', start, end }, sourceEventSeqs: sources }
}

/** An intent that takes the replacement `node` off again. */
export function restores(node: number): RestoreIntent {
  return { surfaceOp: { op: 'restore', node }, sourceEventSeqs: [node] }
}

export function user(text = 'hello'): { message: UserMessage } {
  return { message: { role: 'user', content: [{ type: 'text', text }] } }
}

/** What an assistant said in a step, with a call for each id. */
export function assistant(text: string, calls: string[] = [], step = 1, turn = 1): EventMap['assistant/message'] {
  const content: AssistantPart[] = text === '' ? [] : [{ type: 'text', text }]
  for (const toolCallId of calls) content.push({ type: 'tool-call', toolCallId, toolName: 'look', input: {} })
  const finishReason = calls.length > 0 ? 'tool-calls' : 'stop'
  return { turn, step, message: { role: 'assistant', content }, finishReason }
}

export function call(toolCallId: string, step = 1, turn = 1): EventMap['tool/call'] {
  return { turn, step, toolCallId, toolName: 'look', arguments: '{}' }
}

export function settled(toolCallId: string, value: string, step = 1, turn = 1): EventMap['tool/settled'] {
  return { turn, step, toolCallId, output: { type: 'text', value } }
}

export function result(toolCallId: string, value = 'seen', step = 1, turn = 1): EventMap['tool/result'] {
  const message: ToolMessage = {
    role: 'tool',
    content: [{ type: 'tool-result', toolCallId, toolName: 'look', output: { type: 'text', value } }],
  }
  return { turn, step, toolCallId, message }
}

export function requestHeader(model = 'm-1'): RequestHeader {
  return {
    model,
    settings: { temperature: 0.5 },
    system: 'Be brief.',
    tools: [{ name: 'look', inputSchema: { type: 'object' } }],
  }
}

/** Appends without the compiler's guard: what a caller in plain JavaScript can do. */
export function appendLoose(session: Session, type: unknown, data: unknown, ...intent: unknown[]): SessionEvent {
  const append = session.append.bind(session) as unknown as (...args: unknown[]) => SessionEvent
  return append(type, data, ...intent)
}

/** Fills a session with user messages `0…count-1`. */
export function say(session: Session, count: number): Session {
  for (let i = 0; i < count; i++) session.append('user/message', user(`text ${session.length}`), APPEND)
  return session
}

/** A clock that ticks by one, so that logs of different runs are the same bytes. */
export function tickingClock(start = 1000): () => number {
  let time = start
  return () => time++
}

/** The events as a store gives them back: equal, not identical, not frozen. */
export function reread<T extends EventType>(events: readonly SessionEvent<T>[]): SessionEvent<T>[] {
  return JSON.parse(JSON.stringify(events))
}

export function textsOf(session: Session): string[] {
  return session.deriveMessages().map(({ content: [part] }) => (part?.type === 'text' ? part.text : `${part?.type}`))
}
