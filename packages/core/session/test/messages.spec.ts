import { type ModelRequest, Session } from '@palimpsest/session'
import { describe, expect, test } from 'vitest'
import { isDeeplyFrozen } from './observed.js'
import { APPEND, appendLoose, replaces, requestHeader, restores, say, textsOf, tickingClock, user } from './samples.js'

describe('deriveMessages', () => {
  test('gives the messages of the surface, in its order', () => {
    const session = say(Session.create(), 3)
    session.append('user/message', user('sum'), replaces(0, 1, [0, 1]))
    expect(session.deriveMessages()).toEqual([user('sum').message, user('text 2').message])
  })

  test('of an empty session is an empty frozen array', () => {
    const session = Session.create()
    expect(session.deriveMessages()).toEqual([])
    expect(Object.isFrozen(session.deriveMessages())).toBe(true)
    expect(session.deriveMessages()).toBe(session.deriveMessages())
  })

  test('is the same array while nothing changed, log-only events or refused appends notwithstanding', () => {
    const session = say(Session.create(), 2)
    const messages = session.deriveMessages()
    session.append('turn/start', { turn: 1 })
    expect(() => appendLoose(session, 'user/message', {}, APPEND)).toThrow()
    expect(session.deriveMessages()).toBe(messages)
    say(session, 1)
    expect(session.deriveMessages()).not.toBe(messages)
  })

  test('holds one message object per event for ever', () => {
    const session = say(Session.create(), 3)
    const [first, second, third] = session.deriveMessages()
    session.append('user/message', user('sum'), replaces(1, 1, [1]))
    expect(session.deriveMessages()[0]).toBe(first)
    expect(session.deriveMessages()[2]).toBe(third)
    session.append('surface/restore', {}, restores(3))
    expect(session.deriveMessages()[1]).toBe(second)
    expect(session.messagesAt(2)[1]).toBe(second)
    expect(session.fork().deriveMessages()[1]).toBe(second)
  })

  test('old arrays never change', () => {
    const session = say(Session.create(), 3)
    const old = session.deriveMessages()
    const copy = [...old]
    session.append('user/message', user('sum'), replaces(0, 2, [0, 1, 2]))
    say(session, 2)
    session.deriveMessages()
    session.append('surface/restore', {}, restores(3))
    session.deriveMessages()
    expect(old).toStrictEqual(copy)
  })

  test('is deeply frozen: no way leads back to stored history', () => {
    const session = say(Session.create(), 1)
    const before = JSON.stringify(session.events)
    const messages = session.deriveMessages()
    expect(isDeeplyFrozen(messages)).toBe(true)
    expect(() => messages.push(user().message)).toThrow(TypeError)
    expect(() => messages[0]!.content.pop()).toThrow(TypeError)
    expect(() => Object.assign(messages[0]!.content[0]!, { text: 'x' })).toThrow(TypeError)
    expect(JSON.stringify(session.events)).toBe(before)
    expect([...messages, user('more').message]).toHaveLength(2)
  })

  test('keeps up whichever edit comes between two looks', () => {
    // Edits before, at and behind the place up to which the messages were derived.
    const session = say(Session.create(), 6)
    const expectFresh = () => {
      const fresh = session.surface.seqs().map(seq => (session.at(seq)!.data as { message: object }).message)
      expect(session.deriveMessages()).toStrictEqual(fresh)
    }
    expectFresh()
    session.append('user/message', user('last'), replaces(5, 5, [5])) // at the end: 0 1 2 3 4 6
    say(session, 2) // 7 8
    session.append('user/message', user('behind'), replaces(7, 8, [7, 8])) // 9
    expectFresh()
    session.append('user/message', user('front'), replaces(0, 1, [0, 1])) // 10 2 3 4 6 9
    session.append('user/message', user('one'), replaces(3, 3, [3])) // 10 2 11 4 6 9
    expectFresh()
    session.append('surface/restore', {}, restores(9)) // 10 2 11 4 6 7 8
    session.append('surface/restore', {}, restores(11)) // 10 2 3 4 6 7 8
    session.append('surface/restore', {}, restores(10)) // 0 1 2 3 4 6 7 8
    session.append('surface/restore', {}, restores(6)) // 0 1 2 3 4 5 7 8
    session.append('user/message', user('one'), replaces(8, 8, [8]))
    expectFresh()
    session.append('user/message', user('all'), replaces(0, 16, [0, 1, 2, 3, 4, 5, 7, 16]))
    expectFresh()
    session.append('surface/restore', {}, restores(17))
    expectFresh()
    expect(textsOf(session)).toHaveLength(8)
  })
})

