import { Session } from '@palimpsest/session'
import { describe, expect, test } from 'vitest'
import { expectRefused } from './observed.js'
import { APPEND, appendLoose, replaces, restores, say, textsOf, user } from './samples.js'

/** Surface 5, 4 over 0 [4's sum over 1, 2], 3: two levels beneath 5. */
function nested(): Session {
  const session = say(Session.create(), 4)
  session.append('user/message', user('inner'), replaces(1, 2, [1, 2])) // 0 4 3
  session.append('user/message', user('outer'), replaces(0, 4, [0, 4])) // 5 3
  return session
}

describe('a restore', () => {
  test('takes the replacement off and puts back what it shadowed, in the old order', () => {
    const session = say(Session.create(), 4)
    session.append('user/message', user('sum'), replaces(1, 2, [1, 2]))
    const event = session.append('surface/restore', { reason: 'undo' }, restores(4))
    expect(event).toMatchObject({ seq: 5, surfaceOp: { op: 'restore', node: 4 }, sourceEventSeqs: [4] })
    const { surface } = session
    expect(surface.seqs()).toEqual([0, 1, 2, 3])
    expect([surface.size, surface.first, surface.last, surface.generation]).toEqual([4, 0, 3, 2])
    expect([1, 2, 4, 5].map(seq => surface.coveredBy(seq))).toEqual([undefined, undefined, undefined, undefined])
    expect([4, 5].map(seq => surface.shadowed(seq))).toEqual([[], []])
    expect([4, 5].map(seq => surface.has(seq))).toEqual([false, false])
    expect(textsOf(session)).toEqual(['text 0', 'text 1', 'text 2', 'text 3'])
    expect(session.length).toBe(6)
  })

  test.each([
    ['at the head', 0, 1],
    ['at the tail', 1, 2],
    ['of everything', 0, 2],
    ['of one', 1, 1],
  ])('%s mends both ends', (_, start, end) => {
    const session = say(Session.create(), 3)
    session.append('user/message', user(), replaces(start, end, [0, 1, 2].slice(start, end + 1)))
    session.append('surface/restore', {}, restores(3))
    expect(session.surface.seqs()).toEqual([0, 1, 2])
    expect([session.surface.first, session.surface.last, session.surface.size]).toEqual([0, 2, 3])
    say(session, 1)
    expect(session.surface.seqs()).toEqual([0, 1, 2, 5])
  })

  test('leaves later turns where they are', () => {
    const session = say(Session.create(), 2)
    session.append('user/message', user('sum'), replaces(0, 1, [0, 1]))
    say(session, 2)
    session.append('surface/restore', {}, restores(2))
    expect(session.surface.seqs()).toEqual([0, 1, 3, 4])
  })

  test('goes level by level', () => {
    const session = nested()
    expectRefused(
      session,
      () => session.append('surface/restore', {}, restores(4)),
      'SURFACE_RESTORE_INVALID',
      'shadowed',
    )
    session.append('surface/restore', {}, restores(5))
    expect(session.surface.seqs()).toEqual([0, 4, 3])
    expect(session.surface.shadowed(4)).toEqual([1, 2])
    expect(session.surface.coveredBy(4)).toBeUndefined()
    session.append('surface/restore', {}, restores(4))
    expect(session.surface.seqs()).toEqual([0, 1, 2, 3])
    expect(session.surface.generation).toBe(4)
  })

  test('frees its nodes to be replaced again, in other ranges', () => {
    const session = nested()
    session.append('surface/restore', {}, restores(5)) // 0 4 3
    session.append('user/message', user('again'), replaces(4, 3, [4, 3])) // 0 7
    expect(session.surface.shadowed(7)).toEqual([4, 3])
    session.append('surface/restore', {}, restores(7))
    session.append('surface/restore', {}, restores(4)) // 0 1 2 3
    session.append('user/message', user('once more'), replaces(2, 3, [2, 3]))
    expect(session.surface.seqs()).toEqual([0, 1, 10])
  })

  test('of a node between others that were edited meanwhile', () => {
    const session = say(Session.create(), 6)
    session.append('user/message', user('a'), replaces(2, 3, [2, 3])) // 0 1 6 4 5
    session.append('user/message', user('b'), replaces(0, 1, [0, 1])) // 7 6 4 5
    session.append('user/message', user('c'), replaces(4, 5, [4, 5])) // 7 6 8
    session.append('surface/restore', {}, restores(6))
    expect(session.surface.seqs()).toEqual([7, 2, 3, 8])
  })

  test.each([
    ['a node that replaced nothing', 3],
    ['a log-only event', 7],
    ['a shadowed node', 1],
    ['a shadowed replacement', 4],
    ['a node that was taken off already', 6],
    ['no event', 99],
    ['itself', 9],
  ])('of %s is refused', (_, node) => {
    const session = nested() // 5 3
    session.append('user/message', user(), replaces(3, 3, [3])) // 5 6
    session.append('turn/start', { turn: 1 })
    session.append('surface/restore', {}, restores(6)) // 5 3
    for (const source of [0, node]) {
      const append = () =>
        appendLoose(session, 'surface/restore', {}, { surfaceOp: { op: 'restore', node }, sourceEventSeqs: [source] })
      expectRefused(session, append, 'SURFACE_RESTORE_INVALID', String(node))
    }
  })

  test.each([-1, 0.5, Number.NaN, '5', null, undefined])('of %j, which is no seq, is refused', node => {
    const session = nested()
    for (const source of [5, node]) {
      const intent = { surfaceOp: { op: 'restore', node }, sourceEventSeqs: [source] }
      expectRefused(session, () => appendLoose(session, 'surface/restore', {}, intent), 'SURFACE_RESTORE_INVALID')
    }
  })

  test.each([
    ['missing', undefined, 'PROVENANCE_INCOMPLETE'],
    ['of another node', [3], 'PROVENANCE_INCOMPLETE'],
    ['more than the node', [5, 3], 'PROVENANCE_INVALID'],
    ['empty', [], 'PROVENANCE_INVALID'],
    ['doubled', [5, 5], 'PROVENANCE_INVALID'],
    ['later', [6], 'PROVENANCE_INVALID'],
  ])('with sources that are %s is refused', (_, sources, code) => {
    const session = nested()
    const intent = { surfaceOp: { op: 'restore', node: 5 }, ...(sources && { sourceEventSeqs: sources }) }
    expectRefused(session, () => appendLoose(session, 'surface/restore', {}, intent), code)
  })

  test('produces no message and says why, if somebody did', () => {
    const session = nested()
    const event = session.append('surface/restore', { reason: 'needed' }, restores(5))
    expect(event.data).toEqual({ reason: 'needed' })
    expect(session.deriveMessages()).toHaveLength(3)
  })

  test('a restored log seeds a session with the same surface', () => {
    const session = nested()
    session.append('surface/restore', {}, restores(5))
    session.append('user/message', user('tail'), APPEND)
    const again = Session.create({ seed: session.events })
    expect(again.surface.seqs()).toEqual(session.surface.seqs())
    expect(again.surface.generation).toBe(session.surface.generation)
  })
})
