import { Session, type SessionEvent } from '@palimpsest/session'
import { describe, expect, test } from 'vitest'
import { expectRefused, refusal } from './observed.js'
import { appendLoose, say } from './samples.js'
import { Store } from './stored.js'

const event = (members: object = {}) =>
  ({ seq: 0, time: 1, type: 'acme/note', data: { text: 'x' }, ...members }) as never

describe('a type that this build does not know', () => {
  test('is refused live, and taken as log-only where it is ignorable', () => {
    const session = say(Session.create(), 1)
    expectRefused(session, () => appendLoose(session, 'acme/note', { text: 'x' }), 'UNKNOWN_EVENT_TYPE', 'acme/note')
    expectRefused(session, () => appendLoose(session, 'acme/note', {}, {}), 'UNKNOWN_EVENT_TYPE')
    const note = appendLoose(session, 'acme/note', { text: 'x' }, { ignorable: true })
    expect(note).toMatchObject({ seq: 1, type: 'acme/note', data: { text: 'x' }, ignorable: true })
    expect(session.surface.seqs()).toEqual([0])
  })

  test.each([
    ['surfaceOp', { ignorable: true, surfaceOp: 'append' }],
    ['a restore', { ignorable: true, surfaceOp: { op: 'restore', node: 0 }, sourceEventSeqs: [0] }],
    ['sources', { ignorable: true, sourceEventSeqs: [0] }],
  ])('may not carry %s', (_, intent) => {
    const session = say(Session.create(), 1)
    expectRefused(session, () => appendLoose(session, 'acme/note', {}, intent), 'SURFACE_INTENT_NOT_ALLOWED')
  })

  test('is refused in a seed unless ignorable or accepted by name', () => {
    expect(refusal(() => Session.create({ seed: [event()] }))).toMatchObject({
      code: 'UNKNOWN_EVENT_TYPE',
      message: expect.stringContaining('seed[0]'),
    })
    expect(Session.create({ seed: [event({ ignorable: true })] }).at(0)?.ignorable).toBe(true)
    const accepted = Session.create({ seed: [event()], acceptUnknown: ['acme/note'] })
    expect(accepted.at(0)).toStrictEqual(event())
    expect(refusal(() => Session.create({ seed: [event()], acceptUnknown: ['acme/other'] })).code).toBe(
      'UNKNOWN_EVENT_TYPE',
    )
  })

  test('that is accepted is log-only all the same', () => {
    const seed = [event({ surfaceOp: 'append' })]
    expect(refusal(() => Session.create({ seed, acceptUnknown: ['acme/note'] })).code).toBe(
      'SURFACE_INTENT_NOT_ALLOWED',
    )
  })

  test('may hold any JSON, not only objects', () => {
    const session = Session.create()
    for (const data of [null, 'text', [1], 0, false]) {
      expect(appendLoose(session, 'acme/note', data, { ignorable: true }).data).toEqual(data)
    }
  })

  test('that is read later from a store is held to the same', () => {
    const log: SessionEvent[] = [event(), ...say(Session.create({ seed: [event({ ignorable: true })] }), 1).slice(1)]
    const strict = new Store(log).resume()
    const error = refusal(() => strict.at(0))
    expect(error.code).toBe('HISTORY_UNREADABLE')
    expect(error.cause).toMatchObject({ code: 'UNKNOWN_EVENT_TYPE' })
    expect(new Store(log).resume({ acceptUnknown: ['acme/note'] }).at(0)).toStrictEqual(event())
  })
})
