import { Session, type SessionEvent } from '@palimpsest/session'
import { describe, expect, test } from 'vitest'
import { expectRefused, isDeeplyFrozen, observe, refusal } from './observed.js'
import {
  APPEND,
  assistant,
  call,
  replaces,
  requestHeader,
  reread,
  restores,
  result,
  say,
  textsOf,
  tickingClock,
  user,
} from './samples.js'
import { landmarksOf, Store } from './stored.js'

/** 0 header · 1 turn · 2–4 user · 5 step · 6 answer · 7 call · 8 result · 9 step end · 10 sum over 2…3 · 11 short result · 12 turn end · 13 user */
function log(): readonly SessionEvent[] {
  const session = Session.create({ now: tickingClock() })
  session.append('request/header', requestHeader())
  session.append('turn/start', { turn: 1 })
  say(session, 3)
  session.append('step/start', { turn: 1, step: 1 })
  session.append('assistant/message', assistant('I look.', ['c']), APPEND)
  session.append('tool/call', call('c'))
  session.append('tool/result', result('c'), { surfaceOp: 'append', sourceEventSeqs: [7] })
  session.append('step/end', { turn: 1, step: 1 })
  session.append('user/message', user('sum'), replaces(2, 3, [2, 3]))
  session.append('tool/result', result('c', 'short'), replaces(8, 8, [8]))
  session.append('turn/end', { turn: 1, reason: { kind: 'completed' } })
  session.append('user/message', user('tail'), APPEND)
  return session.events
}
const VISIBLE = [10, 4, 6, 11, 13]

