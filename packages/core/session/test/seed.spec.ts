import { markSurface, Session, type SessionEvent } from '@palimpsest/session'
import { describe, expect, test } from 'vitest'
import { isDeeplyFrozen, observe, refusal } from './observed.js'
import { replaces, requestHeader, reread, restores, say, tickingClock, user } from './samples.js'

function eventful(): Session {
  const session = Session.create({ id: 'a', now: tickingClock() })
  session.append('request/header', requestHeader())
  session.append('turn/start', { turn: 1 })
  say(session, 3)
  session.append('user/message', user('sum'), replaces(2, 3, [2, 3]))
  session.append('surface/restore', {}, restores(5))
  session.append('user/message', user('again'), replaces(3, 4, [3, 4]))
  return session
}

describe('a seed', () => {
  test('makes a session that shows what the live one shows', () => {
    const live = eventful()
    const seeded = Session.create({ header: live.header, seed: reread(live.events) })
    expect(observe(seeded)).toStrictEqual(observe(live))
    expect(JSON.stringify(seeded.events)).toBe(JSON.stringify(live.events))
  })

  test('of every prefix is right, and can be appended to', () => {
    const live = eventful()
    for (let length = 0; length <= live.length; length++) {
      const seeded = Session.create({ seed: live.slice(0, length) })
      expect(seeded.surface.seqs()).toEqual(live.surfaceAt(length))
      expect(say(seeded, 1).at(length)?.seq).toBe(length)
    }
  })

  test('is copied and frozen like live events', () => {
    const seed = reread(eventful().events)
    const seeded = Session.create({ seed })
    expect(isDeeplyFrozen(seeded.events)).toBe(true)
    expect(seed.some(Object.isFrozen)).toBe(false)
    expect(seeded.at(0)).not.toBe(seed[0])
  })

  test('keeps its times, and an empty one is an empty session', () => {
    const seeded = Session.create({ seed: eventful().events, now: () => 9_999_999 })
    expect(seeded.at(0)?.time).toBe(eventful().at(0)?.time)
    expect(Session.create({ seed: [] }).length).toBe(0)
  })

  test('read once: a getter gives what is stored', () => {
    let reads = 0
    const event = {
      seq: 0,
      time: 1,
      get type() {
        reads++
        return reads === 1 ? 'turn/start' : 'user/message'
      },
      data: { turn: 1 },
    }
    expect(Session.create({ seed: [event as SessionEvent] }).at(0)?.type).toBe('turn/start')
    expect(reads).toBe(1)
  })
})

