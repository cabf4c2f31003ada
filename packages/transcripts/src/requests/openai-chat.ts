import { chatMessages, chatTools } from './chat-message.js'
import type { Outgoing, RequestBody } from './outgoing.js'

/** The body of an OpenAI Chat Completions request. */
export function chatBody({ messages, system, tools = [], toolChoice }: Outgoing): RequestBody {
  const lead = system === undefined ? [] : [{ role: 'system', content: system }]
  return {
    messages: [...lead, ...messages.flatMap(message => chatMessages(message, DIALECT))],
    ...chatTools(tools, messages, DIALECT),
    ...(toolChoice !== undefined && { tool_choice: toolChoice }),
  }
}

// --- internal ---

const DIALECT = { hasReasoning: false, hasCustomTools: true }
