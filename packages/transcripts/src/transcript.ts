import type { SessionEvent, SessionHeader } from '@palimpsest/session'
import type { Finding, Loss } from './finding.js'
import type { About, FormatName } from './format.js'
import { formatOf, headOf } from './formats.js'
import { type EventSink, LogBuilder } from './log-builder.js'
import type { Place } from './place.js'
import { bytesSource, type Source } from './source.js'

export interface ReadOptions {
  /** Left out or `auto`: by content. */
  format?: FormatName | 'auto'
  /** Which one of a file of several, from 0. */
  conversation?: number
}

/** What was read beside the events. */
export interface Reading {
  /** `undefined`: the content is of no known format. */
  readonly format: FormatName | undefined
  readonly header: Partial<SessionHeader>
  readonly about: About
  /** In the order of the file. */
  readonly findings: readonly Finding[]
  readonly loss: readonly Loss[]
}

export interface Transcript extends Reading {
  /** A valid seed of a `Session`. */
  readonly events: readonly SessionEvent[]
  /** Where each event stands in the file, by seq. */
  readonly places: readonly Place[]
}

/** The format by content, `undefined` where it is none that is known. */
export function detectFormat(source: Source): FormatName | undefined {
  return formatOf(headOf(source))?.name
}

/** Reads a transcript whole. Never throws for what is in it. */
export function readTranscript(source: Source | Uint8Array, options: ReadOptions = {}): Transcript {
  const events: SessionEvent[] = []
  const places: Place[] = []
  const reading = streamTranscript(source, options, (event, place) => {
    events.push(event)
    places.push(place)
  })
  return { ...reading, events, places }
}

/** Reads a transcript and gives each event away as it is made, so that memory does not grow with the file. */
export function streamTranscript(source: Source | Uint8Array, options: ReadOptions, emit: EventSink): Reading {
  const from = source instanceof Uint8Array ? bytesSource(source) : source
  const findings: Finding[] = []
  const loss: Loss[] = []
  const about: About = {}
  const format = formatOf(headOf(from), options.format)
  format?.import({
    source: from,
    log: new LogBuilder(emit),
    conversation: options.conversation ?? 0,
    report: finding => void findings.push(finding),
    lose: each => void loss.push(each),
    about: facts => void Object.assign(about, facts),
  })
  const { id, createdAt, cwd } = about
  const header = {
    ...(createdAt === undefined ? {} : { createdAt }),
    ...(cwd === undefined ? {} : { cwd }),
    ...(format && { importedFrom: { format: format.name, id: id ?? 'unknown' } }),
  }
  return { format: format?.name, header, about, findings, loss }
}