describe('a bad seed is refused with its code and index', () => {
  const message = { type: 'user/message', data: user(), time: 1 }
  const bad: [name: string, event: unknown, code: string, word?: string][] = [
    ['a gap', { ...message, seq: 4, surfaceOp: 'append' }, 'SEED_INVALID', 'seed[3].seq'],
    ['a seq again', { ...message, seq: 2, surfaceOp: 'append' }, 'SEED_INVALID', 'seed[3].seq'],
    ['no seq', { ...message, surfaceOp: 'append' }, 'SEED_INVALID', 'seed[3].seq'],
    ['a seq as text', { ...message, seq: '3', surfaceOp: 'append' }, 'SEED_INVALID', 'seed[3].seq'],
    ['no time', { seq: 3, type: 'turn/start', data: {} }, 'SEED_INVALID', 'seed[3].time'],
    ['a time that is no number', { seq: 3, time: '1', type: 'turn/start', data: {} }, 'SEED_INVALID', 'seed[3].time'],
    ['a time of NaN', { seq: 3, time: Number.NaN, type: 'turn/start', data: {} }, 'SEED_INVALID', 'seed[3].time'],
    ['a time of -0', { seq: 3, time: -0, type: 'turn/start', data: {} }, 'SEED_INVALID', 'seed[3].time'],
    ['no type', { seq: 3, time: 1, data: {} }, 'SEED_INVALID', 'seed[3].type'],
    ['a type that is no text', { seq: 3, time: 1, type: 1, data: {} }, 'SEED_INVALID', 'seed[3].type'],
    ['a member nobody knows', { ...message, seq: 3, surfaceOp: 'append', crc: '0' }, 'SEED_INVALID', 'crc'],
    ['a symbol member', { ...message, seq: 3, surfaceOp: 'append', [Symbol('s')]: 1 }, 'SEED_INVALID'],
    ['no event', undefined, 'SEED_INVALID'],
    ['null', null, 'SEED_INVALID'],
    ['a text', 'event', 'SEED_INVALID'],
    ['an array', [], 'SEED_INVALID'],
    ['an instance', new Date(), 'SEED_INVALID'],
    ['no data', { seq: 3, time: 1, type: 'turn/start' }, 'NOT_LOSSLESS_JSON', 'seed[3].data'],
    [
      'lossy data',
      { seq: 3, time: 1, type: 'turn/start', data: { turn: [1n] } },
      'NOT_LOSSLESS_JSON',
      'seed[3].data.turn[0]',
    ],
    ['an unknown type', { seq: 3, time: 1, type: 'x/y', data: {} }, 'UNKNOWN_EVENT_TYPE', 'x/y'],
    ['a surface type without marker', { ...message, seq: 3 }, 'SURFACE_INTENT_REQUIRED', 'markSurface'],
    [
      'a marker on a log-only type',
      { seq: 3, time: 1, type: 'turn/start', data: {}, surfaceOp: 'append' },
      'SURFACE_INTENT_NOT_ALLOWED',
    ],
    [
      'sources on a log-only type',
      { seq: 3, time: 1, type: 'turn/start', data: {}, sourceEventSeqs: [0] },
      'SURFACE_INTENT_NOT_ALLOWED',
    ],
    ['a malformed marker', { ...message, seq: 3, surfaceOp: { op: 'swap' } }, 'SURFACE_INTENT_NOT_ALLOWED'],
    ['a marker of null', { ...message, seq: 3, surfaceOp: null }, 'SURFACE_INTENT_NOT_ALLOWED'],
    [
      'ignorable on a surface type',
      { ...message, seq: 3, surfaceOp: 'append', ignorable: true },
      'SURFACE_INTENT_NOT_ALLOWED',
    ],
    ['an unknown range', { ...message, seq: 3, ...replaces(9, 9, [0]) }, 'SURFACE_RANGE_UNKNOWN'],
    ['a reversed range', { ...message, seq: 3, ...replaces(1, 0, [0, 1]) }, 'SURFACE_RANGE_REVERSED'],
    [
      'a restore of nothing',
      { seq: 3, time: 1, type: 'surface/restore', data: {}, ...restores(1) },
      'SURFACE_RESTORE_INVALID',
    ],
    ['a later source', { ...message, seq: 3, surfaceOp: 'append', sourceEventSeqs: [3] }, 'PROVENANCE_INVALID'],
    ['incomplete sources', { ...message, seq: 3, ...replaces(0, 1, [0]) }, 'PROVENANCE_INCOMPLETE'],
    [
      'a result over a question',
      {
        seq: 3,
        time: 1,
        type: 'tool/result',
        data: { message: { role: 'tool', content: [] } },
        ...replaces(1, 1, [1]),
      },
      'TOOL_RESULT_REWRITE_INVALID',
    ],
    [
      'a message of another role',
      { ...message, seq: 3, type: 'assistant/message', surfaceOp: 'append' },
      'EVENT_DATA_INVALID',
    ],
  ]
  test.each(bad)('%s', (_, event, code, word = 'seed[3]') => {
    const good = say(Session.create(), 3).events
    const error = refusal(() => Session.create({ seed: [...good, event as SessionEvent, ...good] }))
    expect(error.code).toBe(code)
    expect(error.message).toContain('seed[3]')
    expect(error.message).toContain(word)
  })

  test('one that is no array', () => {
    for (const seed of [null, {}, 'events', 3, new Set()]) {
      expect(refusal(() => Session.create({ seed: seed as never })).code).toBe('SEED_INVALID')
    }
  })

  test.each<[name: string, seed: unknown]>([
    ['a revoked list', revoked([])],
    ['a revoked event', [revoked({})]],
    ['an event with a revoked member', [{ seq: 0, time: 1, type: revoked({}), data: {} }]],
    ['a list that cannot be read', new Proxy([1], { get: () => raise(new Error('no')) })],
    ['a list without a length', new Proxy([1], { get: () => raise(null) })],
  ])('one that nobody can look at: %s', (_, seed) => {
    expect(refusal(() => Session.create({ seed: seed as SessionEvent[] })).code).toBe('SEED_INVALID')
  })

  test('one with a hole', () => {
    const seed = [...say(Session.create(), 3).events]
    delete seed[1]
    const error = refusal(() => Session.create({ seed }))
    expect([error.code, error.message]).toEqual(['SEED_INVALID', expect.stringContaining('seed[1]')])
  })

  test('the first bad one is named', () => {
    const good = say(Session.create(), 3).events
    expect(refusal(() => Session.create({ seed: good.slice(1) })).message).toContain('seed[0]')
  })
})

describe('markSurface', () => {
  const unmarked = (): SessionEvent[] =>
    eventful()
      .slice(0, 5)
      .map(({ surfaceOp: _, ...event }) => event as SessionEvent)

  test('upgrades a log without markers, which is refused as it is', () => {
    const events = unmarked()
    expect(refusal(() => Session.create({ seed: events })).code).toBe('SURFACE_INTENT_REQUIRED')
    const session = Session.create({ seed: markSurface(events) })
    expect(session.surface.seqs()).toEqual([2, 3, 4])
    expect(session.events).toStrictEqual(eventful().slice(0, 5))
  })

  test('changes neither what it is given nor what is marked already', () => {
    const events = Object.freeze(unmarked().map(Object.freeze)) as SessionEvent[]
    const before = JSON.stringify(events)
    markSurface(events)
    expect(JSON.stringify(events)).toBe(before)
    const marked = eventful().events
    expect(markSurface(marked)).toStrictEqual([...marked])
  })
})

// --- internal ---

function revoked(target: object): object {
  const { proxy, revoke } = Proxy.revocable(target, {})
  revoke()
  return proxy
}

function raise(error: unknown): never {
  throw error
}
