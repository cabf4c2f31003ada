import type { SessionEvent } from '@palimpsest/session'
import {
  createMemoryBackend,
  type LazyLog,
  type MemoryStore,
  PersistenceError,
  type SessionBackend,
} from '@palimpsest/session-persistence'
import { testBackend } from '@palimpsest/session-persistence/conformance'
import { expect, test } from 'vitest'
import { type Breaking, lazyMemoryBackend, over } from './backends.js'
import { BROKEN_FOLLOWERS, followed } from './broken-followers.js'

// A kit that a broken backend passes is worth nothing: each of these must fail, at the check that is about its fault.

/** The kit over a backend with that fault, by the names of the checks. */
function kitOver(breaking: Breaking): Map<string, () => Promise<void>> {
  const checks = new Map<string, () => Promise<void>>()
  const open = () => {
    const store: MemoryStore = new Map()
    const create = () => {
      const base = createMemoryBackend(store)
      return over(base, breaking(base, store))
    }
    return { backend: create(), reopen: create }
  }
  testBackend('broken', { open }, { test: (name, body) => checks.set(name.slice('broken: '.length), body) })
  return checks
}

/** Passes every event through `change` on its way in. */
const storing =
  (change: (event: SessionEvent) => SessionEvent): Breaking =>
  base => ({
    append: (lease, header, events) => base.append(lease, header, events.map(change)),
  })

const throughText = (change: (text: string) => string) => storing(event => JSON.parse(change(JSON.stringify(event))))

