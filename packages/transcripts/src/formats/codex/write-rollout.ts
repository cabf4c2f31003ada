import { createHash } from 'node:crypto'
import type { AssistantMessage, Message, ToolMessage, Usage, UserMessage } from '@palimpsest/session'
import type { ExportEntry, Exported, ExportInput } from '../../export.js'
import { isoTime, type Json, stringOf } from '../../json/shapes.js'
import { LossCount } from '../loss-count.js'
import { answerItems, outputItem, saidItem } from './written-items.js'

/**
 * A rollout that Codex resumes: its history is what the session's next request would hold. What was typed and said
 * stands there twice, as the model's history and as the UI's. The same session gives the same bytes.
 */
export function writeRollout(input: ExportInput): Exported {
  return new RolloutWriter(input).write()
}

// --- internal ---

class RolloutWriter {
  readonly #lines: string[] = []
  readonly #loss = new LossCount()
  /** Calls whose tool takes free text: their outputs are of a kind of their own. */
  readonly #custom = new Set<string>()
  readonly #total: Usage = {}
  #time: number
  #model: string | undefined

  constructor(private readonly input: ExportInput) {
    this.#time = input.header.createdAt ?? input.entries[0]?.event?.time ?? 0
  }

  write(): Exported {
    const { entries, request } = this.input
    this.#meta()
    for (const entry of entries) this.#entry(entry)
    if (request?.model !== undefined && request.model !== '') this.#turnContext(request.model)
    this.#loss.add('tool-schema', request?.tools?.length ?? 0, 'Codex brings its own tools')
    return { text: this.#lines.map(line => `${line}\n`).join(''), loss: this.#loss.list() }
  }

  #line(type: string, payload: Json): void {
    this.#lines.push(JSON.stringify({ timestamp: isoTime(this.#time), type, payload }))
  }

  #meta(): void {
    const { header, request, entries } = this.input
    const makers = entries.map(({ message }) => stringOf(message.providerOptions?.palimpsest?.vendor))
    this.#line('session_meta', {
      id: header.id ?? idOf(this.input),
      timestamp: isoTime(this.#time),
      cwd: header.cwd ?? '/',
      originator: 'palimpsest',
      cli_version: '0.0.0',
      source: 'cli',
      model_provider: makers.find(maker => maker !== undefined) ?? 'openai',
      ...(request?.system !== undefined && { base_instructions: { text: request.system } }),
    })
  }

  #entry({ message, event }: ExportEntry): void {
    if (event !== undefined) this.#time = event.time
    if (message.role === 'assistant') this.#answer(message, usageOf(event))
    else if (message.role === 'tool') this.#results(message)
    else this.#said(message, event === undefined || event.type !== 'context/message')
  }

  #said(message: UserMessage, isTyped: boolean): void {
    const item = saidItem(message, this.#loss)
    this.#line('response_item', item)
    if (!isTyped) return
    const text = message.content.map(part => (part.type === 'text' ? part.text : '')).join('\n')
    this.#line('event_msg', { type: 'user_message', message: text, images: [] })
  }

  #answer(message: AssistantMessage, usage: Usage | undefined): void {
    const model = stringOf(message.providerOptions?.palimpsest?.model)
    if (model !== undefined) this.#turnContext(model)
    for (const item of answerItems(message.content, this.#loss)) {
      if (item.type === 'custom_tool_call') this.#custom.add(String(item.call_id))
      this.#line('response_item', item)
    }
    for (const part of message.content) {
      if (part.type === 'text') this.#line('event_msg', { type: 'agent_message', message: part.text })
    }
    this.#tokenCount(usage)
  }

  #results(message: ToolMessage): void {
    for (const part of message.content) {
      this.#line('response_item', outputItem(part, this.#custom.has(part.toolCallId), this.#loss))
    }
  }

  /** Settings that ask before they act: Codex takes its own when it resumes. */
  #turnContext(model: string): void {
    if (model === this.#model) return
    this.#model = model
    const sandbox_policy = { type: 'read-only' }
    const cwd = this.input.header.cwd ?? '/'
    this.#line('turn_context', { cwd, approval_policy: 'on-request', sandbox_policy, model, summary: 'auto' })
  }

  /** Ends an answer, too, so that the next one is not taken for its rest. */
  #tokenCount(usage: Usage | undefined): void {
    const info = usage === undefined ? null : this.#usageSoFar(usage)
    this.#line('event_msg', { type: 'token_count', info, rate_limits: null })
  }

  #usageSoFar(last: Usage): Json {
    for (const key of Object.keys(last) as (keyof Usage)[])
      this.#total[key] = (this.#total[key] ?? 0) + (last[key] ?? 0)
    return { total_token_usage: counts(this.#total), last_token_usage: counts(last), model_context_window: null }
  }
}

function counts(usage: Usage): Json {
  const { inputTokens = 0, outputTokens = 0 } = usage
  return {
    input_tokens: inputTokens,
    cached_input_tokens: usage.cachedInputTokens ?? 0,
    output_tokens: outputTokens,
    reasoning_output_tokens: usage.reasoningTokens ?? 0,
    total_tokens: usage.totalTokens ?? inputTokens + outputTokens,
  }
}

function usageOf(event: ExportEntry['event']): Usage | undefined {
  return event?.type === 'assistant/message' ? event.data.usage : undefined
}

/** In the form that Codex names its sessions in, out of what the session says. */
function idOf({ entries }: ExportInput): string {
  const said: readonly Message[] = entries.map(({ message }) => message)
  const hex = createHash('sha256').update(JSON.stringify(said)).digest('hex')
  return [hex.slice(0, 8), hex.slice(8, 12), `7${hex.slice(13, 16)}`, `8${hex.slice(17, 20)}`, hex.slice(20, 32)].join(
    '-',
  )
}
