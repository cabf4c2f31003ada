import type { SessionEvent } from '@palimpsest/session'
import { type Follower, type MemoryStore, type SessionBackend, sessionRemoved } from '@palimpsest/session-persistence'
import type { Breaking } from './backends.js'

/** Stores that are followed wrongly, each with the check of the kit that finds it. */
export const BROKEN_FOLLOWERS: Record<string, [check: string, breaking: Breaking]> = {
  'gives what it is told of twice': [
    'a watch gives the history, the marker, and then what another instance writes',
    following(({ follower }) => ({
      next: async () => {
        const events = await follower.next()
        return events.flatMap(event => (event.seq === 10 ? [event, event] : [event]))
      },
    })),
  ],
  ...Object.fromEntries(
    [1, 9, 13, 14, 20].map(from => [
      `is followed from the beginning although seq ${from} is asked for`,
      [`a watch from seq ${from} of 14 events gives what comes from there on`, following(() => ({}), 0)],
    ]),
  ),
  'cannot be followed before it has events': [
    'a watch of a session without events begins with the marker',
    (base, store) => ({
      follow: async (id, from) =>
        store.get(id)?.log?.events.length ? soundFollower(base, store, id, from) : undefined,
    }),
  ],
  'makes up what it never stored': [
    'a watch of what was never stored is refused',
    base => ({
      read: async (id, range) => {
        const header = { id, version: 0, createdAt: 0 }
        return (await base.read(id, range)) ?? { header: header as never, events: [], length: 0, damage: [] }
      },
    }),
  ],
  'skips what came while it read the history': [
    'a watch gives what is written while its history is taken once, in its place',
    (base, store) => ({
      follow: async (id, from) => {
        const known = store.get(id)!.log!.events.length
        let seq = from
        return {
          ...soundFollower(base, store, id, from),
          async next() {
            const { events } = store.get(id)!.log!
            const page = events.slice(seq, seq < known ? Math.min(known, seq + 5) : undefined)
            seq = seq + page.length >= known ? Math.max(known, events.length - 1) : seq + page.length
            return page
          },
        }
      },
    }),
  ],
  'loses an event between two pages': [
    'a watch of 6,000 events gives them in order',
    following(({ follower }) => ({
      next: async () => (await follower.next()).filter(({ seq }) => seq % 1000 !== 999),
    })),
  ],
  'is followed without the marks': [
    'a watch gives replacements, restores, sources and marks byte for byte',
    following(({ follower }) => ({
      next: async () =>
        (await follower.next()).map(
          ({ ignorable: _, ...event }: SessionEvent & { ignorable?: true }) => event as never,
        ),
    })),
  ],
  'shows what an overtaken owner wrote': [
    'a watch goes on over a takeover and gives nothing of the owner that was overtaken',
    showingRefused('SESSION_FENCED'),
  ],
  'shows what it refused': ['a watch does not see a batch that was refused', showingRefused('APPEND_CONFLICT')],
  'is followed under one owner only': [
    'a watch goes on from owner to owner',
    following(({ follower, store, id }) => {
      const { epoch } = store.get(id)!
      return {
        next: async () => {
          if (store.get(id)!.epoch > epoch + 1) throw new Error('the owner has changed')
          return follower.next()
        },
      }
    }),
  ],
  'hides what recovery made up': [
    'a watch of a session in mid-turn sees how recovery closes it',
    following(({ follower }) => ({
      next: async () =>
        (await follower.next()).filter(event => event.type !== 'tool/result' || event.data.synthetic !== true),
    })),
  ],
  'is followed under a lease': [
    'a watch holds no lease',
    (base, store) => ({
      follow: async (id, from) => {
        await base.acquire(id)
        return soundFollower(base, store, id, from)
      },
    }),
  ],
  'has gone on for who comes second': ['a watch gives the same as another one', goneOnForTheSecond()],
  'follows a fork’s parent': [
    'a watch of a fork begins with the shared prefix and does not see the parent go on',
    (base, store) => ({
      follow: async (id, from) => soundFollower(base, store, store.get(id)!.log!.header.parent?.id ?? id, from),
    }),
  ],
  'follows a fork only beside its parent': [
    'a watch of a fork goes on when its parent is removed',
    following(({ follower, store, id }) => ({
      next: async () => {
        const { parent } = store.get(id)!.log!.header
        if (parent !== undefined && store.get(parent.id)?.log === undefined) throw sessionRemoved(id)
        // A page that is taken before the parent goes proves nothing.
        return follower.next()
      },
    })),
  ],
  'says in its own words that a session is gone': [
    'a watch ends when its session is removed',
    following(({ follower, store, id }) => ({
      next: async () => {
        if (store.get(id)?.log === undefined) throw new TypeError('log is undefined')
        return follower.next()
      },
    })),
  ],
  'follows whoever has the id': [
    'a watch does not go over to another session of its id',
    (base, store) => ({ follow: async (id, from) => soundFollower(base, store, id, from, false) }),
  ],
  'fails when it is followed no more': [
    'a watch is ended by an abort, without an error, wherever it is',
    following(() => ({
      close() {
        throw new Error('expected to be followed on')
      },
    })),
  ],
}

/** The memory backend with a follower of its own that is right. */
export const followed: Breaking = following(() => ({}))

// --- internal ---

interface Followed {
  readonly follower: Follower
  readonly store: MemoryStore
  readonly id: string
}

function following(change: (followed: Followed) => Partial<Follower>, first?: number): Breaking {
  return (base, store) => ({
    follow: async (id, from) => {
      if (store.get(id)?.log === undefined) return undefined
      const follower = soundFollower(base, store, id, first ?? from)
      return { ...follower, ...change({ follower, store, id }) }
    },
  })
}

function soundFollower(
  base: SessionBackend,
  store: MemoryStore,
  id: string,
  from: number,
  isLookedAt = true,
): Follower {
  const header = store.get(id)?.log?.header
  let seq = from
  return {
    async next() {
      const log = await base.read(id, { from: seq })
      if (log === undefined || (isLookedAt && log.header !== header)) throw sessionRemoved(id)
      seq += log.events.length
      return log.events
    },
    changed: signal =>
      new Promise(resolve => {
        if (signal.aborted) resolve()
        signal.addEventListener('abort', () => resolve(), { once: true })
      }),
    close() {},
  }
}

/** What `append` refuses with that code is followed nevertheless. */
function showingRefused(code: string): Breaking {
  const refused = new WeakMap<MemoryStore, SessionEvent[]>()
  return (base, store) => ({
    append: (lease, header, events) =>
      base.append(lease, header, events).catch(error => {
        if (error.code === code) refused.set(store, [...events])
        throw error
      }),
    follow: async (id, from) => {
      const follower = soundFollower(base, store, id, from)
      return {
        ...follower,
        async next() {
          const events = [...(await follower.next()), ...(refused.get(store) ?? [])]
          refused.delete(store)
          return events
        },
      }
    },
  })
}

function goneOnForTheSecond(): Breaking {
  const followed = new WeakSet<MemoryStore>()
  return (base, store) => ({
    follow: async (id, from) => {
      const first = followed.has(store) ? from + 1 : from
      followed.add(store)
      return soundFollower(base, store, id, first)
    },
  })
}
