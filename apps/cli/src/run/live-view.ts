import type { Plugin } from '@palimpsest/host'
import type { Chunk, Session, SessionEvent, ToolCallPart } from '@palimpsest/session'
import { escapeText, shorten } from '../escape.js'
import type { Output } from '../output.js'
import { bytes, counted } from '../view/figures.js'
import { argumentsOf, isErrorOutput, outputText, reasoningMark } from '../view/message.js'

/** Prints a turn while it happens: what the model says, what the tools do, and attempts that failed. */
export function liveView(out: Output): Plugin {
  const stream = createStream(out)
  return {
    name: 'live view',
    setup(ctx) {
      ctx.on('session/event', (event, session) => showEvent(event, session, stream, out))
      // Inside of the retry, so that every attempt passes by.
      const attempts = new WeakMap<AbortSignal, { step: number; count: number }>()
      ctx.around('model/request', async ({ signal, step }, next) => {
        const before = attempts.get(signal)
        const count = before?.step === step ? before.count + 1 : 1
        attempts.set(signal, { step, count })
        if (count > 1) stream.line(out.colors.dim(`asking the model again (attempt ${count})`))
        const outcome = await next()
        if (outcome.failure !== undefined) {
          const { code, message } = outcome.failure
          stream.line(out.colors.red(`the model failed: ${code}: ${shorten(message, 300)}`))
        }
        return outcome
      })
    },
  }
}

// --- internal ---

type Kind = 'text' | 'reasoning'

interface Stream {
  /** A piece of running text. */
  piece(kind: Kind, text: string): void
  /** A line of its own. */
  line(text: string): void
  /** Ends running text. */
  end(): void
}

function createStream({ write, colors }: Output): Stream {
  const mark = reasoningMark(colors)
  let kind: Kind | undefined
  let isLineStart = true
  let half = ''
  const end = () => {
    if (half !== '') write(escapeText(half))
    if (!isLineStart || half !== '') write('\n')
    half = ''
    isLineStart = true
    kind = undefined
  }
  return {
    piece(next, text) {
      if (kind !== next) end()
      kind = next
      const whole = half + text
      // A pair of surrogates may be split between two chunks.
      const cut = /[\ud800-\udbff]$/.test(whole) ? whole.length - 1 : whole.length
      half = whole.slice(cut)
      if (cut === 0) return
      const shown = escapeText(whole.slice(0, cut))
      if (next === 'reasoning') write(colors.dim((isLineStart ? mark : '') + shown.replace(/\n(?!$)/g, `\n${mark}`)))
      else write(shown)
      isLineStart = shown.endsWith('\n')
    },
    line(text) {
      end()
      write(`${text}\n`)
    },
    end,
  }
}

function showEvent(event: SessionEvent, session: Session, stream: Stream, { colors }: Output): void {
  if (event.type === 'assistant/chunk') showChunk(event.data.chunk, stream)
  if (event.type === 'assistant/message' || event.type === 'turn/end') stream.end()
  if (event.type === 'tool/call') {
    const { toolName, arguments: input } = event.data
    stream.line(callLine(toolName, input, colors))
  }
  if (event.type === 'tool/result' && event.surfaceOp === 'append') {
    const call = callThatNeverBegan(event, session)
    if (call !== undefined) stream.line(callLine(call.toolName, argumentsOf(call), colors))
    stream.line(resultLine(event, colors))
  }
}

function callLine(toolName: string, input: string, colors: Output['colors']): string {
  return `${colors.cyan(`→ ${shorten(toolName, 64)}`)} ${shorten(input, 120)}`
}

/** A result that cites the answer has no `tool/call`: the call was denied, or could not begin. */
function callThatNeverBegan({ data, sourceEventSeqs }: SessionEvent<'tool/result'>, session: Session) {
  const source = session.at(sourceEventSeqs?.[0] ?? -1)
  if (source?.type !== 'assistant/message') return undefined
  return source.data.message.content.find(part => part.type === 'tool-call' && part.toolCallId === data.toolCallId) as
    | ToolCallPart
    | undefined
}

function showChunk(chunk: Chunk, stream: Stream): void {
  if (chunk.type === 'text-delta') stream.piece('text', chunk.text)
  if (chunk.type === 'reasoning-delta') stream.piece('reasoning', chunk.text)
  if (chunk.type === 'error') stream.end()
}

function resultLine({ data }: SessionEvent<'tool/result'>, colors: Output['colors']): string {
  const part = data.message.content[0]
  const text = outputText(part?.output)
  const first = text.split('\n').find(line => line.trim() !== '') ?? ''
  const name = shorten(part?.toolName ?? '', 64)
  if (data.error !== undefined || isErrorOutput(part?.output)) {
    return colors.red(`← ${name} ${data.error?.code ?? 'failed'}: ${shorten(first, 160)}`)
  }
  const lines = text === '' ? [] : text.replace(/\n$/, '').split('\n')
  const size = `${bytes(Buffer.byteLength(text))}, ${counted(lines.length, 'line')}`
  // Such as bash's exit code.
  const last = lines.length > 1 && /^\[.*\]$/.test(lines.at(-1)!) ? ` … ${shorten(lines.at(-1)!, 60)}` : ''
  return colors.dim(`← ${name} (${size}) ${shorten(first, 100)}${last}`)
}
