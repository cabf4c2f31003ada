import type { Message, Part, RequestHeader, Session, UserMessage, UserPart } from '@palimpsest/session'
import { carryFileNames, carryWords } from './carried.js'
import { type EditCost, planCost } from './edit-cost.js'
import { CompactionError, type CompactionErrorCode } from './errors.js'
import { isLegalRange, type SurfaceRange } from './legal-cuts.js'
import { type CompactionPlanOptions, planCompaction } from './plan-compaction.js'
import { type CountTokens, estimateTokens, totalTokens } from './tokens.js'

export interface SummaryInput {
  /** The messages of the range, in surface order. */
  readonly messages: readonly Message[]
  readonly seqs: readonly number[]
  /** The log's last request header, where it has one: the messages stood behind it in the provider's cache. */
  readonly header?: RequestHeader
  readonly signal: AbortSignal
}

/** Text, or text, file and image parts, that stand for the messages. */
export type Summarize = (input: SummaryInput) => Promise<string | Part[]>

export interface CompactOptions extends CompactionPlanOptions {
  summarize: Summarize
  /** Default: what `planCompaction` takes. */
  range?: SurfaceRange
  /** Keeps what the user said in the range word for word, newest first, up to a quarter of its tokens. Default true. */
  keepUserText?: boolean
  countTokens?: CountTokens
  signal?: AbortSignal
}

export interface CompactionReport extends EditCost {
  /** The seq of the replacement. */
  node: number
  shadowed: readonly number[]
  startSeq: number
  endSeq: number
}

/**
 * Puts one summary in the place of a legal range. Writes exactly `compaction/start`, the replacement and
 * `compaction/end`, or start and an end with its `error`; a range that is refused, and an abort before the
 * start, write nothing. What is appended while the summary is made stays. Rejects with a `CompactionError`.
 */
export async function compact(session: Session, options: CompactOptions): Promise<CompactionReport> {
  if (running.has(session)) {
    throw new CompactionError('COMPACTION_BUSY', `${session.id} is being compacted; wait for that to end`)
  }
  running.add(session)
  try {
    return await compactAlone(session, options)
  } finally {
    running.delete(session)
  }
}

// --- internal ---

/** One at a time; a crash leaves nothing behind that could block. */
const running = new WeakSet<Session>()

async function compactAlone(session: Session, options: CompactOptions): Promise<CompactionReport> {
  const { countTokens = estimateTokens } = options
  const range = planRange(session, options)
  const seqs = rangeSeqs(session, range)
  if (options.signal?.aborted) throw aborted(options.signal)
  const startSeq = session.append('compaction/start', { ...range, seqs: [...seqs] }).seq
  try {
    const content = await summarize(session, seqs, options, countTokens)
    assertUnchanged(session, range, seqs)
    const cost = planCost(session, standInsFor(seqs, content), countTokens)
    const node = appendSummary(session, range, seqs, content)
    const { tokensSaved, cachedPrefix } = cost
    const endSeq = session.append('compaction/end', { start: startSeq, node, tokensSaved, cachedPrefix }).seq
    return { ...cost, node, shadowed: seqs, startSeq, endSeq }
  } catch (error) {
    const failure = asCompactionError(error)
    const { code, message } = failure
    session.append('compaction/end', { start: startSeq, error: { code, message } })
    throw failure
  }
}

function planRange(session: Session, { range, keepRecent }: CompactOptions): SurfaceRange {
  const planned = range ?? planCompaction(session, keepRecent === undefined ? {} : { keepRecent })
  if (planned === undefined) {
    throw new CompactionError(
      'COMPACTION_NOTHING_TO_DO',
      `${session.id}: expected older messages than those that stay, found none, or one summary; let the session grow, or name a range`,
    )
  }
  const { start, end } = planned
  if (!isLegalRange(session, planned)) {
    throw new CompactionError(
      'COMPACTION_RANGE_ILLEGAL',
      `${start}…${end}: expected visible nodes in surface order that split no call from its result and no signed tool loop; take boundaries of legalCuts(session)`,
    )
  }
  return { start, end }
}

function rangeSeqs({ surface }: Session, { start, end }: SurfaceRange): readonly number[] {
  const seqs = surface.seqs()
  return Object.freeze(seqs.slice(seqs.indexOf(start), seqs.indexOf(end) + 1))
}