describe('a resumed session', () => {
  test('opens at the cost of the landmarks: nothing is loaded to work on', () => {
    const store = new Store(log())
    const session = store.resume()
    expect(session.length).toBe(14)
    expect(session.surface.seqs()).toEqual(VISIBLE)
    expect(session.deriveMessages()).toHaveLength(5)
    expect(session.requestAt(14)?.model).toBe('m-1')
    expect(session.surfaceAt(9)).toEqual([2, 3, 4, 6, 8])
    expect(session.lastSeqOf('turn/start')).toBe(1)
    expect(session.lastSeqOf('step/start', 5)).toBeUndefined()
    expect(session.at(99)).toBeUndefined()
    expect(session.at(-1)).toBeUndefined()
    session.append('user/message', user('more'), APPEND)
    session.append('user/message', user('sum 2'), replaces(10, 4, [10, 4]))
    session.append('tool/result', result('c', 'shorter'), replaces(11, 11, [11]))
    expect(store.asked).toEqual([])
  })

  test('gives the same object for a seq every time, and asks once', () => {
    const store = new Store(log())
    const session = store.resume()
    const event = session.at(7)
    expect(event).toStrictEqual(log()[7])
    expect(session.at(7)).toBe(event)
    expect(session.slice(7, 8)[0]).toBe(event)
    expect(store.asked).toEqual([[7, 8]])
    expect(isDeeplyFrozen(event)).toBe(true)
    expect(session.events[7]).toBe(event)
  })

  test('gives for a visible event the object whose message it derives', () => {
    const session = new Store(log()).resume()
    const { message } = session.at(10)!.data as { message: object }
    expect(session.deriveMessages()[0]).toBe(message)
    expect(session.messagesAt(14)[0]).toBe(message)
  })

  test('asks only for what is not known', () => {
    const store = new Store(log())
    const session = store.resume()
    session.at(2)
    session.slice(1, 9)
    expect(store.asked).toEqual([
      [2, 3],
      [1, 2],
      [3, 4],
      [5, 6],
      [7, 9],
    ])
    session.slice(1, 9)
    expect(store.asked).toHaveLength(5)
    session.slice(14)
    session.slice(13)
    expect(store.asked).toHaveLength(5)
  })

  test('shows what a session of the whole log shows, at every length, before and after appends', () => {
    const whole = Session.create({ header: { id: 'stored', createdAt: 1 }, seed: log(), now: () => 7 })
    const resumed = new Store(log()).resume({ now: () => 7 })
    const same = () => {
      for (let length = 0; length <= whole.length; length++) {
        expect(resumed.surfaceAt(length)).toEqual(whole.surfaceAt(length))
        expect(JSON.stringify(resumed.messagesAt(length))).toBe(JSON.stringify(whole.messagesAt(length)))
        expect(JSON.stringify(resumed.requestAt(length))).toBe(JSON.stringify(whole.requestAt(length)))
      }
      expect(observe(resumed)).toStrictEqual(observe(whole))
    }
    same()
    for (const session of [whole, resumed]) {
      session.append('surface/restore', {}, restores(10))
      session.append('user/message', user('new sum'), replaces(3, 4, [3, 4]))
      session.append('request/header', requestHeader('m-2'))
    }
    same()
  })

  test('resumes at every length of its log', () => {
    for (let length = 0; length <= 14; length++) {
      const prefix = log().slice(0, length)
      const resumed = new Store(prefix).resume()
      const { header: _, ...seeded } = observe(Session.create({ seed: prefix }))
      const { header: __, ...shown } = observe(resumed)
      expect(shown).toStrictEqual(seeded)
    }
  })

  test('needs no load for the open turn', () => {
    const store = new Store(log().slice(0, 9))
    const session = store.resume()
    session.slice(1)
    expect(store.asked).toEqual([])
  })

  test('restores and replaces over events that were never loaded', () => {
    const store = new Store(log())
    const session = store.resume()
    session.append('surface/restore', {}, restores(10))
    expect(store.asked).toEqual([])
    expect(textsOf(session).slice(0, 3)).toEqual(['text 2', 'text 3', 'text 4'])
    expect(store.asked.flat().every(seq => seq >= 2 && seq <= 4)).toBe(true)
    session.append('surface/restore', {}, restores(11))
    session.append('tool/result', result('c', 'another'), replaces(8, 8, [8]))
    expect(session.surface.seqs()).toEqual([2, 3, 4, 6, 16, 13])
  })

  test('can be forked, and the fork reads through the same store', () => {
    const store = new Store(log())
    const parent = store.resume()
    const child = say(parent.fork({ length: 9 }), 1)
    expect(store.asked).toEqual([])
    expect(child.at(7)).toBe(parent.at(7))
    expect(child.deriveMessages()).toHaveLength(6)
    expect(child.deriveMessages()[0]).toBe((parent.at(2)!.data as { message: object }).message)
  })

  test('keeps nothing of the caller’s: what is changed later changes nothing', () => {
    const given = landmarksOf(log())
    const session = new Store(log()).resume({ landmarks: given })
    const before = JSON.stringify(observe(session))
    for (const marker of given.markers) Object.assign(marker, { seq: 0, surfaceOp: 'append' })
    for (const event of [...given.surface, ...given.headers]) Object.assign(event, { data: {} })
    for (const list of Object.values(given)) (list as unknown[]).length = 0
    expect(JSON.stringify(observe(session))).toBe(before)
  })

  test('is told apart by nothing from a live one when it is appended to', () => {
    const session = new Store(log()).resume({ now: () => 5 })
    const heard: SessionEvent[] = []
    session.on(event => heard.push(event))
    const event = session.append('user/message', user('x'), APPEND)
    expect(event).toMatchObject({ seq: 14, time: 5 })
    expect(heard).toEqual([event])
    expectRefused(session, () => session.append('user/message', user(), replaces(2, 2, [2])), 'SURFACE_RANGE_UNKNOWN')
  })
})

