import { Session } from '@palimpsest/session'
import { describe, expect, test } from 'vitest'
import { say } from './samples.js'

describe('at', () => {
  test('gives the event of a seq, the same object every time', () => {
    const session = Session.create()
    const event = session.append('turn/start', { turn: 1 })
    expect(session.at(0)).toBe(event)
    expect(session.at(0)).toBe(session.events[0])
    expect(session.slice(0, 1)[0]).toBe(event)
  })

  test.each([-1, 3, 0.5, Number.NaN, Number.POSITIVE_INFINITY, -3, 2 ** 53])('%d is undefined', seq => {
    expect(say(Session.create(), 3).at(seq)).toBeUndefined()
    expect(say(Session.create(), 3).fork().at(seq)).toBeUndefined()
  })
})

describe('slice', () => {
  const bounds = [
    undefined,
    -9,
    -2,
    -1,
    0,
    1,
    3,
    4,
    5,
    99,
    Number.POSITIVE_INFINITY,
    Number.NEGATIVE_INFINITY,
    Number.NaN,
    1.7,
  ]
  const logs: [string, () => Session][] = [
    ['a session', () => say(Session.create(), 5)],
    ['a fork', () => say(say(Session.create(), 3).fork(), 2)],
    ['a seeded session', () => say(Session.create({ seed: say(Session.create(), 2).events }), 3)],
  ]
  const atLeast0 = (bound: number | undefined) => (bound === undefined ? undefined : Math.max(0, bound))
  test.each(logs)('of %s clamps to the log, at every pair of bounds', (_, create) => {
    const session = create()
    const all = [...session.events]
    for (const from of bounds) {
      for (const to of bounds) {
        const part = session.slice(from, to)
        expect(part).toStrictEqual(all.slice(atLeast0(from), atLeast0(to)))
        expect(Object.isFrozen(part)).toBe(true)
      }
    }
    expect(session.slice()).toStrictEqual(all)
  })
})

describe('events', () => {
  test('is a frozen snapshot; an old one never grows', () => {
    const session = say(Session.create(), 2)
    const old = session.events
    expect(Object.isFrozen(old)).toBe(true)
    expect(session.events).toBe(old)
    say(session, 1)
    expect(old).toHaveLength(2)
    expect(session.events).toHaveLength(3)
    expect(session.events.slice(0, 2)).toStrictEqual([...old])
  })

  test('seqs count from 0 without gaps, over every kind of event', () => {
    const session = say(Session.create(), 2)
    session.append('turn/start', { turn: 1 })
    say(session, 1)
    expect(session.events.map(event => event.seq)).toEqual([0, 1, 2, 3])
    expect(session.length).toBe(4)
  })
})

describe('lastSeqOf', () => {
  test('gives the last of its type below a bound', () => {
    const session = Session.create()
    session.append('turn/start', { turn: 1 })
    session.append('step/start', { turn: 1, step: 1 })
    session.append('step/start', { turn: 1, step: 2 })
    session.append('request/header', { model: 'm', settings: {} })
    session.append('turn/start', { turn: 2 })
    expect(session.lastSeqOf('turn/start')).toBe(4)
    expect([0, 1, 4, 5, 99].map(before => session.lastSeqOf('turn/start', before))).toEqual([undefined, 0, 0, 4, 4])
    expect([1, 2, 3].map(before => session.lastSeqOf('step/start', before))).toEqual([undefined, 1, 2])
    expect(session.lastSeqOf('request/header', 3)).toBeUndefined()
    expect(session.fork({ length: 2 }).lastSeqOf('step/start')).toBe(1)
  })
})
