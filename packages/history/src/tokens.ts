import type { Message, Part, RequestHeader, ToolOutput } from '@palimpsest/session'

/** How many tokens a text takes. Any tokenizer of that shape will do. */
export type CountTokens = (text: string) => number

/** Four UTF-8 bytes a token: near enough for English and code where no tokenizer is given. */
export const estimateTokens: CountTokens = text => Math.ceil(utf8Length(text) / 4)

/** Of one message. Counted once a message and tokenizer, as messages never change. */
export function messageTokens(message: Message, countTokens: CountTokens): number {
  const known = countedBy(countTokens)
  const tokens = known.get(message) ?? countMessage(message, countTokens)
  known.set(message, tokens)
  return tokens
}

export function totalTokens(messages: readonly Message[], countTokens: CountTokens): number {
  return messages.reduce((sum, message) => sum + messageTokens(message, countTokens), 0)
}

/** What a request takes beside its messages. */
export function headerTokens({ system, tools }: RequestHeader, countTokens: CountTokens): number {
  return (
    (system === undefined ? 0 : countTokens(asText(system))) +
    (tools === undefined ? 0 : countTokens(JSON.stringify(tools)))
  )
}

/** The words of a tool's output, as a model reads them. */
export function outputText(output: ToolOutput): string {
  const { type, value, reason } = Object(output) as { type?: unknown; value?: unknown; reason?: unknown }
  if (type === 'text' || type === 'error-text') return asText(value)
  if (type === 'execution-denied') return asText(reason ?? 'denied')
  if (type === 'content' && Array.isArray(value)) return value.map(itemText).join('\n')
  return JSON.stringify(value === undefined ? output : value) ?? ''
}

export function asText(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
}

// --- internal ---

const counted = new WeakMap<CountTokens, WeakMap<Message, number>>()

function countedBy(countTokens: CountTokens): WeakMap<Message, number> {
  const known = counted.get(countTokens) ?? new WeakMap()
  counted.set(countTokens, known)
  return known
}

/** What providers charge for an image or a document has nothing to do with the length of its base64 text. */
const MEDIA_TOKENS = 1_000

function countMessage({ content }: Message, countTokens: CountTokens): number {
  return content.reduce((sum, part) => sum + countPart(part, countTokens), 0)
}

/** The kernel vouches for an array of parts and no more: what is of no known shape counts as its JSON. */
function countPart(part: Part, countTokens: CountTokens): number {
  switch (part?.type) {
    case 'text':
    case 'reasoning':
      return countTokens(asText(part.text))
    case 'tool-call':
      return countTokens(asText(part.toolName)) + countTokens(asText(part.rawInput ?? part.input))
    case 'tool-result':
      return countOutput(part.output, countTokens)
    case 'file':
    case 'image':
      return MEDIA_TOKENS
    default:
      return countTokens(asText(part))
  }
}

function countOutput(output: ToolOutput, countTokens: CountTokens): number {
  const { type, value } = Object(output) as { type?: unknown; value?: unknown }
  const items: unknown[] = type === 'content' && Array.isArray(value) ? value : []
  const media = items.filter(item => Object(item).type !== 'text').length
  return countTokens(outputText(output)) + media * MEDIA_TOKENS
}

function itemText(item: unknown): string {
  const { type, text } = Object(item) as { type?: unknown; text?: unknown }
  return type === 'text' ? asText(text) : `[${asText(type)}]`
}

function utf8Length(text: string): number {
  let bytes = text.length
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    // A surrogate pair takes four bytes: two for each of its halves.
    if (unit > 0x7f) bytes += unit > 0x7ff && (unit < 0xd800 || unit > 0xdfff) ? 2 : 1
  }
  return bytes
}
