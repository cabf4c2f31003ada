import { crc32 } from 'node:zlib'
import type { SessionEvent, SessionHeader } from '@palimpsest/session'
import { PersistenceError } from './errors.js'
import { assertFormatVersion, assertHeaderId } from './header.js'
import { assertSessionId } from './id.js'
import type { BytePart, Lease, SessionBackend, SessionSummary, StoredLog } from './port.js'
import { titleOf } from './title.js'

/** What memory backends keep, by id: two of them over one store are two processes over one disk. */
export type MemoryStore = Map<string, MemoryRecord>

export interface MemoryRecord {
  /** Stays after a removal, as epochs rise for ever. */
  epoch: number
  isHeld: boolean
  log?: { readonly header: SessionHeader; readonly events: SessionEvent[] }
}

/** A backend that lives as long as its store. Events are frozen, so they are shared and not copied. */
export function createMemoryBackend(store: MemoryStore = new Map()): SessionBackend {
  return new MemoryBackend(store)
}

// --- internal ---

class MemoryBackend implements SessionBackend {
  readonly supports = { lazyEvents: false }
  readonly #store: MemoryStore
  readonly #leases = new Set<Lease>()

  constructor(store: MemoryStore) {
    this.#store = store
  }

  async acquire(id: string, options: { takeover?: boolean } = {}): Promise<Lease> {
    assertSessionId(id)
    const record = this.#recordOf(id)
    if (record.isHeld && !options.takeover) {
      throw new PersistenceError('SESSION_LOCKED', `session "${id}" is open elsewhere; close it there, or take it over`)
    }
    record.isHeld = true
    record.epoch += 1
    const lease = { id, epoch: record.epoch, release: async () => this.#release(lease) }
    this.#leases.add(lease)
    return lease
  }

  async append(lease: Lease, header: SessionHeader, events: readonly SessionEvent[]): Promise<void> {
    assertFormatVersion(header)
    assertHeaderId(header, lease.id)
    const record = this.#writable(lease)
    if (record.log !== undefined) assertFormatVersion(record.log.header)
    const length = record.log?.events.length ?? 0
    const stray = events.findIndex((event, index) => event.seq !== length + index)
    if (stray !== -1) {
      throw new PersistenceError(
        'APPEND_CONFLICT',
        `session "${lease.id}" has ${length} events: expected seq ${length + stray} next, found ${events[stray]!.seq}; open it again`,
      )
    }
    record.log ??= { header: withoutParentCrc(header), events: [] }
    for (const event of events) record.log.events.push(event)
  }

  async read(id: string, { from = 0, to }: { from?: number; to?: number } = {}): Promise<StoredLog | undefined> {
    assertSessionId(id)
    const log = this.#store.get(id)?.log
    if (log === undefined) return undefined
    assertFormatVersion(log.header)
    const { header, events } = log
    const end = Math.max(0, to ?? events.length)
    return { header, events: events.slice(Math.max(0, from), end), length: events.length, damage: [] }
  }

  async fork(lease: Lease, header: SessionHeader, length: number): Promise<void> {
    assertHeaderId(header, lease.id)
    const child = this.#writable(lease)
    if (child.log !== undefined) {
      throw new PersistenceError('SESSION_EXISTS', `session "${lease.id}" is already stored; fork into another id`)
    }
    const parent = header.parent?.id ?? ''
    const log = await this.read(parent)
    if (log === undefined) throw notFound(parent)
    if (length > log.length) {
      throw new RangeError(`length: expected at most ${log.length}, the stored events of "${parent}", found ${length}`)
    }
    const events = log.events.slice(0, length)
    child.log = { header: withParentCrc(header, events.at(-1)), events }
  }

  async *list(): AsyncIterable<SessionSummary> {
    for (const [id, { log }] of this.#store) if (log !== undefined) yield summaryOf(id, log.header, log.events)
  }

  async bytesOf(id: string): Promise<BytePart[] | undefined> {
    assertSessionId(id)
    const log = this.#store.get(id)?.log
    if (log === undefined) return undefined
    const parts = new Map<string, BytePart>([['header', { what: 'header', bytes: sizeOf(log.header) }]])
    for (const event of log.events) {
      const { bytes = 0, events = 0 } = parts.get(event.type) ?? {}
      parts.set(event.type, { what: event.type, bytes: bytes + sizeOf(event), events: events + 1 })
    }
    return [...parts.values()]
  }

  async remove(id: string): Promise<void> {
    assertSessionId(id)
    const record = this.#store.get(id)
    if (record?.log === undefined) throw notFound(id)
    if (record.isHeld) {
      throw new PersistenceError('SESSION_LOCKED', `session "${id}" is open; close it before it is removed`)
    }
    delete record.log
  }

  async close(): Promise<void> {
    for (const lease of this.#leases) await lease.release()
  }

  #recordOf(id: string): MemoryRecord {
    const known = this.#store.get(id)
    if (known !== undefined) return known
    const record: MemoryRecord = { epoch: 0, isHeld: false }
    this.#store.set(id, record)
    return record
  }

  #writable(lease: Lease): MemoryRecord {
    const record = this.#store.get(lease.id)
    if (record?.isHeld && record.epoch === lease.epoch) return record
    throw new PersistenceError(
      'SESSION_FENCED',
      `epoch ${lease.epoch} of session "${lease.id}" may not write: it was released or overtaken; open the session again`,
    )
  }

  #release(lease: Lease): void {
    this.#leases.delete(lease)
    const record = this.#store.get(lease.id)
    if (record?.epoch === lease.epoch) record.isHeld = false
  }
}

function summaryOf(id: string, header: SessionHeader, events: readonly SessionEvent[]): SessionSummary {
  const shared = header.parent?.crc === undefined ? 0 : header.parent.length
  const updatedAt = events.length > shared ? events.at(-1)!.time : header.createdAt
  const summary: SessionSummary = { id, header, length: events.length, updatedAt, bytes: sizeOf(header) }
  for (const event of events) {
    const title = summary.title ?? titleOf(event)
    if (title !== undefined) summary.title = title
    summary.bytes! += sizeOf(event)
  }
  return summary
}

/** A crc in `parent` says that the prefix is shared; only a fork may say so, in every store. */
function withoutParentCrc(header: SessionHeader): SessionHeader {
  if (header.parent?.crc === undefined) return header
  const { id, length } = header.parent
  return Object.freeze({ ...header, parent: Object.freeze({ id, length }) })
}

/** The crc that the last shared record would have on a line of the JSONL store; a prefix of no records has none. */
function withParentCrc(header: SessionHeader, last: SessionEvent | undefined): SessionHeader {
  if (header.parent === undefined || last === undefined) return header
  const crc = crc32(JSON.stringify(last).slice(0, -1)).toString(16).padStart(8, '0')
  const { id, length, crc: expected = crc } = header.parent
  if (expected !== crc) {
    throw new PersistenceError(
      'PARENT_MISMATCH',
      `session "${header.id}" shares the first ${length} events of "${id}", the last with crc ${expected}; found crc ${crc}; fork again from what is stored`,
    )
  }
  return Object.freeze({ ...header, parent: Object.freeze({ ...header.parent, crc }) })
}

/** What a line of JSON would take. */
function sizeOf(record: SessionHeader | SessionEvent): number {
  return encoder.encode(JSON.stringify(record)).length + 1
}

const encoder = new TextEncoder()

function notFound(id: string): PersistenceError {
  return new PersistenceError(
    'SESSION_NOT_FOUND',
    `there is no session "${id}" in this store; list() names what there is`,
  )
}
