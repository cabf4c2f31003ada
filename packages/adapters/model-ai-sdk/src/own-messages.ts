import type { AssistantMessage, AssistantPart, Message, ProviderOptions, ToolOutput } from '@palimpsest/session'
import { OURS } from './prompt.js'
import { SHARED, type Vendor } from './vendor.js'

/**
 * What `vendor` may see of `messages`: of each `providerOptions` its own, and of another vendor's answers
 * what was said, called and made. Another's reasoning, and the calls that it ran itself, stay with it: they
 * mean nothing elsewhere, and would go out as this vendor's own. An answer that names no vendor is taken
 * as it is.
 */
export function ownMessages(messages: readonly Message[], vendor: Vendor): Message[] {
  return messages.map((message): Message => {
    if (message.role === 'assistant')
      return isForeign(message, vendor) ? spoken(message, vendor) : answer(message, vendor)
    const own = withOwn(message, vendor.inputs)
    if (own.role === 'user') return { ...own, content: own.content.map(part => withOwn(part, vendor.inputs)) }
    const content = own.content.map(part => ({
      ...withOwn(part, vendor.inputs),
      output: withOwnOutput(part.output, vendor.inputs),
    }))
    return { ...own, content } as Message
  })
}

/** Notes in `options` who gave them, where their names do not tell. Transcripts note on each message who wrote it. */
export function noted(options: ProviderOptions, vendor: Vendor | undefined): ProviderOptions {
  return vendor?.isShared ? { ...options, [OURS]: { vendor: vendor.name } } : options
}

// --- internal ---

interface Holder {
  providerOptions?: ProviderOptions
}

/** An answer comes from one vendor, so one part that names it speaks for all. */
function isForeign(message: AssistantMessage, vendor: Vendor): boolean {
  const given = [message, ...message.content].flatMap(({ providerOptions }) =>
    providerOptions ? [providerOptions] : [],
  )
  const notes = given.flatMap(options => options[OURS]?.vendor ?? [])
  const names = given.flatMap(options => Object.keys(options)).filter(name => name !== OURS)
  const givers = notes.length > 0 ? notes : names
  return givers.length > 0 && !givers.some(name => vendor.answers.has(name as string))
}

function answer(message: AssistantMessage, { answers, isShared }: Vendor): AssistantMessage {
  const names = isShared ? new Set([...answers, SHARED]) : answers
  const content = message.content.map(part => signedForGoogle(withOwn(part, names)))
  return { ...withOwn(message, names), content }
}

/** What stands on it under the vendor's own name was put there for it, such as a mark instead of a signature. */
function spoken({ content }: AssistantMessage, { answers }: Vendor): AssistantMessage {
  const names = new Set([...answers].filter(name => name !== SHARED))
  return { role: 'assistant', content: content.filter(isSpoken).map(part => withOwn(part, names)) }
}

/** A text without text is only there for its options; a result in an answer is one of the provider's own. */
function isSpoken(part: AssistantPart): boolean {
  if (part.providerOptions?.[OURS]?.part !== undefined) return false
  if (part.type === 'text') return part.text !== ''
  if (part.type === 'tool-call') return part.providerExecuted !== true
  return part.type === 'file'
}

function withOwn<T extends Holder>(holder: T, names: ReadonlySet<string>): T {
  const { providerOptions, ...rest } = holder
  if (!providerOptions) return holder
  const own = Object.entries(providerOptions).filter(([name, options]) =>
    name === OURS ? options.part !== undefined : names.has(name),
  )
  return (own.length > 0 ? { ...rest, providerOptions: Object.fromEntries(own) } : rest) as T
}

function withOwnOutput(output: ToolOutput, names: ReadonlySet<string>): ToolOutput {
  if (output.type !== 'content') return withOwn(output, names)
  return { ...output, value: output.value.map(part => withOwn(part, names)) }
}

/** The SDK's OpenAI-compatible models give a call's thought signature under their name, and read it under Google's. */
function signedForGoogle(part: AssistantPart): AssistantPart {
  if (part.type !== 'tool-call' || part.providerOptions === undefined || part.providerOptions.google) return part
  const signed = Object.values(part.providerOptions).find(options => typeof options.thoughtSignature === 'string')
  if (signed?.thoughtSignature === undefined) return part
  const google = { thoughtSignature: signed.thoughtSignature }
  return { ...part, providerOptions: { ...part.providerOptions, google } }
}
