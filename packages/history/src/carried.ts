import type { Session, SessionEvent, TextPart, UserMessage } from '@palimpsest/session'
import type { CountTokens } from './tokens.js'

/**
 * The parts of a replacement that keep what the user said in a range, word for word and newest first, up
 * to `budget` tokens. What does not fit is named by seq, so that it can be recalled.
 */
export function carryWords(
  session: Session,
  seqs: readonly number[],
  budget: number,
  countTokens: CountTokens,
): TextPart[] {
  const words = seqs.flatMap(seq => wordsBelow(session, session.at(seq)!)).toSorted((a, b) => b.seq - a.seq)
  const kept: TextPart[] = []
  const left: number[] = []
  let room = budget
  for (const { seq, text } of words) {
    const quote = quoteOf(seq, text)
    const tokens = text === undefined ? Number.POSITIVE_INFINITY : countTokens(quote)
    if (tokens <= room) {
      room -= tokens
      kept.push({ type: 'text', text: quote })
    } else left.push(seq)
  }
  return left.length === 0 ? kept : [...kept, { type: 'text', text: `${LEFT_OUT}${left.join(', ')}` }]
}

/** The names of files that tool calls in a range were about, newest first, as one part; none where there are none. */
export function carryFileNames(session: Session, seqs: readonly number[]): TextPart[] {
  const names = new Set(seqs.toReversed().flatMap(seq => namesIn(session, session.at(seq)!).toReversed()))
  if (names.size === 0) return []
  return [{ type: 'text', text: `${FILES}${JSON.stringify([...names].slice(0, MOST_NAMES))}` }]
}

// --- internal ---

interface Words {
  readonly seq: number
  /** `undefined` where only the seq was carried on. */
  readonly text: string | undefined
}

const QUOTE = /^The user said \(event (\d+)\):\n([\s\S]*)$/
const LEFT_OUT = 'The user also said, not kept here; recall by event: '
const FILES = 'Files touched: '
const MOST_NAMES = 50
const NAME_KEY = /^(paths?|files?|file_?path|file_?name|notebook_path|target_file)$/i

function quoteOf(seq: number, text: string | undefined): string {
  return `The user said (event ${seq}):\n${text}`
}

/** An earlier summary counts only for the words that it carried. */
function wordsBelow(session: Session, event: SessionEvent): Words[] {
  if (isSummary(session, event)) return partsOf(event).flatMap(text => carriedWords(session, text))
  const text = saidBy(event)
  return text === undefined ? [] : [{ seq: event.seq, text }]
}

function carriedWords(session: Session, text: string): Words[] {
  if (text.startsWith(LEFT_OUT)) {
    const seqs = text.slice(LEFT_OUT.length).split(', ').map(Number)
    return seqs.filter(seq => wordsAt(session, seq) !== undefined).map(seq => ({ seq, text: undefined }))
  }
  const [, digits, words] = QUOTE.exec(text) ?? []
  const seq = Number(digits)
  // A summary that only looks like a quote is none.
  return words !== undefined && wordsAt(session, seq) === words ? [{ seq, text: words }] : []
}

function wordsAt(session: Session, seq: number): string | undefined {
  const event = session.at(seq)
  return event === undefined ? undefined : saidBy(event)
}

function saidBy(event: SessionEvent): string | undefined {
  if (event.type !== 'user/message' && event.type !== 'steering/message') return undefined
  const text = partsOf(event).join('\n')
  return text.trim() === '' ? undefined : text
}

function partsOf(event: SessionEvent): string[] {
  const { content } = (event.data as { message: UserMessage }).message
  return content.flatMap(part => (part?.type === 'text' ? [part.text] : []))
}

function isSummary(session: Session, { type, seq }: SessionEvent): boolean {
  return type === 'user/message' && session.surface.shadowed(seq).length > 0
}

function namesIn(session: Session, event: SessionEvent): string[] {
  if (event.type === 'assistant/message') {
    const calls = event.data.message.content.filter(part => part?.type === 'tool-call')
    return calls.flatMap(({ input }) => namesInInput(input))
  }
  if (!isSummary(session, event)) return []
  // Newest first in the part, oldest first here.
  return partsOf(event)
    .flatMap(text => (text.startsWith(FILES) ? parseNames(text.slice(FILES.length)) : []))
    .toReversed()
}

function namesInInput(input: unknown): string[] {
  if (typeof input !== 'object' || input === null) return []
  const values = Object.entries(input).flatMap(([key, value]) => (NAME_KEY.test(key) ? [value].flat() : []))
  return values.filter(value => typeof value === 'string' && value !== '' && value.length < 300)
}

function parseNames(json: string): string[] {
  try {
    const names: unknown = JSON.parse(json)
    return Array.isArray(names) ? names.filter(name => typeof name === 'string') : []
  } catch {
    return []
  }
}