describe('a load that fails', () => {
  const broken: [name: string, failure: unknown][] = [
    ['throws', new Error('disk on fire')],
    ['gives too few', []],
    ['gives nothing', null],
    ['gives a promise', Promise.resolve([])],
    ['gives another seq', [{ seq: 3, time: 1, type: 'turn/start', data: {} }]],
    [
      'gives lossy data',
      [{ seq: 2, time: 1, type: 'user/message', data: { ...user(), x: Number.NaN }, surfaceOp: 'append' }],
    ],
    ['gives another type than its landmark', [{ seq: 2, time: 1, type: 'turn/start', data: {} }]],
    ['gives another op than its landmark', [{ ...reread(log().slice(2, 3))[0], ...replaces(1, 1, [1]) }]],
    ['gives another surface type than its landmark', [{ ...reread(log().slice(2, 3))[0], type: 'context/message' }]],
    ['gives no event', [undefined]],
  ]
  test.each(broken)('%s: is HISTORY_UNREADABLE, changes nothing, and can be tried again', (_, failure) => {
    const store = new Store(log())
    const session = store.resume()
    const messages = session.deriveMessages()
    store.failing = () => failure
    for (const read of [() => session.at(2), () => session.slice(2, 3), () => session.messagesAt(3)]) {
      const error = refusal(read)
      expect(error.code).toBe('HISTORY_UNREADABLE')
      expect(error.message).toContain('2')
      expect(error.cause).toBeInstanceOf(Error)
      if (failure instanceof Error) expect(error.cause).toBe(failure)
    }
    expect(session.deriveMessages()).toBe(messages)
    store.failing = undefined
    expect(session.at(2)).toStrictEqual(log()[2])
    expect(observe(session).events).toStrictEqual(log())
  })

  test('in a plan refuses the append and changes nothing', () => {
    const store = new Store(log())
    const session = store.resume()
    session.append('surface/restore', {}, restores(11))
    store.failing = () => new Error('gone')
    const rewrite = () => session.append('tool/result', result('c', 'x'), replaces(8, 8, [8]))
    const seqs = session.surface.seqs()
    expect(refusal(rewrite).code).toBe('HISTORY_UNREADABLE')
    expect([session.length, session.surface.seqs()]).toEqual([15, seqs])
    store.failing = undefined
    expect(rewrite().seq).toBe(15)
  })

  test('half-way through the messages leaves nothing half-derived', () => {
    const store = new Store(log())
    const session = store.resume()
    session.deriveMessages() // 10 4 6 11 13
    session.append('surface/restore', {}, restores(10)) // 2 3 4 6 11 13
    store.failing = from => (from === 3 ? new Error('gone') : undefined)
    expect(refusal(() => session.deriveMessages()).code).toBe('HISTORY_UNREADABLE')
    session.append('user/message', user('four'), replaces(4, 4, [4]))
    session.append('user/message', user('two'), replaces(2, 2, [2]))
    expect(refusal(() => session.deriveMessages()).code).toBe('HISTORY_UNREADABLE')
    session.append('user/message', user('rest'), replaces(11, 13, [11, 13]))
    store.failing = undefined
    expect(textsOf(session)).toEqual(['two', 'text 3', 'four', 'I look.', 'rest'])
  })

  test('leaves a derived list right, wherever it failed and whatever was replaced meanwhile', () => {
    const live = say(Session.create(), 7)
    live.append('user/message', user('sum'), replaces(1, 4, [1, 2, 3, 4])) // 0 7 5 6
    for (const missing of [1, 2, 3, 4]) {
      for (const edited of [0, 1, 2, 3, 4, 5, 6]) {
        const store = new Store(live.events)
        const session = store.resume()
        session.deriveMessages()
        session.append('surface/restore', {}, restores(7)) // 0 1 2 3 4 5 6
        store.failing = from => (from === missing ? new Error('gone') : undefined)
        expect(refusal(() => session.deriveMessages()).code).toBe('HISTORY_UNREADABLE')
        session.append('user/message', user('edit'), replaces(edited, edited, [edited]))
        store.failing = undefined
        const expected = Array.from({ length: 7 }, (_, i) => (i === edited ? 'edit' : `text ${i}`))
        expect(textsOf(session)).toEqual(expected)
      }
    }
  })

  test('in requestAt leaves the session usable', () => {
    const store = new Store(log())
    const session = store.resume()
    store.failing = () => new Error('gone')
    expect(refusal(() => session.requestAt(5)).code).toBe('HISTORY_UNREADABLE')
    expect(refusal(() => session.events).code).toBe('HISTORY_UNREADABLE')
    expect(say(session, 1).length).toBe(15)
    store.failing = undefined
    expect(session.requestAt(5)?.messages).toHaveLength(3)
    expect(session.events).toHaveLength(15)
  })
})

