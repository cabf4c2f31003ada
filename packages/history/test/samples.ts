import type {
  AssistantPart,
  EventMap,
  EventType,
  Session,
  SessionEvent,
  ToolMessage,
  UserMessage,
} from '@palimpsest/session'

export const APPEND = { surfaceOp: 'append' } as const

export const user = (text: string): { message: UserMessage } => ({
  message: { role: 'user', content: [{ type: 'text', text }] },
})

export interface Said {
  text?: string
  /** Ids, or whole inputs by id. */
  calls?: string[] | Record<string, { [key: string]: string }>
  /** Signed reasoning before the rest. */
  signed?: boolean
}

export function assistant({ text = '', calls = [], signed = false }: Said): EventMap['assistant/message'] {
  const content: AssistantPart[] = []
  if (signed) content.push({ type: 'reasoning', text: 'hm', providerOptions: { anthropic: { signature: 'c2ln' } } })
  if (text !== '') content.push({ type: 'text', text })
  const inputs = Array.isArray(calls) ? Object.fromEntries(calls.map(id => [id, {}])) : calls
  for (const [toolCallId, input] of Object.entries(inputs)) {
    content.push({ type: 'tool-call', toolCallId, toolName: 'look', input })
  }
  return { turn: 1, step: 1, message: { role: 'assistant', content }, finishReason: 'stop' }
}

export function result(toolCallId: string, value = 'seen'): EventMap['tool/result'] {
  const message: ToolMessage = {
    role: 'tool',
    content: [{ type: 'tool-result', toolCallId, toolName: 'look', output: { type: 'text', value } }],
  }
  return { turn: 1, step: 1, toolCallId, message }
}

/** A user's question, the answer with a call, and the call's result of `size` characters. Three nodes. */
export function round(session: Session, n: number, size = 2_000): void {
  session.append('user/message', user(`question ${n}`), APPEND)
  session.append('assistant/message', assistant({ calls: { [`c${n}`]: { path: `src/file-${n}.ts` } } }), APPEND)
  session.append('tool/result', result(`c${n}`, `result ${n} `.padEnd(size, 'x')), APPEND)
}

export const textOf = (session: Session, seq: number): string => JSON.stringify(session.at(seq)!.data)

export function eventsOf<T extends EventType>(session: Session, type: T): SessionEvent<T>[] {
  return session.events.filter(event => event.type === type) as unknown as SessionEvent<T>[]
}
