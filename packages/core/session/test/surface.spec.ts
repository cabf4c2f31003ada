import { foldSurface, isSurfaceType, Session, type SurfaceMarker } from '@palimpsest/session'
import { describe, expect, test } from 'vitest'
import { expectRefused } from './observed.js'
import { APPEND, appendLoose, assistant, call, replaces, restores, result, say, textsOf, user } from './samples.js'

describe('the surface', () => {
  test('of an empty session is empty', () => {
    const { surface } = Session.create()
    expect([surface.size, surface.first, surface.last, surface.generation]).toEqual([0, undefined, undefined, 0])
    expect(surface.seqs()).toEqual([])
    expect(surface.has(0)).toBe(false)
  })

  test('is one live object that cannot be changed', () => {
    const session = Session.create()
    const { surface } = session
    say(session, 2)
    expect(session.surface).toBe(surface)
    expect(surface.size).toBe(2)
    expect(Object.isFrozen(surface)).toBe(true)
  })

  test('holds what produces messages, and nothing else', () => {
    const session = Session.create()
    session.append('turn/start', { turn: 1 })
    session.append('user/message', user(), APPEND)
    session.append('context/message', { ...user(), origin: 'clock' }, APPEND)
    session.append('step/start', { turn: 1, step: 1 })
    session.append('assistant/chunk', { turn: 1, step: 1, chunk: { type: 'text-delta', id: '0', text: 'x' } })
    session.append('assistant/message', assistant('x', ['c']), { surfaceOp: 'append', sourceEventSeqs: [4] })
    session.append('tool/call', call('c'))
    session.append('tool/result', result('c'), { surfaceOp: 'append', sourceEventSeqs: [6] })
    session.append('steering/message', { turn: 1, ...user() }, APPEND)
    expect(session.surface.seqs()).toEqual([1, 2, 5, 7, 8])
    expect([session.surface.first, session.surface.last]).toEqual([1, 8])
    expect([0, 1, 3, 5, 6, 99, -1, 1.5].map(seq => session.surface.has(seq))).toEqual([
      false,
      true,
      false,
      true,
      false,
      false,
      false,
      false,
    ])
    expect(session.surface.generation).toBe(0)
  })

  test('seqs() is a frozen copy: an old one never grows', () => {
    const session = say(Session.create(), 1)
    const old = session.surface.seqs()
    say(session, 1)
    expect(old).toEqual([0])
    expect(Object.isFrozen(old)).toBe(true)
  })

  test('isSurfaceType names the five types', () => {
    const types = ['user/message', 'context/message', 'steering/message', 'assistant/message', 'tool/result']
    expect(types.every(isSurfaceType)).toBe(true)
    const others = ['turn/start', 'tool/call', 'tool/settled', 'surface/restore', 'constructor', '', 'x']
    expect(others.some(isSurfaceType)).toBe(false)
  })
})

describe('a replacement', () => {
  test('stands in the place of its range and keeps it beneath', () => {
    const session = say(Session.create(), 5)
    session.append('user/message', user('sum'), replaces(1, 3, [1, 2, 3]))
    const { surface } = session
    expect(surface.seqs()).toEqual([0, 5, 4])
    expect(surface.shadowed(5)).toEqual([1, 2, 3])
    expect([0, 1, 2, 3, 4, 5].map(seq => surface.coveredBy(seq))).toEqual([undefined, 5, 5, 5, undefined, undefined])
    expect([0, 1, 4, 6, -1].map(seq => surface.shadowed(seq))).toEqual([[], [], [], [], []])
    expect([surface.size, surface.first, surface.last, surface.generation]).toEqual([3, 0, 4, 1])
    expect(textsOf(session)).toEqual(['text 0', 'sum', 'text 4'])
  })

  test('leaves what it shadows in the log', () => {
    const session = say(Session.create(), 3)
    const before = session.slice(0, 3)
    session.append('user/message', user('sum'), replaces(0, 2, [0, 1, 2]))
    expect(session.slice(0, 3)).toStrictEqual(before)
  })

  test.each([
    ['the first node', 0, 0, [3, 1, 2]],
    ['the last node', 2, 2, [0, 1, 3]],
    ['everything', 0, 2, [3]],
    ['the head', 0, 1, [3, 2]],
    ['the tail', 1, 2, [0, 3]],
  ])('of %s', (_, start, end, expected) => {
    const session = say(Session.create(), 3)
    const range = [0, 1, 2].slice(start, end + 1)
    session.append('user/message', user('sum'), replaces(start, end, range))
    expect(session.surface.seqs()).toEqual(expected)
    expect(session.surface.size).toBe(expected.length)
    say(session, 1)
    expect(session.surface.seqs()).toEqual([...expected, 4])
    expect(session.surface.last).toBe(4)
  })

  test('range is read in surface order: a second compaction starts at the first one’s summary', () => {
    const session = say(Session.create(), 4)
    session.append('user/message', user('first'), replaces(0, 1, [0, 1])) // 4, 2, 3
    session.append('user/message', user('second'), replaces(4, 2, [4, 2])) // 4 > 2 as numbers
    expect(session.surface.seqs()).toEqual([5, 3])
    expect(session.surface.shadowed(5)).toEqual([4, 2])
    expect(session.surface.shadowed(4)).toEqual([0, 1])
    expect([0, 1, 2, 4].map(seq => session.surface.coveredBy(seq))).toEqual([4, 4, 5, 5])
    expect(session.surface.generation).toBe(2)
  })

  test('range that rises as numbers may be reversed on the surface', () => {
    const session = say(Session.create(), 4)
    session.append('user/message', user('first'), replaces(0, 1, [0, 1]))
    const append = () => session.append('user/message', user(), replaces(2, 4, [2, 4]))
    expectRefused(session, append, 'SURFACE_RANGE_REVERSED')
  })

  test('may be of any surface type, over any other', () => {
    const session = Session.create()
    session.append('assistant/message', assistant('a', ['c']), APPEND)
    session.append('tool/result', result('c'), APPEND)
    session.append('context/message', { ...user('pruned'), origin: 'prune' }, replaces(1, 1, [1]))
    session.append('assistant/message', assistant('said'), replaces(0, 2, [0, 2]))
    expect(session.surface.seqs()).toEqual([3])
  })

  test.each([
    ['a seq of no event', 77, 2, '77'],
    ['an end of no event', 1, 77, '77'],
    ['a log-only event', 3, 3, '3'],
    ['a shadowed event', 0, 2, '0'],
    ['the event itself', 5, 5, '5'],
  ])('over %s is refused', (_, start, end, word) => {
    const session = say(Session.create(), 3)
    session.append('turn/start', { turn: 1 })
    session.append('user/message', user('sum'), replaces(0, 0, [0]))
    for (const sources of [[1], [...new Set([start, end])]]) {
      const append = () => session.append('user/message', user(), replaces(start, end, sources))
      expectRefused(session, append, 'SURFACE_RANGE_UNKNOWN', word)
    }
  })

  test.each([-1, -0, 1.5, Number.NaN, 2 ** 53, '0', null, undefined, [0]])('with endpoint %j is refused', bad => {
    const session = say(Session.create(), 2)
    for (const [start, end] of [
      [bad, 1],
      [0, bad],
    ]) {
      for (const sourceEventSeqs of [
        [0, 1],
        [start, end],
      ]) {
        const intent = { surfaceOp: { op: 'replace', start, end }, sourceEventSeqs }
        expectRefused(session, () => appendLoose(session, 'user/message', user(), intent), 'SURFACE_RANGE_UNKNOWN')
      }
    }
  })

  test('refusal of a reversed range names both ends', () => {
    const session = say(Session.create(), 30)
    const append = () => session.append('user/message', user(), replaces(25, 4, [4]))
    expectRefused(session, append, 'SURFACE_RANGE_REVERSED', '25', '4')
  })
})

