import { Session, type SessionEvent } from '@palimpsest/session'
import { describe, expect, test } from 'vitest'
import { refusal } from './observed.js'
import { APPEND, appendLoose, replaces, restores, say, user } from './samples.js'

describe('an intent that is not quite one', () => {
  test.each<[what: string, type: string, intent: object]>([
    [
      'an instance of a class',
      'user/message',
      new (class {
        surfaceOp = 'append'
      })(),
    ],
    ['a restore by another name', 'surface/restore', { surfaceOp: { op: 'undo', node: 3 }, sourceEventSeqs: [3] }],
    [
      'a restore with more to it',
      'surface/restore',
      { surfaceOp: { op: 'restore', node: 3, deep: true }, sourceEventSeqs: [3] },
    ],
    ['a replace that names a node', 'surface/restore', { surfaceOp: { op: 'replace', node: 3 }, sourceEventSeqs: [3] }],
    [
      'a restore of a range',
      'surface/restore',
      { surfaceOp: { op: 'restore', start: 3, end: 3 }, sourceEventSeqs: [3] },
    ],
    [
      'a replace with more to it',
      'user/message',
      { surfaceOp: { op: 'replace', start: 2, end: 2, deep: true }, sourceEventSeqs: [2] },
    ],
    [
      'a replace by another name',
      'user/message',
      { surfaceOp: { op: 'swap', start: 2, end: 2 }, sourceEventSeqs: [2] },
    ],
  ])('%s is refused', (_, type, intent) => {
    const session = say(Session.create(), 3)
    session.append('user/message', user(), replaces(0, 1, [0, 1]))
    const data = type === 'user/message' ? user() : {}
    expect(refusal(() => appendLoose(session, type, data, intent)).code).toBe('SURFACE_INTENT_NOT_ALLOWED')
    session.append('surface/restore', {}, restores(3))
    expect(session.surface.seqs()).toEqual([0, 1, 2])
  })

  test('a type that is no text is unknown, ignorable or not', () => {
    for (const type of [5, null, undefined, { toString: () => 'turn/start' }]) {
      const session = Session.create()
      expect(refusal(() => appendLoose(session, type, {}, { ignorable: true })).code).toBe('UNKNOWN_EVENT_TYPE')
    }
  })

  test('an event of a class is no plain event', () => {
    class Stored {
      seq = 0
      time = 1
      type = 'turn/start'
      data = { turn: 1 }
    }
    expect(refusal(() => Session.create({ seed: [new Stored() as SessionEvent] })).code).toBe('SEED_INVALID')
  })
})

describe('a refusal says where', () => {
  const session = () => say(Session.create(), 1)
  const seeded = (event: object) => refusal(() => Session.create({ seed: [event as SessionEvent] })).message

  test('in an append', () => {
    const said = (type: string, data: unknown, intent?: unknown) =>
      refusal(() => appendLoose(session(), type, data, ...(intent === undefined ? [] : [intent]))).message
    expect(said('turn/start', { turn: [1, undefined] })).toMatch(/: data\.turn\[1\]: /)
    expect(said('user/message', user(), { surfaceOp: 'prepend' })).toMatch(/: intent\.surfaceOp: expected/)
    expect(said('user/message', user(), { ...APPEND, sourceEventSeqs: [] })).toMatch(/: intent\.sourceEventSeqs: /)
    expect(said('user/message', user(), 'append')).toMatch(/: intent: expected an intent object/)
    expect(said('surface/restore', {}, { surfaceOp: { op: 'restore', node: -1 } })).toMatch(/intent\.surfaceOp\.node: /)
  })

  test('in a seed', () => {
    const event = { seq: 0, time: 1, type: 'turn/start', data: { turn: 1 } }
    expect(seeded({ ...event, data: { turn: Number.NaN } })).toMatch(/: seed\[0\]\.data\.turn: /)
    expect(seeded({ ...event, time: 'now' })).toMatch(/: seed\[0\]\.time: /)
    expect(seeded(5 as never)).toMatch(/: seed\[0\]: expected an event object/)
    expect(seeded({ ...event, type: 'x' })).toMatch(/: seed\[0\]: expected a type/)
  })

  test('with the error that stood behind it', () => {
    const thrown = new Error('not to be read')
    const event = {
      seq: 0,
      time: 1,
      type: 'turn/start',
      get data(): never {
        throw thrown
      },
    }
    const unreadable = refusal(() => Session.create({ seed: [event as unknown as SessionEvent] }))
    expect(unreadable.cause).toBe(thrown)
    expect(unreadable.message).toMatch(/: seed\[0\]: expected members that can be read/)
    const shape = refusal(() => Session.create({ seed: [{ seq: 1 } as SessionEvent] }))
    expect(shape.cause).toMatchObject({ code: 'SEED_INVALID' })
  })
})
