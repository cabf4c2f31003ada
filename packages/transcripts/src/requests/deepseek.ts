import type { AssistantMessage, Message, UserMessage } from '@palimpsest/session'
import { chatMessages, chatTools } from './chat-message.js'
import type { Outgoing, RequestBody } from './outgoing.js'

/** The body of a DeepSeek request. In thinking mode it takes no two messages of one role in a row, so neighbours are one. */
export function deepseekBody({ messages, system, tools = [], thinking, toolChoice }: Outgoing): RequestBody {
  const lead = system === undefined ? [] : [{ role: 'system', content: system }]
  const told = thinking === 'enabled' ? joined(messages) : messages
  return {
    messages: [...lead, ...told.flatMap(message => chatMessages(message, DIALECT))],
    ...chatTools(tools, messages, DIALECT),
    ...(toolChoice !== undefined && { tool_choice: toolChoice }),
    ...(thinking !== undefined && { thinking: { type: thinking } }),
  }
}

// --- internal ---

const DIALECT = { hasReasoning: true, hasCustomTools: false }

function joined(messages: readonly Message[]): Message[] {
  const list: Message[] = []
  for (const message of messages) {
    const last = list.at(-1)
    if (last?.role === 'user' && message.role === 'user') list[list.length - 1] = both<UserMessage>(last, message)
    else if (last?.role === 'assistant' && message.role === 'assistant')
      list[list.length - 1] = both<AssistantMessage>(last, message)
    else list.push(message)
  }
  return list
}

function both<M extends UserMessage | AssistantMessage>(first: M, second: M): M {
  return { ...first, content: [...first.content, ...second.content] }
}