describe('a tool/result', () => {
  function withResults(): Session {
    const session = Session.create()
    session.append('assistant/message', assistant('a', ['c', 'd']), APPEND)
    session.append('tool/result', result('c'), APPEND)
    session.append('tool/result', result('d'), APPEND)
    return say(session, 1)
  }

  test('may be rewritten by one of the same call, again and again', () => {
    const session = withResults()
    session.append('tool/result', result('c', 'short'), replaces(1, 1, [1]))
    session.append('tool/result', result('c', 'shorter'), replaces(4, 4, [4]))
    expect(session.surface.seqs()).toEqual([0, 5, 2, 3])
    expect(session.surface.coveredBy(1)).toBe(4)
  })

  test.each([
    ['another call', 2, 2, [2]],
    ['two results', 1, 2, [1, 2]],
    ['a question', 3, 3, [3]],
    ['an answer', 0, 0, [0]],
    ['an answer and its result', 0, 1, [0, 1]],
  ])('may not replace %s', (_, start, end, sources) => {
    const session = withResults()
    const append = () => session.append('tool/result', result('c'), replaces(start, end, sources))
    expectRefused(session, append, 'TOOL_RESULT_REWRITE_INVALID', '"c"')
  })

  test('may not replace a stand-in of another type', () => {
    const session = withResults()
    session.append('user/message', user('stand-in'), replaces(1, 1, [1]))
    const append = () => session.append('tool/result', result('c'), replaces(4, 4, [4]))
    expectRefused(session, append, 'TOOL_RESULT_REWRITE_INVALID')
  })

  test('may be replaced again after a restore', () => {
    const session = withResults()
    session.append('tool/result', result('c', 'short'), replaces(1, 1, [1]))
    session.append('surface/restore', {}, restores(4))
    session.append('tool/result', result('c', 'other'), replaces(1, 1, [1]))
    expect(session.surface.seqs()).toEqual([0, 6, 2, 3])
  })
})

describe('surfaceAt', () => {
  test('is the surface after the first events, for every length', () => {
    const session = say(Session.create(), 2)
    session.append('turn/start', { turn: 1 })
    session.append('user/message', user(), replaces(0, 1, [0, 1]))
    say(session, 1)
    session.append('surface/restore', { reason: 'undo' }, restores(3))
    const expected = [[], [0], [0, 1], [0, 1], [3], [3, 4], [0, 1, 4]]
    expect(expected.map((_, length) => session.surfaceAt(length))).toEqual(expected)
  })

  test.each([-1, 3, 0.5, Number.NaN, Number.POSITIVE_INFINITY, '1', undefined])('of %j is a RangeError', length => {
    const session = say(Session.create(), 2)
    expect(() => session.surfaceAt(length as number)).toThrow(RangeError)
  })
})

describe('foldSurface', () => {
  test('gives the visible seqs of a list of markers', () => {
    const session = say(Session.create(), 3)
    session.append('user/message', user(), replaces(0, 1, [0, 1]))
    session.append('surface/restore', {}, restores(3))
    const markers = session.events.filter(event => event.surfaceOp !== undefined) as SurfaceMarker[]
    expect(foldSurface([])).toEqual([])
    expect(foldSurface(markers.slice(0, 4))).toEqual([3, 2])
    expect(foldSurface(markers)).toEqual([0, 1, 2])
  })
})