describe('landmarks that lie are refused', () => {
  const good = () => landmarksOf(log())
  /** The markers with another op for an event that is not visible. */
  const withOp = ({ markers }: ReturnType<typeof good>, surfaceOp: unknown) =>
    markers.map(marker => (marker.seq === 8 ? { ...marker, surfaceOp } : marker))
  const lies: [name: string, change: (landmarks: ReturnType<typeof good>) => object][] = [
    ['a visible event is missing', l => ({ surface: l.surface.slice(1) })],
    ['a visible event too many', l => ({ surface: [...l.surface, reread(log())[2]!] })],
    ['visible events in another order', l => ({ surface: [...l.surface].reverse() })],
    ['a marker is missing', l => ({ markers: l.markers.filter(({ seq }) => seq !== 13) })],
    ['markers in another order', l => ({ markers: [...l.markers].reverse() })],
    ['a marker twice', l => ({ markers: [l.markers[0], ...l.markers] })],
    ['a marker beyond the log', l => ({ markers: [...l.markers, { ...l.markers[0], seq: 14 }] })],
    ['turns beyond the log', () => ({ turns: [1, 14] })],
    ['turns that fall', () => ({ turns: [5, 1] })],
    ['a turn twice', () => ({ turns: [1, 1] })],
    ['a marker without an op', l => ({ markers: withOp(l, undefined) })],
    ['a marker with an op of null', l => ({ markers: withOp(l, null) })],
    ['a marker with an op of another kind', l => ({ markers: withOp(l, { op: 'undo', start: 2, end: 2 }) })],
    ['steps that are no seqs', () => ({ steps: [0.5] })],
    ['a header beyond the log', l => ({ headers: [{ ...l.headers[0], seq: 99 }] })],
    ['a header that is another event', l => ({ headers: [{ ...l.headers[0], type: 'turn/start' }] })],
    ['an open turn beyond the log', () => ({ open: [{ seq: 14, time: 1, type: 'turn/start', data: { turn: 2 } }] })],
    [
      'a visible event that is log-only',
      l => ({ surface: [{ seq: 10, time: 1, type: 'turn/start', data: {} }, ...l.surface.slice(1)] }),
    ],
    [
      'a visible event with another op than its marker',
      l => ({ surface: [{ ...l.surface[0], surfaceOp: 'append' }, ...l.surface.slice(1)] }),
    ],
  ]
  test.each(lies)('%s', (_, change) => {
    const landmarks = good()
    const error = refusal(() => new Store(log()).resume({ landmarks: { ...landmarks, ...change(landmarks) } as never }))
    expect(error.code).toBe('SEED_INVALID')
  })

  test.each([
    ['an unknown range', { op: 'replace', start: 99, end: 99 }, 'SURFACE_RANGE_UNKNOWN'],
    ['a reversed range', { op: 'replace', start: 4, end: 2 }, 'SURFACE_RANGE_REVERSED'],
    ['a restore of nothing', { op: 'restore', node: 2 }, 'SURFACE_RESTORE_INVALID'],
  ])('a marker with %s', (_, surfaceOp, code) => {
    const landmarks = good()
    const markers = landmarks.markers.map(marker => (marker.seq === 8 ? { ...marker, surfaceOp } : marker))
    expect(refusal(() => new Store(log()).resume({ landmarks: { ...landmarks, markers } as never })).code).toBe(code)
  })

  test('a visible event of a foreign shape', () => {
    const landmarks = good()
    const surface = [{ ...landmarks.surface[0]!, crc: '00000000' }, ...landmarks.surface.slice(1)]
    expect(refusal(() => new Store(log()).resume({ landmarks: { ...landmarks, surface } as never })).code).toBe(
      'SEED_INVALID',
    )
  })

  test('a header of another version', () => {
    const header = { version: 3, id: 'x', createdAt: 1 }
    expect(refusal(() => new Store(log()).resume({ header }))).toMatchObject({ code: 'HEADER_INVALID' })
  })

  test('turn and step starts that are other events are found out when they are read', () => {
    const session = new Store(log()).resume({ landmarks: { ...good(), turns: [7], steps: [] } })
    expect(refusal(() => session.at(7)).code).toBe('HISTORY_UNREADABLE')
    // One that is not listed says nothing false of another event.
    for (const seq of [1, 5]) expect(session.at(seq)?.seq).toBe(seq)
  })

  test('any of several starts that is another event is found out when it is read', () => {
    const session = new Store(log()).resume({ landmarks: { ...good(), turns: [1, 7, 9], steps: [5] } })
    for (const seq of [7, 9]) expect(refusal(() => session.at(seq)).code).toBe('HISTORY_UNREADABLE')
    for (const seq of [1, 5]) expect(session.at(seq)?.seq).toBe(seq)
    const swapped = new Store(log()).resume({ landmarks: { ...good(), turns: [5], steps: [1] } })
    for (const seq of [1, 5]) expect(refusal(() => swapped.at(seq)).code).toBe('HISTORY_UNREADABLE')
  })

  test('a header that is not listed is found out when it is read', () => {
    const session = new Store(log()).resume({ landmarks: { ...good(), headers: [] } })
    expect(refusal(() => session.at(0)).code).toBe('HISTORY_UNREADABLE')
    expect(session.at(1)?.seq).toBe(1)
  })

  test('a marker that is not listed is found out when its event is read', () => {
    const shadowed = [...log()]
    const markers = good().markers.filter(({ seq }) => seq < 8)
    const surface = markers.map(({ seq }) => reread(shadowed)[seq]!)
    const session = new Store(shadowed).resume({ landmarks: { ...good(), markers, surface } })
    expect(session.at(7)?.seq).toBe(7)
    for (const seq of [8, 10, 11, 13]) expect(refusal(() => session.at(seq)).code).toBe('HISTORY_UNREADABLE')
  })

  test('what becomes of a marker later changes nothing', () => {
    const landmarks = good()
    const session = new Store(log()).resume({ landmarks })
    for (const { surfaceOp } of landmarks.markers) if (surfaceOp !== 'append') Object.assign(surfaceOp, { start: 99 })
    expect(session.surfaceAt(11)).toEqual([10, 4, 6, 8])
    for (const seq of [10, 11]) expect(session.at(seq)?.seq).toBe(seq)
  })

  test('an event is a marker or a start, not both', () => {
    const landmarks = { ...good(), turns: [3], steps: [] }
    expect(refusal(() => new Store(log()).resume({ landmarks })).code).toBe('SEED_INVALID')
  })
})

describe('read-only', () => {
  test('a session resumed read-only refuses every append, and reads', () => {
    for (const readOnly of [true, 'it has a hole']) {
      const session = new Store(log()).resume({ readOnly })
      expectRefused(session, () => say(session, 1), 'SESSION_READ_ONLY', `${readOnly || ''}`.replace('true', ''))
      expect(session.deriveMessages()).toHaveLength(5)
      expect(session.at(7)?.seq).toBe(7)
      expect(say(session.fork(), 1).length).toBe(15)
    }
    expect(say(new Store(log()).resume({ readOnly: false }), 1).length).toBe(15)
  })

  test('makeReadOnly is one way, and the first reason stays', () => {
    const session = say(Session.create(), 1)
    session.makeReadOnly('its store was closed')
    session.makeReadOnly('another reason')
    expectRefused(session, () => say(session, 1), 'SESSION_READ_ONLY', 'its store was closed')
    expectRefused(session, () => session.append('turn/start', {} as never), 'SESSION_READ_ONLY')
    expect(say(session.fork(), 1).length).toBe(2)
  })
})
