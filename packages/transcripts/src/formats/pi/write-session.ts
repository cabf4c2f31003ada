import { createHash } from 'node:crypto'
import type { AssistantMessage, ToolMessage, UserMessage } from '@palimpsest/session'
import type { ExportEntry, Exported, ExportInput } from '../../export.js'
import { stringifyRaw } from '../../json/raw-json.js'
import { isoTime, type Json, stringOf } from '../../json/shapes.js'
import { LossCount } from '../loss-count.js'
import { answerBlocks, resultMessage, saidBlocks, stopReasonOf, usageOf } from './written-blocks.js'

/**
 * A session of version 3 that pi resumes: one branch, which is what the session's next request would hold. What pi shows
 * beside it (details of results, prices) is not carried. The same session gives the same bytes.
 */
export function writeSession(input: ExportInput): Exported {
  return new SessionWriter(input).write()
}

// --- internal ---

class SessionWriter {
  readonly #lines: string[] = []
  readonly #loss = new LossCount()
  readonly #seed: string
  #parentId: string | null = null
  #time: number
  #model = ''

  constructor(private readonly input: ExportInput) {
    const { header, entries } = input
    this.#seed = createHash('sha256')
      .update(JSON.stringify(entries.map(({ message }) => message)))
      .digest('hex')
    this.#time = header.createdAt ?? entries[0]?.event?.time ?? 0
  }

  write(): Exported {
    const { header, entries, request } = this.input
    const id = header.id ?? uuidOf(this.#seed)
    this.#push({ type: 'session', version: 3, id, timestamp: isoTime(this.#time), cwd: header.cwd ?? '/' })
    for (const entry of entries) this.#write(entry)
    this.#loss.add('text', request?.system === undefined ? 0 : 1, 'pi makes its own system prompt')
    this.#loss.add('tool-schema', request?.tools?.length ?? 0, 'pi brings its own tools')
    return { text: this.#lines.map(line => `${line}\n`).join(''), loss: this.#loss.list() }
  }

  #write({ message, event }: ExportEntry): void {
    if (event !== undefined) this.#time = event.time
    if (message.role === 'assistant') this.#answer(message, event)
    else if (message.role === 'tool') this.#results(message)
    else if (event?.type === 'context/message') this.#context(message, event.data.origin)
    else this.#entry('message', { message: { role: 'user', content: this.#said(message), timestamp: this.#time } })
  }

  #said({ content }: UserMessage): Json[] {
    return saidBlocks(content, this.#loss)
  }

  /** What no person typed goes in as an extension's message does: the model sees it as a user's. */
  #context(message: UserMessage, origin: string): void {
    const customType = origin.startsWith('pi/') ? origin.slice('pi/'.length) : origin
    this.#entry('custom_message', { customType, content: this.#said(message), display: true })
  }

  #answer(message: AssistantMessage, event: ExportEntry['event']): void {
    const { vendor, model = this.input.request?.model ?? '' } = message.providerOptions?.palimpsest ?? {}
    const asked = message.providerOptions?.pi ?? askedOf(stringOf(vendor))
    this.#modelChange(String(asked.provider), String(model))
    this.#entry('message', {
      message: {
        role: 'assistant',
        content: answerBlocks(message.content, String(asked.api), this.#loss),
        api: asked.api,
        provider: asked.provider,
        model,
        usage: usageOf(event),
        stopReason: stopReasonOf(message, event),
        timestamp: this.#time,
      },
    })
  }

  #results({ content }: ToolMessage): void {
    for (const part of content) {
      this.#entry('message', { message: { ...resultMessage(part, this.#loss), timestamp: this.#time } })
    }
  }

  #modelChange(provider: string, modelId: string): void {
    const model = `${provider}/${modelId}`
    if (model === this.#model || modelId === '') return
    this.#model = model
    this.#entry('model_change', { provider, modelId })
  }

  #entry(type: string, members: Json): void {
    const id = createHash('sha256').update(`${this.#seed}${this.#lines.length}`).digest('hex').slice(0, 8)
    this.#push({ type, id, parentId: this.#parentId, timestamp: isoTime(this.#time), ...members })
    this.#parentId = id
  }

  #push(record: Json): void {
    this.#lines.push(stringifyRaw(record))
  }
}

/** The protocol in which a vendor's models are asked. */
function askedOf(vendor = 'anthropic'): { api: string; provider: string } {
  const api = APIS[vendor] ?? 'openai-completions'
  return { api, provider: vendor }
}

const APIS: Record<string, string> = {
  anthropic: 'anthropic-messages',
  openai: 'openai-responses',
  google: 'google-generative-ai',
}

function uuidOf(hex: string): string {
  return [hex.slice(0, 8), hex.slice(8, 12), `7${hex.slice(13, 16)}`, `8${hex.slice(17, 20)}`, hex.slice(20, 32)].join(
    '-',
  )
}
