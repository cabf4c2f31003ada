import { Session } from '@palimpsest/session'
import { describe, expect, test } from 'vitest'
import { expectRefused } from './observed.js'
import { APPEND, appendLoose, replaces, say, user } from './samples.js'

describe('sourceEventSeqs', () => {
  test('are optional on a plain append, kept in the given order, and may name any earlier event', () => {
    const session = say(Session.create(), 2)
    session.append('turn/start', { turn: 1 })
    expect(session.append('user/message', user(), APPEND)).not.toHaveProperty('sourceEventSeqs')
    const event = session.append('user/message', user(), { surfaceOp: 'append', sourceEventSeqs: [2, 0, 1] })
    expect(event.sourceEventSeqs).toEqual([2, 0, 1])
  })

  const bad: [name: string, sources: unknown][] = [
    ['empty', []],
    ['doubled', [0, 0]],
    ['doubled at a distance', [0, 1, 0]],
    ['the event itself', [2]],
    ['later', [0, 3]],
    ['negative', [-1]],
    ['-0', [-0]],
    ['fractions', [0.5]],
    ['NaN', [Number.NaN]],
    ['beyond whole numbers', [2 ** 53]],
    ['texts', ['0']],
    ['undefined inside', [undefined]],
    ['holes', new Array(2)],
    ['a number', 0],
    ['null', null],
    ['an object', { 0: 0, length: 1 }],
    ['a Set', new Set([0])],
    ['a typed array', new Uint8Array([0])],
    ['an array with something on it', Object.assign([0], { note: 1 })],
    ['an array with a symbol on it', Object.assign([0], { [Symbol('s')]: 1 })],
  ]
  test.each(bad)('%s: refused on an append and on a replace', (_, sources) => {
    const session = say(Session.create(), 2)
    for (const surfaceOp of ['append', { op: 'replace', start: 0, end: 0 }]) {
      const append = () => appendLoose(session, 'user/message', user(), { surfaceOp, sourceEventSeqs: sources })
      expectRefused(session, append, 'PROVENANCE_INVALID', 'sourceEventSeqs')
    }
  })

  test.each(bad)('%s: refused in a seed, with its index', (_, sources) => {
    const events = [...say(Session.create(), 2).events]
    const event = { seq: 2, time: 1, type: 'user/message', data: user(), surfaceOp: 'append', sourceEventSeqs: sources }
    expect(() => Session.create({ seed: [...events, event as never] })).toThrow(
      expect.objectContaining({ code: 'PROVENANCE_INVALID', message: expect.stringContaining('seed[2]') }),
    )
  })
})

describe('a replacement cites all that it shadows', () => {
  test.each([
    ['no sources', undefined, '1'],
    ['only others', [0], '1'],
    ['all but one in the middle', [1, 3], '2'],
    ['all but the last', [1, 2], '3'],
    ['all but the first', [2, 3], '1'],
    ['as many, but others', [0, 2, 3], '1'],
    ['as many, but another in the middle', [1, 0, 3], '2'],
    ['as many, but another at the end', [1, 2, 4], '3'],
  ])('%s is incomplete', (_, sources, missing) => {
    const session = say(Session.create(), 5)
    const intent = { surfaceOp: { op: 'replace', start: 1, end: 3 }, ...(sources && { sourceEventSeqs: sources }) }
    const append = () => appendLoose(session, 'user/message', user(), intent)
    expectRefused(session, append, 'PROVENANCE_INCOMPLETE', missing)
  })

  test('one node without sources is incomplete too', () => {
    const session = say(Session.create(), 2)
    const append = () =>
      appendLoose(session, 'user/message', user(), { surfaceOp: { op: 'replace', start: 0, end: 0 } })
    expectRefused(session, append, 'PROVENANCE_INCOMPLETE')
  })

  test.each([
    ['in another order', [3, 1, 2]],
    ['and others', [0, 1, 2, 3, 4]],
    ['and others behind', [1, 2, 3, 0]],
  ])('%s is complete', (_, sources) => {
    const session = say(Session.create(), 5)
    const event = session.append('user/message', user(), replaces(1, 3, sources))
    expect(event.sourceEventSeqs).toEqual(sources)
    expect(session.surface.shadowed(5)).toEqual([1, 2, 3])
  })

  test('nodes directly below are enough: a summary stands for what it shadows', () => {
    const session = say(Session.create(), 3)
    session.append('user/message', user(), replaces(0, 1, [0, 1]))
    const incomplete = () => session.append('user/message', user(), replaces(3, 2, [0, 1, 2]))
    expectRefused(session, incomplete, 'PROVENANCE_INCOMPLETE', '3')
    expect(session.append('user/message', user(), replaces(3, 2, [3, 2])).seq).toBe(4)
  })
})
