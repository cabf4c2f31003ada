import { Session } from '@palimpsest/session'
import { describe, expect, test } from 'vitest'
import { expectRefused, observe } from './observed.js'
import { replaces, requestHeader, restores, say, textsOf, tickingClock, user } from './samples.js'

function eventful(): Session {
  const session = say(Session.create({ id: 'parent', header: { cwd: '/w' }, now: tickingClock() }), 3)
  session.append('request/header', requestHeader())
  session.append('user/message', user('sum'), replaces(0, 1, [0, 1]))
  session.append('turn/start', { turn: 1 })
  session.append('surface/restore', {}, restores(4))
  session.append('user/message', user('other'), replaces(1, 2, [1, 2]))
  return session
}

describe('a fork', () => {
  test('at every length shows what the prefix showed, and shares its events by identity', () => {
    const parent = eventful()
    for (let length = 0; length <= parent.length; length++) {
      const child = parent.fork({ length })
      const { header: _, ...seeded } = observe(Session.create({ seed: parent.slice(0, length) }))
      const { header, ...shown } = observe(child)
      expect(shown).toStrictEqual(seeded)
      expect(header).toMatchObject({ version: 0, parent: { id: 'parent', length } })
      for (let seq = 0; seq < length; seq++) expect(child.at(seq)).toBe(parent.at(seq))
      expect(child.at(length)).toBeUndefined()
      expect(child.events.every((event, seq) => event === parent.at(seq))).toBe(true)
    }
  })

  test('has a header of its own', () => {
    const parent = eventful()
    const child = parent.fork({ id: 'child' })
    expect(child.header).toMatchObject({ id: 'child', cwd: '/w', parent: { id: 'parent', length: parent.length } })
    expect(Object.isFrozen(child.header.parent)).toBe(true)
    expect(parent.fork().id).not.toBe(parent.fork().id)
    expect(parent.header).not.toHaveProperty('parent')
  })

  test('knows no start or header behind its beginning', () => {
    const parent = say(Session.create(), 2)
    parent.append('turn/start', { turn: 1 })
    parent.append('step/start', { turn: 1, step: 1 })
    const child = parent.fork({ length: 2 })
    say(child, 3)
    expect([child.lastSeqOf('turn/start'), child.lastSeqOf('step/start')]).toEqual([undefined, undefined])
    child.append('turn/start', { turn: 1 })
    expect([child.lastSeqOf('turn/start'), child.lastSeqOf('turn/start', 5)]).toEqual([5, undefined])
    expect(parent.lastSeqOf('turn/start')).toBe(2)
  })

  test('and its parent grow apart', () => {
    const parent = eventful()
    const before = observe(parent)
    const child = parent.fork({ length: 3 })
    child.append('user/message', user('of the child'), replaces(0, 2, [0, 1, 2]))
    expect(observe(parent)).toStrictEqual(before)
    say(parent, 2)
    expect(textsOf(child)).toEqual(['of the child'])
    expect(child.length).toBe(4)
    expect(child.at(3)).not.toBe(parent.at(3))
    expect(child.surfaceAt(3)).toEqual([0, 1, 2])
    expect(child.messagesAt(3)[0]).toBe(parent.messagesAt(3)[0])
  })

  test('can restore and replace what the parent edited', () => {
    const child = eventful().fork()
    child.append('surface/restore', {}, restores(7))
    expect(child.surface.seqs()).toEqual([0, 1, 2])
    child.append('user/message', user(), replaces(0, 0, [0]))
    expect(child.surface.seqs()).toEqual([9, 1, 2])
  })

  test('of a fork, inside and beyond the shared part', () => {
    const parent = eventful()
    const child = say(parent.fork({ length: 4, id: 'child' }), 2)
    for (let length = 0; length <= child.length; length++) {
      const grandchild = say(child.fork({ length }), 1)
      expect(grandchild.slice(0, length)).toStrictEqual(child.slice(0, length))
      expect(grandchild.slice(0, length).every((event, seq) => event === child.at(seq))).toBe(true)
      expect(grandchild.header.parent).toEqual({ id: 'child', length })
      expect(grandchild.surfaceAt(length)).toEqual(child.surfaceAt(length))
    }
    expect(child.length).toBe(6)
  })

  test('of a long line of forks reads every level', () => {
    let session = say(Session.create(), 1)
    for (let i = 1; i < 300; i++) session = say(session.fork(), 1)
    expect(textsOf(session)).toEqual(Array.from({ length: 300 }, (_, i) => `text ${i}`))
    expect(session.events.map(event => event.seq)).toEqual(Array.from({ length: 300 }, (_, i) => i))
  })

  test('of forks that add nothing stays as near to the root as the first', () => {
    let session = say(Session.create(), 2)
    for (let i = 0; i < 20_000; i++) session = session.fork()
    expect(session.at(1)?.seq).toBe(1)
    expect(session.slice()).toHaveLength(2)
  })

  test('is refused what its prefix refuses', () => {
    const child = eventful().fork({ length: 5 }) // 4 2
    expectRefused(child, () => child.append('user/message', user(), replaces(1, 2, [1, 2])), 'SURFACE_RANGE_UNKNOWN')
  })

  test('takes time from the parent’s clock', () => {
    const parent = Session.create({ now: () => 42 })
    const child = parent.fork()
    expect(child.append('turn/start', { turn: 1 }).time).toBe(42)
    expect(child.header.createdAt).toBe(42)
  })

  test.each([Symbol('s'), 1n, Object.create(null)])('of a length that has no text is a RangeError', length => {
    expect(() => eventful().fork({ length: length as number })).toThrow(RangeError)
  })

  test.each([-1, 9, 0.5, Number.NaN, '1', null])('of length %j is a RangeError', length => {
    expect(() => eventful().fork({ length: length as number })).toThrow(RangeError)
  })
})
