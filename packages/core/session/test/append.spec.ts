import { Session } from '@palimpsest/session'
import { describe, expect, test } from 'vitest'
import { expectRefused, observe } from './observed.js'
import {
  APPEND,
  appendLoose,
  assistant,
  call,
  replaces,
  requestHeader,
  restores,
  result,
  say,
  tickingClock,
  user,
} from './samples.js'

/** 0 header · 1, 2 user · 3 assistant · 4 call · 5 result · 6 summary over 1…2 · 7 user */
function worked(): Session {
  const session = Session.create({ id: 's', now: tickingClock() })
  session.append('request/header', requestHeader())
  say(session, 2)
  session.append('assistant/message', assistant('I look.', ['c1']), APPEND)
  session.append('tool/call', call('c1'))
  session.append('tool/result', result('c1'), { surfaceOp: 'append', sourceEventSeqs: [4] })
  session.append('user/message', user('summary'), replaces(1, 2, [1, 2]))
  return say(session, 1)
}

describe('an append', () => {
  test('returns the frozen event that is now in the log', () => {
    const session = Session.create({ now: tickingClock(500) })
    const first = session.append('turn/start', { turn: 1 })
    const second = session.append('user/message', user('x'), { surfaceOp: 'append', sourceEventSeqs: [0] })
    expect(first).toStrictEqual({ seq: 0, time: 501, type: 'turn/start', data: { turn: 1 } })
    expect(second).toStrictEqual({
      seq: 1,
      time: 502,
      type: 'user/message',
      data: user('x'),
      sourceEventSeqs: [0],
      surfaceOp: 'append',
    })
    expect(session.at(0)).toBe(first)
    expect(session.at(1)).toBe(second)
    expect(session.length).toBe(2)
  })

  test('has no member that it does not need', () => {
    const event = Session.create().append('user/message', user(), APPEND)
    expect(Object.keys(event)).toEqual(['seq', 'time', 'type', 'data', 'surfaceOp'])
  })

  test('takes the time from the clock that was given, once for each event', () => {
    let ticks = 0
    const session = Session.create({ header: { createdAt: 1 }, now: () => ++ticks })
    say(session, 3)
    expect(session.events.map(event => event.time)).toEqual([1, 2, 3])
    const before = Date.now()
    const { time } = Session.create().append('turn/start', { turn: 1 })
    expect(time).toBeGreaterThanOrEqual(before)
    expect(time).toBeLessThanOrEqual(Date.now())
  })
})

