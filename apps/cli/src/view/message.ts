import { escapeLine, escapeText } from '../escape.js'
import type { Colors } from '../output.js'
import { asText } from './as-text.js'
import { bytes } from './figures.js'

/**
 * The parts of a message as lines. The kernel vouches for an array of parts and no more, so anything may
 * stand in it: what is not known is printed as its JSON.
 */
export function messageLines(message: unknown, colors: Colors): string[] {
  const content = (message as { content?: unknown } | null)?.content
  return Array.isArray(content) ? content.flatMap(part => partLines(part, colors)) : [escapeLine(asText(message))]
}

/** One tool output as text, whatever its kind. */
export function outputText(output: unknown): string {
  const { type, value, reason } = (output ?? {}) as { type?: unknown; value?: unknown; reason?: unknown }
  if ((type === 'text' || type === 'error-text') && typeof value === 'string') return value
  if (type === 'execution-denied') return `denied${typeof reason === 'string' ? `: ${reason}` : ''}`
  if (type === 'content' && Array.isArray(value)) return value.map(contentText).join('\n')
  return asText(value === undefined ? output : value)
}

export function isErrorOutput(output: unknown): boolean {
  const type = (output as { type?: unknown } | null)?.type
  return type === 'error-text' || type === 'error-json' || type === 'execution-denied'
}

/** What begins each line of reasoning where no colour tells it from the answer. */
export function reasoningMark({ isColorSupported }: Colors): string {
  return isColorSupported ? '' : 'thinking: '
}

/** The arguments of a call as the model wrote them. */
export function argumentsOf(call: { input?: unknown; rawInput?: unknown }): string {
  return typeof call.rawInput === 'string' ? call.rawInput : asText(call.input)
}

// --- internal ---

type Part = { type?: unknown; input?: unknown; rawInput?: unknown; [member: string]: unknown }

function partLines(value: unknown, colors: Colors): string[] {
  const part = (value ?? {}) as Part
  if (part.type === 'text' && typeof part.text === 'string') return lines(part.text)
  if (part.type === 'reasoning' && typeof part.text === 'string') {
    const text = part.text === '' ? '(reasoning, not readable)' : part.text
    return lines(text).map(line => colors.dim(reasoningMark(colors) + line))
  }
  if (part.type === 'tool-call') return [`${colors.cyan(`→ ${name(part)}`)} ${escapeLine(argumentsOf(part))}`]
  if (part.type === 'tool-result') return resultLines(part, colors)
  if (part.type === 'file' || part.type === 'image') return [fileLine(part)]
  return [escapeLine(asText(value))]
}

function resultLines(part: Part, colors: Colors): string[] {
  const paint = isErrorOutput(part.output) ? colors.red : (text: string) => text
  return [colors.cyan(`← ${name(part)}`), ...lines(outputText(part.output)).map(paint)]
}

function name(part: Part): string {
  return escapeLine(`${String(part.toolName)} (${String(part.toolCallId)})`)
}

function fileLine(part: Part): string {
  const data = part.type === 'image' ? part.image : part.data
  const size = typeof data === 'string' ? (/^https?:/.test(data) ? data : bytes(Math.floor((data.length * 3) / 4))) : ''
  return escapeLine(`[${String(part.type)} ${String(part.filename ?? part.mediaType ?? '')} ${size}]`)
}

function contentText(item: unknown): string {
  const { type, text, mediaType, url } = (item ?? {}) as { [member: string]: unknown }
  if (type === 'text' && typeof text === 'string') return text
  return `[${String(type)}${[mediaType, url]
    .filter(each => typeof each === 'string')
    .map(each => ` ${each}`)
    .join('')}]`
}

function lines(text: string): string[] {
  return escapeText(text).replace(/\n$/, '').split('\n')
}