const BROKEN: Record<string, [check: string, breaking: Breaking]> = {
  'loses the last event of a batch': [
    'events come back byte for byte, to this instance and to another',
    base => ({ append: (lease, header, events) => base.append(lease, header, events.slice(0, -1)) }),
  ],
  'acknowledges before it stores': [
    'what was acknowledged can be read at once, beside the writer',
    base => ({
      append: async (lease, header, events) => {
        setImmediate(() => void base.append(lease, header, events).catch(() => {}))
      },
    }),
  ],
  'stores the good part of a conflicting batch': [
    'a batch with a gap inside is a conflict, writes nothing, and the right one still goes through',
    base => ({
      append: async (lease, header, events) => {
        const gap = events.findIndex((event, n) => event.seq !== events[0]!.seq + n)
        await base.append(lease, header, gap === -1 ? events : events.slice(0, gap))
        if (gap !== -1) throw new PersistenceError('APPEND_CONFLICT', 'a batch with a gap was refused')
      },
    }),
  ],
  'takes a batch at any length': [
    'a batch beyond the stored length is a conflict, writes nothing, and the right one still goes through',
    base => ({
      append: async (lease, header, events) => {
        const length = (await base.read(lease.id))?.length ?? 0
        await base.append(
          lease,
          header,
          events.map((event, n) => ({ ...event, seq: length + n }) as SessionEvent),
        )
      },
    }),
  ],
  'writes UTF-8 and loses half pairs': [
    'text with a lone high surrogate round-trips as value, key and title',
    storing(event => mapText(event, text => new TextDecoder().decode(new TextEncoder().encode(text))) as SessionEvent),
  ],
  'normalises text': [
    'text with combining and bidirectional marks round-trips as value, key and title',
    throughText(text => text.normalize('NFC')),
  ],
  'ends strings at NUL': [
    'text with NUL and control characters round-trips as value, key and title',
    storing(event => mapText(event, text => text.split('\u0000')[0]!) as SessionEvent),
  ],
  'assigns __proto__': ['the keys that objects inherit round-trips', storing(event => assigned(event) as SessionEvent)],
  'rounds times': [
    'times of any size and fraction are kept',
    storing(event => ({ ...event, time: Math.round(event.time) })),
  ],
  'drops the members it does not know': [
    'an ignorable event of a type from elsewhere is kept',
    storing(({ ignorable: _, ...event }) => event as SessionEvent),
  ],
  'drops sources': [
    'replacements, restores, sources and marks come back byte for byte',
    storing(({ sourceEventSeqs: _, ...event }) => event as SessionEvent),
  ],
  'writes every header anew': [
    'the header of the first batch stays',
    (base, store) => ({
      append: async (lease, header, events) => {
        await base.append(lease, header, events)
        const log = store.get(lease.id)?.log
        if (log !== undefined) Object.assign(log, { header })
      },
    }),
  ],
  'knows only the header’s own members': [
    'the header comes back whole, members that nobody knows too',
    base => ({
      append: (lease, { version, id, createdAt, cwd, parent }, events) =>
        base.append(lease, JSON.parse(JSON.stringify({ version, id, createdAt, cwd, parent })), events),
    }),
  ],
  'includes the end of a range': [
    'every half-open range gives exactly its events',
    base => ({
      read: (id, range = {}) => base.read(id, range.to === undefined ? range : { ...range, to: range.to + 1 }),
    }),
  ],
  'counts the range for the log': [
    'a range beyond the end is cut there',
    base => ({
      read: async (id, range) => {
        const log = await base.read(id, range)
        return log && { ...log, length: log.events.length }
      },
    }),
  ],
  'hands out its own array': [
    'what read returns is its caller’s: changing the array changes nothing stored',
    (base, store) => ({
      read: async (id, range) => {
        const log = await base.read(id, range)
        return log && range === undefined ? { ...log, events: store.get(id)!.log!.events } : log
      },
    }),
  ],
  'never locks': [
    'a held session is locked for this instance and for another',
    base => ({ acquire: id => base.acquire(id, { takeover: true }) }),
  ],
  'locks only within one instance': [
    'a held session is locked for this instance and for another',
    base => {
      const held = new Set<string>()
      return {
        acquire: async (id, options) => {
          const lease = await base.acquire(id, { takeover: !held.has(id) || options?.takeover === true })
          held.add(id)
          const release = () => {
            held.delete(id)
            return lease.release()
          }
          return { ...lease, release }
        },
      }
    },
  ],
  'does not fence the overtaken': [
    'an overtaken writer is fenced, writes nothing, and the new one goes on',
    (base, store) => ({
      append: (lease, header, events) => base.append({ ...lease, epoch: store.get(lease.id)!.epoch }, header, events),
    }),
  ],
  'fences only after it wrote': [
    'an overtaken writer is fenced, writes nothing, and the new one goes on',
    (base, store) => ({
      append: async (lease, header, events) => {
        const { epoch } = store.get(lease.id)!
        await base.append({ ...lease, epoch }, header, events)
        await base.append(lease, header, [])
      },
    }),
  ],
  'lets a released lease write': [
    'a released lease writes nothing',
    (base, store) => ({
      append: (lease, header, events) => {
        const record = store.get(lease.id)!
        if (record.epoch === lease.epoch) record.isHeld = true
        return base.append(lease, header, events)
      },
    }),
  ],
  'frees whoever holds the lease': [
    'a fenced lease frees nobody else’s',
    (base, store) => ({
      acquire: async (id, options) => ({
        ...(await base.acquire(id, options)),
        release: async () => {
          store.get(id)!.isHeld = false
        },
      }),
    }),
  ],
  'forgets epochs with the session': [
    'epochs go on rising after a removal',
    (base, store) => ({
      remove: async id => {
        await base.remove(id)
        store.delete(id)
      },
    }),
  ],
  'keeps its leases when it closes': [
    'closing a backend frees its leases and keeps what was acknowledged',
    () => ({ close: async () => {} }),
  ],
  'makes a session of every lease': [
    'a lease under which nothing was written leaves no session',
    base => ({
      acquire: async (id, options) => {
        const lease = await base.acquire(id, options)
        if ((await base.read(id)) === undefined) await base.append(lease, { version: 0, id, createdAt: 0 }, [])
        return lease
      },
    }),
  ],
  'removes under the writer’s feet': [
    'a locked session is not removed',
    (base, store) => ({
      remove: async id => {
        const record = store.get(id)
        if (record?.log !== undefined) record.isHeld = false
        await base.remove(id)
      },
    }),
  ],
  'is silent about a removal of nothing': [
    'removing what is not there is refused',
    base => ({
      remove: id =>
        base.remove(id).catch(error => (error.code === 'SESSION_NOT_FOUND' ? undefined : Promise.reject(error))),
    }),
  ],
  'shares the parent’s log alive': [
    'child and parent go on apart',
    (base, store) => ({
      fork: async (lease, header, length) => {
        await base.fork(lease, header, length)
        const parent = store.get(header.parent!.id)!.log!
        if (length === parent.events.length) store.get(lease.id)!.log = { header, events: parent.events }
      },
    }),
  ],
  'reads a fork through its parent’s name': [
    'removing parents breaks no fork',
    (base, store) => ({
      read: async (id, range) => {
        const log = await base.read(id, range)
        const parent = log?.header.parent?.id
        return parent !== undefined && store.get(parent)?.log === undefined ? undefined : log
      },
    }),
  ],
  'forks all of the parent': [
    'a fork of 9 events is that prefix of its parent',
    base => ({
      fork: async (lease, header) => base.fork(lease, header, (await base.read(header.parent!.id))?.length ?? 0),
    }),
  ],
  'forks over a stored session': [
    'a fork does not go over a stored session',
    (base, store) => ({
      fork: (lease, header, length) => {
        delete store.get(lease.id)?.log
        return base.fork(lease, header, length)
      },
    }),
  ],
  'cuts titles in the middle of a pair': [
    'the title is not cut inside of a pair',
    retitling(title => title?.slice(0, 79)),
  ],
  'lists no titles': ['the title is the first user text', retitling(() => undefined)],
  'leaves open sessions out of the listing': [
    'the listing follows the log: open, grown, forked',
    (base, store) => ({
      async *list() {
        for await (const summary of base.list()) if (!store.get(summary.id)!.isHeld) yield summary
      },
    }),
  ],
  'does not look at ids': [
    'acquire refuses ids that no store can keep',
    base => ({ acquire: async (id, options) => ({ ...(await base.acquire('any', options)), id }) }),
  ],
  'loads the event beside the one asked for': [
    'at, slice and events of a reopened session agree, whatever is asked first',
    lazily(log => ({ ...log, load: (from, to) => log.load(from, to).reverse() })),
  ],
  'keeps a restored replacement in its index': [
    'reload equals live: an edited conversation, at every length',
    lazily(({ landmarks, ...log }) => {
      const markers = landmarks.markers.filter(({ type }) => type !== 'surface/restore')
      return { ...log, landmarks: { ...landmarks, markers } }
    }),
  ],
  'does not see the open turn': [
    'recovery: a call that began has an unknown outcome',
    lazily(({ landmarks, ...log }) => ({ ...log, landmarks: { ...landmarks, open: [] } })),
  ],
  'does not see the types it may not ignore': [
    'a required event of an unknown type opens read-only up to it',
    lazily(({ unknown: _, ...log }) => log),
  ],
  'forgets the request headers': [
    'reload equals live: a plain conversation, at every length',
    lazily(({ landmarks, ...log }) => ({ ...log, landmarks: { ...landmarks, headers: landmarks.headers.slice(-1) } })),
  ],
  'writes any format version': [
    'a newer format version is not written, and the refusal says "newer"',
    base => ({ append: (lease, header, events) => base.append(lease, { ...header, version: 0 }, events) }),
  ],
}

