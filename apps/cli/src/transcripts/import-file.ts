import { createHash } from 'node:crypto'
import { Session, type SessionEvent, type SessionHeader } from '@palimpsest/session'
import { assertSessionId, type SessionBackend } from '@palimpsest/session-persistence'
import {
  type EventSink,
  type Finding,
  type Loss,
  type Reading,
  type ReadOptions,
  type Source,
  streamTranscript,
} from '@palimpsest/transcripts'
import { CommandError } from '../failure.js'
import { pathWord } from '../view/shell-word.js'
import { diagnose } from './diagnosis.js'
import { IMPORT_END } from './import-end.js'
import { LiveView } from './live-view.js'
import { assertConversation } from './read-file.js'

export interface Imported {
  readonly id: string
  readonly format: string
  readonly length: number
  /** It was there already, with as many events. */
  readonly isKnown: boolean
  /** What is wrong with it: of the file and of the request that it makes, as `doctor` tells it. */
  readonly findings: readonly Finding[]
  /** What of the file is not in the session. */
  readonly loss: readonly Loss[]
  readonly conversations: number
}

/**
 * Writes a transcript into the store as a session of its own. The file is only read. Its id is the transcript's own
 * where that is an id here and no other file has taken it, else one made of its bytes; a file is not imported twice.
 */
export async function importSource(
  backend: SessionBackend,
  source: Source,
  options: ReadOptions,
  path: string,
): Promise<Imported> {
  const more = `palimpsest doctor ${pathWord(path)} says more`
  const view = new LiveView({ keepsShadowed: true })
  const first = readWindow(source, options, 0, view.add)
  const { reading, length } = first
  if (source.size === 0) throw nothing('an empty file; an older copy may hold the session')
  if (reading.format === undefined) {
    throw new CommandError('FORMAT_UNKNOWN', 'expected a transcript of a known agent, found none; --format names one')
  }
  assertConversation(reading, options.conversation ?? 0)
  if (reading.about.unreadable || length === 0) throw nothing(`${describe(reading)}; ${more}`)
  if (reading.about.resume === 'refused') {
    throw new CommandError(
      'TRANSCRIPT_REFUSED',
      `expected a transcript that can be gone on with, found one of which a part may not be skipped; ${more}`,
    )
  }
  const { findings } = diagnose({ view, reading }, {})
  const digest = digestOf(source)
  const { id, isKnown } = await chooseId(backend, reading, digest, options.conversation ?? 0)
  if (!isKnown) {
    // The kernel judges what is about to be stored, and completes the header.
    const { header, events } = Session.create({ header: headerOf(first, id, digest), seed: first.events })
    await write(backend, header, events, from => (from < length ? readWindow(source, options, from).events : []))
  }
  const { loss, about, format } = reading
  return { id, format, length, isKnown, findings, loss, conversations: about.conversations ?? 1 }
}

// --- internal ---

/** Events held at a time. A longer transcript is read once more for each so many. */
const WINDOW = 200_000

interface Window {
  reading: Reading
  events: SessionEvent[]
  length: number
}

function readWindow(source: Source, options: ReadOptions, from: number, also: EventSink = () => {}): Window {
  const events: SessionEvent[] = []
  let last: SessionEvent | undefined
  const take = (event: SessionEvent): void => {
    last = event
    if (event.seq >= from && event.seq < from + WINDOW) events.push(event)
  }
  const reading = streamTranscript(source, options, (event, place) => {
    take(event)
    also(event, place)
  })
  if (last === undefined) return { reading, events, length: 0 }
  const { seq, time } = last
  const data = { format: reading.format }
  take({ seq: seq + 1, time, type: IMPORT_END, data, ignorable: true } as unknown as SessionEvent)
  return { reading, events, length: seq + 2 }
}

/** All or nothing: what fails half way is taken away again. */
async function write(
  backend: SessionBackend,
  header: SessionHeader,
  first: readonly SessionEvent[],
  next: (from: number) => readonly SessionEvent[],
): Promise<void> {
  const lease = await backend.acquire(header.id)
  try {
    for (let events = first; events.length > 0; events = next(events.at(-1)!.seq + 1)) {
      await backend.append(lease, header, events)
    }
  } catch (error) {
    await lease.release()
    await backend.remove(header.id).catch(() => {})
    throw error
  }
  await lease.release()
}

function headerOf({ reading, events }: Window, id: string, digest: string): Partial<SessionHeader> {
  const { header, about } = reading
  const importedFrom = { ...header.importedFrom!, digest }
  return { ...header, id, createdAt: about.createdAt ?? events[0]?.time ?? 0, importedFrom }
}

/** Agents copy and go on with a session under one id: the second file with it gets its own bytes behind the id. */
async function chooseId(
  backend: SessionBackend,
  { about, format }: Reading,
  digest: string,
  conversation: number,
): Promise<{ id: string; isKnown: boolean }> {
  const suffix = conversation > 0 ? `-${conversation}` : ''
  const own = about.id === undefined ? '' : `${about.id}${suffix}`
  const made = `${format}-${digest.slice(0, 16)}${suffix}`
  const longer = `${own}-${digest.slice(0, 8)}`
  for (const id of isId(own) ? [own, isId(longer) ? longer : made] : [made]) {
    const stored = await backend.read(id, { from: 0, to: 0 })
    if (stored === undefined) return { id, isKnown: false }
    if ((stored.header.importedFrom as { digest?: string } | undefined)?.digest === digest) return { id, isKnown: true }
  }
  throw new CommandError(
    'SESSION_EXISTS',
    `expected no session ${made} in this store, found one; import into another --store`,
  )
}

/** Of all its bytes. */
function digestOf(source: Source): string {
  const digest = createHash('sha256')
  for (let from = 0; from < source.size; from += DIGEST_BYTES) {
    digest.update(source.read(from, Math.min(from + DIGEST_BYTES, source.size)))
  }
  return digest.digest('hex').slice(0, 32)
}

const DIGEST_BYTES = 1 << 20

function isId(text: string): boolean {
  try {
    assertSessionId(text)
    return true
  } catch {
    return false
  }
}

function nothing(found: string): CommandError {
  return new CommandError('NOTHING_TO_IMPORT', `expected messages, found ${found}`)
}

function describe({ about, findings }: Reading): string {
  if (about.unreadable) return findings.map(({ code }) => code).join(', ') || 'what cannot be read'
  return 'none'
}
