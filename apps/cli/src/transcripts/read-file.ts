import type { Session } from '@palimpsest/session'
import {
  detectFormat,
  type EventSink,
  type Reading,
  type ReadOptions,
  type Source,
  streamTranscript,
} from '@palimpsest/transcripts'
import { EXIT } from '../exit-codes.js'
import { CommandError } from '../failure.js'
import { emptiness } from './empty-file.js'
import { withSource } from './file-source.js'
import { LiveView } from './live-view.js'
import { type GivenReadOptions, readOptions } from './read-options.js'
import { viewSession } from './view-session.js'

/** What a transcript says: the messages that its next request holds, and what is to be told about the rest. */
export interface Read {
  readonly view: LiveView
  readonly reading: Reading
  /** What the content is, where it was to be read as something else and nothing in it fits. */
  readonly detected?: string
}

/**
 * Reads a transcript in memory that follows what is visible, not what is shadowed; `also` is given each event too.
 * Refuses a conversation that the file does not hold (`CONVERSATION_UNKNOWN`).
 */
export function readSource(
  source: Source,
  { format = 'auto', conversation = 0 }: ReadOptions,
  also: EventSink = () => {},
): Read {
  const name = format === 'auto' ? detectFormat(source) : format
  const view = new LiveView({ keepsShadowed: name === 'palimpsest' })
  const empty = name === undefined || source.size === 0 ? emptiness(source) : undefined
  if (empty !== undefined) return { view, reading: readingOf([empty]) }
  if (name === undefined) return { view, reading: { ...readingOf([UNKNOWN]), format: undefined } }
  const reading = streamTranscript(source, { format: name, conversation }, (event, place) => {
    view.add(event, place)
    also(event, place)
  })
  if (view.isEmpty && format !== 'auto') {
    const detected = detectFormat(source)
    if (detected !== undefined && detected !== format) return { view, reading, detected }
  }
  assertConversation(reading, conversation)
  return { view, reading }
}

/** One of a file of several is named by a number that it has. */
export function assertConversation({ about }: Reading, conversation: number): void {
  const { conversations = 1, unreadable } = about
  if (unreadable || conversation < conversations) return
  const found = conversations === 1 ? 'one that holds a single conversation' : `one that holds ${conversations}`
  throw new CommandError(
    'CONVERSATION_UNKNOWN',
    `--conversation ${conversation}: expected a file with so many conversations, counted from 0, found ${found}; ` +
      `${conversations === 1 ? 'leave the option out' : `the last one is ${conversations - 1}`}`,
  )
}

/** The same of a file; refuses one that is of another format than the one that is named (`FORMAT_MISMATCH`). */
export async function readFile(path: string, given: GivenReadOptions, also?: EventSink): Promise<Read> {
  const read = await withSource(path, source => readSource(source, readOptions(given), also))
  if (read.detected === undefined) return read
  throw new CommandError(
    'FORMAT_MISMATCH',
    `--format: expected a file of ${given.format}, found one of ${read.detected}; leave the option out, or name that one`,
    EXIT.usage,
  )
}

/** The same of a stored session. */
export function readSession(session: Session): Read {
  return { view: viewSession(session), reading: { ...readingOf([]), header: session.header } }
}

// --- internal ---

const UNKNOWN = { code: 'format.unknown', severity: 'info', where: 'file' } as const

function readingOf(findings: Reading['findings']): Reading {
  return { format: 'palimpsest', header: {}, about: { hasOwnTurns: true }, findings, loss: [] }
}
