import type { AssistantMessage, Message, ToolCallPart, ToolOutput, UserMessage } from '@palimpsest/session'
import type { Outgoing, RequestBody } from './outgoing.js'

/** The body of an OpenAI Chat Completions request. */
export function chatBody({ messages, system, tools = [] }: Outgoing): RequestBody {
  const lead = system === undefined ? [] : [{ role: 'system', content: system }]
  return {
    messages: [...lead, ...messages.flatMap(chatMessages)],
    ...(tools.length > 0 && {
      tools: tools.map(({ name, description, inputSchema }) => ({
        type: 'function',
        function: { name, ...(description !== undefined && { description }), parameters: inputSchema },
      })),
    }),
  }
}

// --- internal ---

function chatMessages(message: Message): RequestBody[] {
  if (message.role === 'assistant') return [assistantMessage(message)]
  if (message.role === 'user') return [{ role: 'user', content: userContent(message) }]
  return message.content.map(({ toolCallId, output }) => ({
    role: 'tool',
    tool_call_id: toolCallId,
    content: outputText(output),
  }))
}

function assistantMessage({ content }: AssistantMessage): RequestBody {
  const text = content.flatMap(part => (part.type === 'text' ? [part.text] : [])).join('')
  const calls = content.filter(part => part.type === 'tool-call')
  return {
    role: 'assistant',
    content: text === '' ? null : text,
    ...(calls.length > 0 && { tool_calls: calls.map(toolCall) }),
  }
}

function toolCall({ toolCallId, toolName, input, rawInput }: ToolCallPart): RequestBody {
  return {
    id: toolCallId,
    type: 'function',
    function: { name: toolName, arguments: rawInput ?? JSON.stringify(input) },
  }
}

function userContent({ content }: UserMessage): unknown {
  if (content.length === 1 && content[0]!.type === 'text') return content[0]!.text
  return content.map(part => {
    if (part.type === 'text') return { type: 'text', text: part.text }
    const [data, mediaType] = part.type === 'image' ? [part.image, part.mediaType] : [part.data, part.mediaType]
    return {
      type: 'image_url',
      image_url: { url: /^(data|https?):/.test(data) ? data : `data:${mediaType};base64,${data}` },
    }
  })
}

/** A result as text: objects as their JSON. */
function outputText(output: ToolOutput): string {
  if (output.type === 'text' || output.type === 'error-text') return output.value
  if (output.type === 'json' || output.type === 'error-json') return JSON.stringify(output.value)
  if (output.type === 'execution-denied') return output.reason ?? 'denied'
  return output.value.map(part => (part.type === 'text' ? part.text : '')).join('\n')
}