test('no two checks have one name', () => {
  const names: string[] = []
  testBackend('any', { open: createMemoryBackend }, { test: name => names.push(name) })
  expect(new Set(names).size).toBe(names.length)
})

test.each(Object.entries({ ...BROKEN, ...BROKEN_FOLLOWERS }))(
  'a backend that %s fails the kit',
  async (_, [name, breaking]) => {
    // Without the fault the same check passes, so it is the fault that it finds.
    await kitOver(() => ({})).get(name)!()
    await expect(kitOver(breaking).get(name)!()).rejects.toThrow()
  },
)

test('every check of a watch is failed by some backend, and passed by one that is followed well', async () => {
  const watches = [...kitOver(followed)].filter(([name]) => name.startsWith('a watch '))
  const failed = Object.values(BROKEN_FOLLOWERS).map(([name]) => name)
  expect(failed.sort()).toEqual(watches.map(([name]) => name).sort())
  for (const [, check] of watches) await check()
})

/** A backend whose index is wrong. */
function lazily(change: (log: LazyLog) => LazyLog): Breaking {
  return base => {
    const lazy = lazyMemoryBackend(base)
    const open: NonNullable<SessionBackend['open']> = async lease => {
      const log = await lazy.open!(lease)
      return log && change(log)
    }
    return { supports: lazy.supports, open }
  }
}

function retitling(change: (title: string | undefined) => string | undefined): Breaking {
  return base => ({
    async *list() {
      for await (const { title, ...summary } of base.list()) {
        const changed = change(title)
        yield changed === undefined ? summary : { ...summary, title: changed }
      }
    },
  })
}

function mapText(value: unknown, change: (text: string) => string): unknown {
  if (typeof value === 'string') return change(value)
  if (Array.isArray(value)) return value.map(item => mapText(item, change))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [change(key), mapText(item, change)]))
}

/** The copy that everybody writes first. */
function assigned(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(assigned)
  const copy: Record<string, unknown> = {}
  for (const [key, item] of Object.entries(value)) copy[key] = assigned(item)
  return copy
}
