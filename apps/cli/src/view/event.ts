import type { SessionEvent } from '@palimpsest/session'
import { escapeLine, shorten } from '../escape.js'
import type { Colors } from '../output.js'
import { asText } from './as-text.js'
import { counted, instant } from './figures.js'
import { argumentsOf, isErrorOutput, outputText } from './message.js'

const SUMMARY_CHARACTERS = 100

/** One event, one line: seq, time, type, what it says in short. */
export function eventLine(event: SessionEvent, colors: Colors, width = 6): string {
  const seq = String(event.seq).padStart(width)
  const type = escapeLine(event.type).padEnd(18)
  return `${seq}  ${colors.dim(instant(event.time))}  ${paintType(type, event, colors)} ${summaryOf(event)}`.trimEnd()
}

/** The event's data in short, escaped. Data of a log may be any JSON, so nothing about its shape is taken for granted. */
function summaryOf(event: SessionEvent): string {
  const marks = [opOf(event.surfaceOp), faultOf(event.data)].filter(mark => mark !== '')
  return [shorten(textOf(event), SUMMARY_CHARACTERS), ...marks].join(' ').trim()
}

/** `in place of 3…9`, `undoes 12`, or nothing for a plain append. */
function opOf(op: unknown): string {
  const { op: kind, start, end, node } = (op ?? {}) as { op?: unknown; start?: unknown; end?: unknown; node?: unknown }
  if (kind === 'replace') return `[in place of ${start === end ? start : `${start}…${end}`}]`
  return kind === 'restore' ? `[undoes ${node}]` : ''
}

// --- internal ---

type Data = { [member: string]: unknown }

function paintType(type: string, event: SessionEvent, colors: Colors): string {
  if ((event.data as Data | null)?.error !== undefined) return colors.red(type)
  return event.surfaceOp === undefined ? colors.dim(type) : colors.bold(type)
}

function textOf(event: SessionEvent): string {
  const data = (event.data ?? {}) as Data
  const step = [data.turn, data.step].filter(part => part !== undefined).join('.')
  const text = TEXTS[event.type]?.(data)
  return text === undefined ? asText(event.data) : [step, text].filter(part => part !== '').join(' ')
}

const TEXTS: Partial<Record<string, (data: Data) => string>> = {
  'turn/start': () => '',
  'turn/end': ({ reason }) => reasonText(reason),
  'step/start': () => '',
  'step/end': () => '',
  'user/message': messageText,
  'steering/message': messageText,
  'context/message': data => `(${String(data.origin)}) ${messageText(data)}`,
  'assistant/chunk': ({ chunk }) => chunkText(chunk),
  'assistant/message': data => `${messageText(data)}${data.interrupted === true ? ' (interrupted)' : ''}`,
  'tool/call': data => `${String(data.toolName)} ${String(data.arguments)}`,
  'tool/settled': ({ output }) => outputText(output),
  'tool/result': messageText,
  'request/header': ({ model, tools }) =>
    `${String(model)}, ${counted(Array.isArray(tools) ? tools.length : 0, 'tool')}`,
}

/** `completed`, or `error MODEL_HTTP_ERROR: …`. */
export function reasonText(reason: unknown): string {
  const { kind, error, reason: why } = (reason ?? {}) as { kind?: unknown; error?: Data; reason?: unknown }
  if (error !== undefined && error !== null) return `${String(kind)} ${codedText(error)}`
  return typeof why === 'string' ? `${String(kind)}: ${why}` : String(kind)
}

/** Many messages begin with their code already. */
function codedText({ code, message }: Data): string {
  const text = String(message)
  return text.startsWith(`${String(code)}: `) ? text : `${String(code)}: ${text}`
}

function messageText({ message }: Data): string {
  const content = (message as Data | null)?.content
  return Array.isArray(content) ? content.map(partText).join(' · ') : asText(message)
}

function partText(value: unknown): string {
  const part = (value ?? {}) as Data
  if (typeof part.text === 'string') return part.type === 'reasoning' ? `(reasoning) ${part.text}` : part.text
  if (part.type === 'tool-call') return `→ ${String(part.toolName)} ${argumentsOf(part)}`
  if (part.type === 'tool-result') {
    return `← ${String(part.toolName)} ${isErrorOutput(part.output) ? 'error: ' : ''}${outputText(part.output)}`
  }
  return `[${String(part.type)}]`
}

function chunkText(value: unknown): string {
  const chunk = (value ?? {}) as Data
  const rest = chunk.text ?? chunk.input ?? chunk.finishReason ?? (chunk.error as Data | undefined)?.code
  return `${String(chunk.type)} ${rest === undefined ? '' : typeof rest === 'string' ? JSON.stringify(rest) : asText(rest)}`
}

function faultOf(data: unknown): string {
  const { error, synthetic } = (data ?? {}) as { error?: { code?: unknown }; synthetic?: unknown }
  const code = error !== undefined && error !== null && typeof error === 'object' ? escapeLine(String(error.code)) : ''
  return [code === '' ? '' : `[${code}]`, synthetic === true ? '[by recovery]' : '']
    .filter(each => each !== '')
    .join(' ')
}