describe('a refused append changes nothing', () => {
  const refusals: [name: string, type: unknown, data: unknown, intent: unknown[], code: string][] = [
    ['a surface type without intent', 'user/message', user(), [], 'SURFACE_INTENT_REQUIRED'],
    ['a surface type without surfaceOp', 'user/message', user(), [{}], 'SURFACE_INTENT_REQUIRED'],
    ['surfaceOp undefined', 'user/message', user(), [{ surfaceOp: undefined }], 'SURFACE_INTENT_REQUIRED'],
    ['a restore without surfaceOp', 'surface/restore', {}, [{ sourceEventSeqs: [6] }], 'SURFACE_INTENT_REQUIRED'],
    ['a restore without intent', 'surface/restore', {}, [], 'SURFACE_INTENT_REQUIRED'],
    ['an intent that is no object', 'user/message', user(), ['append'], 'SURFACE_INTENT_NOT_ALLOWED'],
    ['an intent that is null', 'user/message', user(), [null], 'SURFACE_INTENT_NOT_ALLOWED'],
    ['an intent that is an array', 'user/message', user(), [['append']], 'SURFACE_INTENT_NOT_ALLOWED'],
    ['surfaceOp on a log-only type', 'turn/start', { turn: 1 }, [APPEND], 'SURFACE_INTENT_NOT_ALLOWED'],
    ['sources on a log-only type', 'turn/start', { turn: 1 }, [{ sourceEventSeqs: [0] }], 'SURFACE_INTENT_NOT_ALLOWED'],
    ['a restore on a surface type', 'user/message', user(), [restores(6)], 'SURFACE_INTENT_NOT_ALLOWED'],
    ['a plain append on a restore', 'surface/restore', {}, [APPEND], 'SURFACE_INTENT_NOT_ALLOWED'],
    ['a replace on a restore', 'surface/restore', {}, [replaces(6, 6, [6])], 'SURFACE_INTENT_NOT_ALLOWED'],
    [
      'ignorable on a restore',
      'surface/restore',
      {},
      [{ ...restores(6), ignorable: true }],
      'SURFACE_INTENT_NOT_ALLOWED',
    ],
    ['a member nobody knows', 'user/message', user(), [{ ...APPEND, x: 1 }], 'SURFACE_INTENT_NOT_ALLOWED'],
    ['a symbol member', 'user/message', user(), [{ ...APPEND, [Symbol('s')]: 1 }], 'SURFACE_INTENT_NOT_ALLOWED'],
    [
      'ignorable on a surface type',
      'user/message',
      user(),
      [{ ...APPEND, ignorable: true }],
      'SURFACE_INTENT_NOT_ALLOWED',
    ],
    ['ignorable: false', 'x/y', {}, [{ ignorable: false }], 'SURFACE_INTENT_NOT_ALLOWED'],
    ['another op', 'user/message', user(), [{ surfaceOp: 'prepend' }], 'SURFACE_INTENT_NOT_ALLOWED'],
    ['surfaceOp null', 'user/message', user(), [{ surfaceOp: null }], 'SURFACE_INTENT_NOT_ALLOWED'],
    ['surfaceOp 1', 'user/message', user(), [{ surfaceOp: 1 }], 'SURFACE_INTENT_NOT_ALLOWED'],
    [
      'an op of another name',
      'user/message',
      user(),
      [{ surfaceOp: { op: 'swap', start: 3, end: 3 } }],
      'SURFACE_INTENT_NOT_ALLOWED',
    ],
    [
      'an op with a member more',
      'user/message',
      user(),
      [{ surfaceOp: { op: 'replace', start: 3, end: 3, x: 1 } }],
      'SURFACE_INTENT_NOT_ALLOWED',
    ],
    [
      'an op without end',
      'user/message',
      user(),
      [{ surfaceOp: { op: 'replace', start: 3 } }],
      'SURFACE_INTENT_NOT_ALLOWED',
    ],
    [
      'an op of a class',
      'user/message',
      user(),
      [
        {
          surfaceOp: new (class {
            op = 'append'
          })(),
        },
      ],
      'SURFACE_INTENT_NOT_ALLOWED',
    ],
    ['an unknown type', 'x/y', {}, [], 'UNKNOWN_EVENT_TYPE'],
    ['a type that is no string', 7, {}, [], 'UNKNOWN_EVENT_TYPE'],
    ['a type from a prototype', 'constructor', {}, [], 'UNKNOWN_EVENT_TYPE'],
    ['a type named __proto__', '__proto__', {}, [], 'UNKNOWN_EVENT_TYPE'],
    ['data that is an array', 'turn/start', [], [], 'EVENT_DATA_INVALID'],
    ['data that is null', 'turn/start', null, [], 'EVENT_DATA_INVALID'],
    ['data that is text', 'turn/start', 'x', [], 'EVENT_DATA_INVALID'],
    ['no message', 'user/message', {}, [APPEND], 'EVENT_DATA_INVALID'],
    ['a message that is an array', 'user/message', { message: [] }, [APPEND], 'EVENT_DATA_INVALID'],
    [
      'a message of another role',
      'user/message',
      { message: { role: 'assistant', content: [] } },
      [APPEND],
      'EVENT_DATA_INVALID',
    ],
    [
      'content that is text',
      'user/message',
      { message: { role: 'user', content: 'hi' } },
      [APPEND],
      'EVENT_DATA_INVALID',
    ],
    ['no content', 'assistant/message', { message: { role: 'assistant' } }, [APPEND], 'EVENT_DATA_INVALID'],
    ['a value that is no JSON', 'user/message', { ...user(), x: 1n }, [APPEND], 'NOT_LOSSLESS_JSON'],
    ['an unknown endpoint', 'user/message', user(), [replaces(99, 99, [3])], 'SURFACE_RANGE_UNKNOWN'],
    ['reversed endpoints', 'user/message', user(), [replaces(5, 3, [3, 5])], 'SURFACE_RANGE_REVERSED'],
    ['incomplete sources', 'user/message', user(), [replaces(3, 5, [3])], 'PROVENANCE_INCOMPLETE'],
    ['sources from the future', 'user/message', user(), [{ ...APPEND, sourceEventSeqs: [8] }], 'PROVENANCE_INVALID'],
    ['a restore of what replaced nothing', 'surface/restore', {}, [restores(3)], 'SURFACE_RESTORE_INVALID'],
    ['a result over a question', 'tool/result', result('c1'), [replaces(7, 7, [7])], 'TOOL_RESULT_REWRITE_INVALID'],
  ]
  test.each(refusals)('%s', (_, type, data, intent, code) => {
    const session = worked()
    expectRefused(session, () => appendLoose(session, type, data, ...intent), code)
    const next = session.append('user/message', user('next'), APPEND)
    expect(next.seq).toBe(8)
  })

  test('a clock that throws, or gives what is no time', () => {
    const now = { value: (): unknown => 1 }
    const session = Session.create({ now: () => now.value() as number })
    say(session, 1)
    const before = observe(session)
    now.value = () => {
      throw new Error('stopped')
    }
    expect(() => say(session, 1)).toThrow('stopped')
    for (const time of [Number.NaN, Number.POSITIVE_INFINITY, -0, '1', undefined, 1n]) {
      now.value = () => time
      expectRefused(session, () => say(session, 1), 'EVENT_DATA_INVALID', 'time')
    }
    expect(observe(session)).toStrictEqual(before)
  })

  test('a clock that appends', () => {
    let reenter = false
    const session: Session = Session.create({
      now: () => (reenter ? session.append('turn/start', { turn: 9 }).seq : 1),
    })
    say(session, 1)
    reenter = true
    expectRefused(session, () => session.append('turn/start', { turn: 1 }), 'REENTRANT_APPEND')
    reenter = false
    say(session, 1)
    expect(session.length).toBe(2)
  })

  test('each surface type is held to the role of the table', () => {
    const roles = {
      'user/message': 'user',
      'context/message': 'user',
      'steering/message': 'user',
      'assistant/message': 'assistant',
      'tool/result': 'tool',
    }
    for (const [type, role] of Object.entries(roles)) {
      for (const given of ['user', 'assistant', 'tool', 'system', undefined]) {
        const session = Session.create()
        const data = { message: given === undefined ? { content: [] } : { role: given, content: [] } }
        const append = () => appendLoose(session, type, data, APPEND)
        if (given === role) expect(append().data).toEqual(data)
        else expectRefused(session, append, 'EVENT_DATA_INVALID', 'data.message.role')
      }
    }
  })

  test('the rest of an event’s shape is not the kernel’s: extra members stay', () => {
    const session = Session.create()
    const event = appendLoose(session, 'turn/start', { anything: ['goes'] })
    expect(event.data).toEqual({ anything: ['goes'] })
  })
})
