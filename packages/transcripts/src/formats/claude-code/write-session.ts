import { createHash } from 'node:crypto'
import type { AssistantMessage, FinishReason, Message, SessionEvent, Usage } from '@palimpsest/session'
import type { ExportEntry, Exported, ExportInput } from '../../export.js'
import { stringifyRaw } from '../../json/raw-json.js'
import { type Json, listOf, objectsOf, stringOf } from '../../json/shapes.js'
import { anthropicBody } from '../../requests/anthropic.js'
import { LossCount } from '../loss-count.js'
import { COMPACTION, INTERRUPTED } from './record.js'

/**
 * A session file that Claude Code resumes: one chain of rows, a block of an answer on each, which is what the session's
 * next request would hold. A summary in front stands behind a compaction boundary. The same session gives the same bytes.
 */
export function writeClaudeSession(input: ExportInput): Exported {
  return new SessionWriter(input).write()
}

// --- internal ---

/** The version whose rows these are. */
const VERSION = '2.1.100'

class SessionWriter {
  readonly #input: ExportInput
  readonly #lines: string[] = []
  readonly #loss = new LossCount()
  readonly #sessionId: string
  /** Of the row that made a call, by the call's id. */
  readonly #callers = new Map<string, string>()
  #parentUuid: string | null = null
  #time: number

  constructor(input: ExportInput) {
    const { header, entries } = input
    this.#input = input
    const id = header.id ?? digest(JSON.stringify(entries.map(({ message }) => message)))
    // The agent looks for a file of this name.
    this.#sessionId = UUID.test(id) ? id : uuidOf(digest(id))
    this.#time = Math.min(header.createdAt ?? Number.POSITIVE_INFINITY, entries[0]?.event?.time ?? 0)
  }

  write(): Exported {
    const { entries, request } = this.#input
    for (const [i, entry] of entries.entries()) this.#entry(entry, i)
    this.#loss.add('text', request?.system === undefined ? 0 : 1, 'Claude Code makes its own system prompt')
    this.#loss.add('tool-schema', request?.tools?.length ?? 0, 'Claude Code brings its own tools')
    return { text: this.#lines.map(line => `${line}\n`).join(''), loss: this.#loss.list() }
  }

  // --- internal ---

  #entry({ message, event }: ExportEntry, index: number): void {
    // A row is never older than its parent, and a summary in front no younger than what it left standing.
    if (event !== undefined) this.#time = Math.max(this.#time, Math.min(event.time, this.#timeBehind(index)))
    const blocks = this.#blocksOf(message)
    if (message.role === 'assistant') this.#answer(message, blocks, event, index)
    else if (message.role === 'tool') for (const block of blocks) this.#result(block)
    else if (index === 0 && isSummary(event)) this.#summary(blocks)
    else this.#said(blocks, event)
  }

  #timeBehind(index: number): number {
    const next = this.#input.entries[index + 1]?.event
    return index === 0 && next !== undefined ? next.time : Number.POSITIVE_INFINITY
  }

  /** One for each part; what the format has no block for is counted. */
  #blocksOf(message: Message): Json[] {
    const parts: Message['content'] = message.content
    const known = parts.filter(
      part => part.type !== 'reasoning' || this.#isOwn(message, part.providerOptions?.anthropic),
    )
    this.#loss.add('reasoning', parts.length - known.length, 'Claude Code takes back only what its own models signed')
    const body = anthropicBody({ messages: [{ ...message, content: known } as Message] })
    const blocks = objectsOf(listOf(body.messages)).flatMap(([, { content }]) => objectsOf(content))
    this.#loss.add('media', known.length - blocks.length, 'no block of the Anthropic API')
    return blocks.map(([, block]) => block)
  }

  #isOwn({ providerOptions }: Message, state: unknown): boolean {
    const vendor = providerOptions?.palimpsest?.vendor
    return vendor === undefined || vendor === 'anthropic' || state !== undefined
  }

  #said(blocks: Json[], event: SessionEvent | undefined): void {
    const text = blocks.length === 1 && blocks[0]!.type === 'text' ? stringOf(blocks[0]!.text) : undefined
    const isMeta = event?.type === 'context/message' && text?.startsWith(INTERRUPTED) !== true
    this.#row({ type: 'user', ...(isMeta && { isMeta }), message: { role: 'user', content: text ?? blocks } })
  }

  #summary(content: Json[]): void {
    this.#row({ type: 'system', subtype: 'compact_boundary', content: 'Conversation compacted', level: 'info' })
    this.#row({
      type: 'user',
      isCompactSummary: true,
      isVisibleInTranscriptOnly: true,
      message: { role: 'user', content },
    })
  }

  #answer(message: AssistantMessage, blocks: Json[], event: SessionEvent | undefined, index: number): void {
    const model = stringOf(message.providerOptions?.palimpsest?.model)
    const data = event?.type === 'assistant/message' ? event.data : undefined
    const id = `msg_${digest(`${this.#sessionId} ${index}`).slice(0, 24)}`
    const rows = blocks.length === 0 ? [[]] : blocks.map(block => [block])
    for (const [i, content] of rows.entries()) {
      const isLast = i === rows.length - 1
      const uuid = this.#row({
        type: 'assistant',
        message: {
          id,
          type: 'message',
          role: 'assistant',
          ...(model !== undefined && { model }),
          content,
          stop_reason: isLast && data !== undefined ? (STOPS[data.finishReason] ?? null) : null,
          stop_sequence: null,
          ...(data?.usage && { usage: apiUsage(data.usage) }),
        },
      })
      for (const block of content) if (block.type === 'tool_use') this.#callers.set(String(block.id), uuid)
    }
  }

  #result(block: Json): void {
    const caller = this.#callers.get(String(block.tool_use_id))
    this.#row({
      type: 'user',
      message: { role: 'user', content: [block] },
      toolUseResult: block.content ?? '',
      ...(caller !== undefined && { sourceToolAssistantUUID: caller }),
    })
  }

  /** Each row is the child of the one before: no reader has to look for results of calls made side by side. */
  #row(members: Json): string {
    const uuid = uuidOf(digest(`${this.#sessionId} row ${this.#lines.length}`))
    this.#lines.push(
      stringifyRaw({
        parentUuid: this.#parentUuid,
        isSidechain: false,
        userType: 'external',
        cwd: this.#input.header.cwd ?? '/',
        sessionId: this.#sessionId,
        version: VERSION,
        gitBranch: '',
        ...members,
        uuid,
        timestamp: new Date(this.#time).toISOString(),
      }),
    )
    this.#parentUuid = uuid
    return uuid
  }
}

function isSummary(event: SessionEvent | undefined): boolean {
  if (event?.type !== 'context/message') return false
  return event.data.origin === COMPACTION || typeof event.surfaceOp === 'object'
}

const STOPS: Partial<Record<FinishReason, string>> = {
  stop: 'end_turn',
  'tool-calls': 'tool_use',
  length: 'max_tokens',
  'content-filter': 'refusal',
}

function apiUsage({ inputTokens = 0, cachedInputTokens = 0, outputTokens = 0 }: Usage): Json {
  return {
    input_tokens: Math.max(0, inputTokens - cachedInputTokens),
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: cachedInputTokens,
    output_tokens: outputTokens,
  }
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

function uuidOf(hex: string): string {
  const groups = [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `4${hex.slice(13, 16)}`,
    `8${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ]
  return groups.join('-')
}
