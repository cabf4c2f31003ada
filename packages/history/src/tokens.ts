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
    (system === undefined ? 0 : countTokens(system)) + (tools === undefined ? 0 : countTokens(JSON.stringify(tools)))
  )
}

/** The words of a tool's output, as a model reads them. */
export function outputText(output: ToolOutput): string {
  switch (output.type) {
    case 'text':
    case 'error-text':
      return output.value
    case 'content':
      return output.value.map(each => (each.type === 'text' ? each.text : `[${each.type}]`)).join('\n')
    case 'execution-denied':
      return output.reason ?? 'denied'
    default:
      return JSON.stringify(output.value)
  }
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

function countPart(part: Part, countTokens: CountTokens): number {
  switch (part.type) {
    case 'text':
    case 'reasoning':
      return countTokens(part.text)
    case 'tool-call':
      return countTokens(part.toolName) + countTokens(part.rawInput ?? JSON.stringify(part.input))
    case 'tool-result':
      return countTokens(outputText(part.output)) + mediaIn(part.output) * MEDIA_TOKENS
    case 'file':
    case 'image':
      return MEDIA_TOKENS
  }
}

function mediaIn(output: ToolOutput): number {
  return output.type === 'content' ? output.value.filter(({ type }) => type !== 'text').length : 0
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
