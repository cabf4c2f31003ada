import type { Session } from '@palimpsest/session'
import { detectFormat, type Reading, type ReadOptions, type Source, streamTranscript } from '@palimpsest/transcripts'
import { withSource } from './file-source.js'
import { LiveView } from './live-view.js'
import { type GivenReadOptions, readOptions } from './read-options.js'

/** What a transcript says: the messages that its next request holds, and what is to be told about the rest. */
export interface Read {
  readonly view: LiveView
  readonly reading: Reading
}

/** Reads a transcript in memory that follows what is visible, not what is shadowed. */
export function readSource(source: Source, { format = 'auto', conversation = 0 }: ReadOptions): Read {
  const name = format === 'auto' ? detectFormat(source) : format
  const view = new LiveView({ keepsShadowed: name === 'palimpsest' })
  if (source.size === 0) return { view, reading: readingOf([{ code: 'file.empty', severity: 'error', where: 'file' }]) }
  if (name === undefined) return { view, reading: { ...readingOf([UNKNOWN]), format: undefined } }
  return { view, reading: streamTranscript(source, { format: name, conversation }, view.add) }
}

/** The same of a file. */
export function readFile(path: string, given: GivenReadOptions): Promise<Read> {
  return withSource(path, source => readSource(source, readOptions(given)))
}

/** The same of a stored session. */
export function readSession(session: Session): Read {
  const view = new LiveView({ keepsShadowed: true })
  for (const event of session.events) view.add(event, { where: `seq ${event.seq}` })
  return { view, reading: { ...readingOf([]), header: session.header } }
}

// --- internal ---

const UNKNOWN = { code: 'format.unknown', severity: 'info', where: 'file' } as const

function readingOf(findings: Reading['findings']): Reading {
  return { format: 'palimpsest', header: {}, about: { hasOwnTurns: true }, findings, loss: [] }
}