describe('messagesAt and requestAt', () => {
  function eventful(): Session {
    const session = say(Session.create({ now: tickingClock() }), 2)
    session.append('request/header', requestHeader('first'))
    say(session, 1)
    session.append('user/message', user('sum'), replaces(0, 1, [0, 1]))
    session.append('request/header', requestHeader('second'))
    session.append('surface/restore', {}, restores(4))
    session.append('turn/start', { turn: 1 })
    return session
  }

  test('of every prefix are what a session of that prefix derives', () => {
    const session = eventful()
    for (let length = 0; length <= session.length; length++) {
      const prefix = Session.create({ seed: session.slice(0, length) })
      expect(session.messagesAt(length)).toStrictEqual(prefix.deriveMessages())
      expect(session.requestAt(length)).toStrictEqual(prefix.requestAt(length))
      expect(JSON.stringify(session.requestAt(length))).toBe(JSON.stringify(prefix.requestAt(length)))
    }
    expect(session.messagesAt(session.length)).toBe(session.deriveMessages())
  })

  test('of every prefix were what the live session derived then', () => {
    const whole = eventful()
    const live = Session.create()
    const seen = [[live.deriveMessages(), live.requestAt(0)]]
    for (const { type, data, surfaceOp, sourceEventSeqs } of whole.events) {
      const intent = { ...(surfaceOp && { surfaceOp }), ...(sourceEventSeqs && { sourceEventSeqs }) }
      appendLoose(live, type, data, ...(surfaceOp ? [intent] : []))
      seen.push([live.deriveMessages(), live.requestAt(live.length)])
    }
    for (const [length, [messages, request]] of seen.entries()) {
      expect(live.messagesAt(length)).toStrictEqual(messages)
      expect(live.requestAt(length)).toStrictEqual(request)
    }
  })

  test('a request is undefined before the first header', () => {
    const session = eventful()
    expect([0, 1, 2].map(length => session.requestAt(length))).toEqual([undefined, undefined, undefined])
    expect(session.requestAt(3)?.model).toBe('first')
    expect(session.requestAt(5)?.model).toBe('first')
    expect(session.requestAt(6)?.model).toBe('second')
  })

  test('a request holds the header’s fields and the messages, and nothing else', () => {
    const session = Session.create()
    const rules = { target: 'openai-chat', version: '1' }
    session.append('request/header', { ...requestHeader(), rules, extra: 1 } as never)
    say(session, 1)
    const request = session.requestAt(session.length) as ModelRequest
    expect(request).toStrictEqual({ ...requestHeader(), rules, messages: session.deriveMessages() })
    expect(request.messages).toBe(session.deriveMessages())
    session.append('request/header', { model: 'bare', settings: {} })
    expect(Object.keys(session.requestAt(session.length)!).sort()).toEqual(['messages', 'model', 'settings'])
  })

  test('a request is deeply frozen', () => {
    const session = eventful()
    for (let length = 3; length <= session.length; length++)
      expect(isDeeplyFrozen(session.requestAt(length))).toBe(true)
  })

  test.each([-1, 9, 1.5, Number.NaN, Number.NEGATIVE_INFINITY, '2', undefined])('of length %j are RangeErrors', bad => {
    const session = eventful()
    expect(() => session.messagesAt(bad as number)).toThrow(RangeError)
    expect(() => session.requestAt(bad as number)).toThrow(RangeError)
  })

  test('reading old prefixes disturbs nothing', () => {
    const session = eventful()
    const now = session.deriveMessages()
    for (let length = 0; length < session.length; length++) session.requestAt(length)
    expect(session.deriveMessages()).toBe(now)
    expect(session.surface.seqs()).toEqual([0, 1, 3])
  })
})
