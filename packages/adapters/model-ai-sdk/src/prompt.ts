import type { Message, ModelRequest, Part, ProviderOptions, ToolCallPart } from '@palimpsest/session'
import { fileMembers } from './file-data.js'
import type { PromptMessage, PromptPart, SpecVersion } from './language-model.js'
import { isRecord } from './lossless.js'
import { outputFor } from './tool-output.js'

/**
 * The request's system text and messages as a prompt of the model's spec. A part's `providerOptions`
 * go back as they are. Neighbouring tool messages become one, since some targets want all results of
 * one answer together. An answer without content is left out: many refuse it.
 */
export function promptOf(request: ModelRequest, spec: SpecVersion): PromptMessage[] {
  const prompt: PromptMessage[] = request.system === undefined ? [] : [{ role: 'system', content: request.system }]
  for (const message of request.messages) {
    const next = messageFor(message, spec)
    if (next.role === 'assistant' && next.content.length === 0) continue
    const last = prompt.at(-1)
    if (last?.role === 'tool' && next.role === 'tool' && !last.providerOptions && !next.providerOptions) {
      last.content = [...(last.content as PromptPart[]), ...(next.content as PromptPart[])]
    } else {
      prompt.push(next)
    }
  }
  return prompt
}

/** What goes out as a call's input: raw text that is no JSON is `{}`. */
export function inputOf(part: ToolCallPart): unknown {
  return part.rawInput === undefined || isJson(part.rawInput) ? part.input : {}
}

/**
 * Our own name among `providerOptions`. `part` marks a part that only V4 has, in a place where it is neither lost nor sent
 * to a provider that cannot read it; `vendor` notes who gave an answer.
 */
export const OURS = 'palimpsest'

// --- internal ---

function messageFor(message: Message, spec: SpecVersion): PromptMessage {
  const content = (message.content as Part[]).flatMap(part => partFor(part, spec))
  const { providerOptions } = message
  return { role: message.role, content, ...(providerOptions === undefined ? {} : { providerOptions }) }
}

function partFor(part: Part, spec: SpecVersion): PromptPart[] {
  if (part.providerOptions?.[OURS]?.part !== undefined) return foreignPart(part, part.providerOptions, spec)
  const options = part.providerOptions === undefined ? {} : { providerOptions: part.providerOptions }
  switch (part.type) {
    case 'file': {
      const filename = part.filename === undefined ? {} : { filename: part.filename }
      return [{ type: 'file', ...fileMembers(part.data, part.mediaType, spec), ...filename, ...options }]
    }
    case 'image':
      return [{ type: 'file', ...fileMembers(part.image, part.mediaType, spec), ...options }]
    case 'tool-call': {
      const { rawInput: _, ...call } = part
      return [{ ...call, input: inputOf(part) }]
    }
    case 'tool-result':
      return [{ ...part, output: outputFor(part.output, spec) }]
    default:
      return [{ ...part }]
  }
}

function foreignPart(part: Part, options: ProviderOptions, spec: SpecVersion): PromptPart[] {
  if (spec !== 'v4') return []
  const { [OURS]: mark, ...providerOptions } = options
  if (part.type === 'file') {
    return [{ type: 'reasoning-file', ...fileMembers(part.data, part.mediaType, spec), providerOptions }]
  }
  return isRecord(mark) ? [{ type: 'custom', kind: mark.kind, providerOptions }] : []
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