/** What came meanwhile stands behind the range; an edit inside it is somebody else's, and stays. */
function assertUnchanged(session: Session, range: SurfaceRange, seqs: readonly number[]): void {
  const now = session.surface.has(range.start) && session.surface.has(range.end) ? rangeSeqs(session, range) : []
  if (now.length === seqs.length && now.every((seq, i) => seq === seqs[i]) && isLegalRange(session, range)) return
  throw new CompactionError(
    'COMPACTION_RANGE_CHANGED',
    `${range.start}…${range.end}: expected the range as it was when the summary was begun, found it edited; compact again`,
  )
}

async function summarize(
  session: Session,
  seqs: readonly number[],
  { summarize, keepUserText = true, signal = new AbortController().signal }: CompactOptions,
  countTokens: CountTokens,
): Promise<UserPart[]> {
  const messages = Object.freeze(seqs.map(seq => (session.at(seq)!.data as { message: Message }).message))
  const headerSeq = session.lastSeqOf('request/header')
  const header = headerSeq === undefined ? {} : { header: session.at(headerSeq)!.data as RequestHeader }
  const summary = partsOf(await untilAborted(() => summarize({ messages, seqs, ...header, signal }), signal))
  const tokens = totalTokens(messages, countTokens)
  const words = keepUserText ? carryWords(session, seqs, tokens / 4, countTokens) : []
  const content = [...summary, ...carryFileNames(session, seqs), ...words]
  const after = totalTokens([{ role: 'user', content }], countTokens)
  if (after < tokens) return content
  throw new CompactionError(
    'COMPACTION_SUMMARY_NOT_SMALLER',
    `expected a replacement of less than the range's ${tokens} tokens, found ${after}; summarise shorter, or take a longer range`,
  )
}

function partsOf(summary: unknown): UserPart[] {
  const parts: unknown = typeof summary === 'string' ? [{ type: 'text', text: summary }] : summary
  if (!Array.isArray(parts) || !parts.every(isUserPart)) {
    throw new CompactionError(
      'COMPACTION_SUMMARY_FAILED',
      'expected a summary of text, or of text, file and image parts, found something else; mend summarize()',
    )
  }
  if (parts.some(part => part.type !== 'text' || part.text.trim() !== '')) return parts
  throw new CompactionError('COMPACTION_SUMMARY_VOID', 'expected a summary, found an empty one; nothing was replaced')
}

function isUserPart(part: unknown): part is UserPart {
  const { type, text } = Object(part) as { type?: unknown; text?: unknown }
  return type === 'text' ? typeof text === 'string' : type === 'file' || type === 'image'
}

/** The summary stands where the first of the range stood, and nothing where the others did. */
function standInsFor(seqs: readonly number[], content: UserPart[]): Map<number, Message[]> {
  return new Map(seqs.map((seq, i) => [seq, i === 0 ? [{ role: 'user', content }] : []]))
}

function appendSummary(
  session: Session,
  range: SurfaceRange,
  seqs: readonly number[],
  content: UserMessage['content'],
): number {
  const intent = { surfaceOp: { op: 'replace' as const, ...range }, sourceEventSeqs: seqs }
  return session.append('user/message', { message: { role: 'user', content } }, intent).seq
}

/** An abort does not wait for a summariser that ignores it. */
function untilAborted<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(aborted(signal))
    if (signal.aborted) return stop()
    signal.addEventListener('abort', stop, { once: true })
    Promise.resolve()
      .then(work)
      .then(resolve, reject)
      .finally(() => signal.removeEventListener('abort', stop))
  })
}

function aborted({ reason }: AbortSignal): CompactionError {
  return new CompactionError('COMPACTION_ABORTED', 'the compaction was aborted; the surface is as it was', {
    cause: reason,
  })
}

function asCompactionError(error: unknown): CompactionError {
  if (error instanceof CompactionError) return error
  const code: CompactionErrorCode = 'COMPACTION_SUMMARY_FAILED'
  return new CompactionError(code, `expected a summary, but making it failed: ${messageOf(error)}`, { cause: error })
}

/** What a summariser throws may be anything, also what throws when it is looked at. */
function messageOf(error: unknown): string {
  try {
    return String(error instanceof Error ? error.message : error)
  } catch {
    return 'something that cannot be shown was thrown'
  }
}
