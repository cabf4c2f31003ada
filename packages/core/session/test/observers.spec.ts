import { Session, type SessionEvent } from '@palimpsest/session'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { refusal } from './observed.js'
import { APPEND, appendLoose, replaces, say, user } from './samples.js'

describe('observers', () => {
  test('hear every event in the order in which they came, with the event and the session', () => {
    const session = Session.create()
    const heard: unknown[] = []
    session.on((event, from) => heard.push(['a', event, from]))
    session.on((event, from) => heard.push(['b', event, from]))
    const event = session.append('turn/start', { turn: 1 })
    expect(heard).toEqual([
      ['a', event, session],
      ['b', event, session],
    ])
    expect((heard[0] as unknown[])[1]).toBe(event)
    expect((heard[1] as unknown[])[1]).toBe(event)
  })

  test('see the log and the surface as they are after the event', () => {
    const session = say(Session.create(), 2)
    const seen: unknown[] = []
    session.on(event => seen.push([session.length, session.at(event.seq) === event, session.surface.seqs()]))
    session.append('user/message', user(), replaces(0, 1, [0, 1]))
    expect(seen).toEqual([[3, true, [2]]])
  })

  test('do not hear a refused append, nor a seed', () => {
    const session = Session.create({ seed: say(Session.create(), 2).events })
    const heard: SessionEvent[] = []
    session.on(event => heard.push(event))
    refusal(() => appendLoose(session, 'user/message', user()))
    expect(heard).toEqual([])
  })

  test('can be taken off, twice without harm, and only the one that was put on', () => {
    const session = Session.create()
    const heard: string[] = []
    const listener = () => heard.push('same')
    const off = session.on(listener)
    session.on(listener)
    say(session, 1)
    expect(heard).toEqual(['same', 'same'])
    off()
    off()
    say(session, 1)
    expect(heard).toEqual(['same', 'same', 'same'])
  })

  test('taken off in mid-dispatch, one that was not told yet is not told', () => {
    const session = Session.create()
    const heard: string[] = []
    session.on(() => {
      heard.push('first')
      offSecond()
    })
    const offSecond = session.on(() => heard.push('second'))
    const offThird = session.on(() => {
      heard.push('third')
      offThird()
    })
    say(session, 2)
    expect(heard).toEqual(['first', 'third', 'first'])
  })

  test('put on in mid-dispatch, one hears the next event, not this one', () => {
    const session = Session.create()
    const heard: string[] = []
    const off = session.on(() => {
      off()
      session.on(event => heard.push(`late ${event.seq}`))
    })
    say(session, 3)
    expect(heard).toEqual(['late 1', 'late 2'])
  })

  test('may read, derive and fork, but not append', () => {
    const errors: unknown[] = []
    const session = Session.create({ onListenerError: error => errors.push(error) })
    let fork: Session | undefined
    session.on(event => {
      expect(session.deriveMessages()).toHaveLength(event.seq + 1)
      fork = session.fork()
      fork.append('turn/start', { turn: 1 })
      session.append('turn/start', { turn: 1 })
    })
    say(session, 1)
    expect(errors).toMatchObject([{ code: 'REENTRANT_APPEND' }])
    expect(session.length).toBe(1)
    expect(fork?.length).toBe(2)
  })

  test('may append to another session', () => {
    const copy = Session.create()
    const session = Session.create()
    session.on(event => appendLoose(copy, event.type, event.data, APPEND))
    say(session, 3)
    expect(copy.deriveMessages()).toEqual(session.deriveMessages())
  })

  test('appending goes on after a dispatch', async () => {
    const session = Session.create()
    const appended = new Promise<number>(resolve => {
      const off = session.on(() => {
        off()
        queueMicrotask(() => resolve(session.append('turn/start', { turn: 1 }).seq))
      })
    })
    say(session, 1)
    expect(await appended).toBe(1)
  })

  test('one that throws stops neither the others nor the append', () => {
    const told: unknown[] = []
    const session = Session.create({ onListenerError: (error, event) => told.push([error, event]) })
    const heard: string[] = []
    session.on(() => heard.push('before'))
    session.on(() => {
      throw 'thrown as it is'
    })
    session.on(() => heard.push('after'))
    const event = session.append('turn/start', { turn: 1 })
    expect(heard).toEqual(['before', 'after'])
    expect(told).toEqual([['thrown as it is', event]])
    expect(session.at(0)).toBe(event)
  })

  test('a fork and its parent have listeners of their own', () => {
    const parent = say(Session.create(), 1)
    const heard: string[] = []
    parent.on(() => heard.push('parent'))
    const child = parent.fork()
    child.on(() => heard.push('child'))
    say(child, 1)
    expect(heard).toEqual(['child'])
    say(parent, 1)
    expect(heard).toEqual(['child', 'parent'])
  })
})

describe('an error of an observer is never silent', () => {
  const uncaught: unknown[] = []
  const listener = (error: unknown) => uncaught.push(error)
  let others: NodeJS.UncaughtExceptionListener[] = []
  beforeEach(() => {
    others = process.listeners('uncaughtException')
    process.removeAllListeners('uncaughtException')
    process.on('uncaughtException', listener)
    uncaught.length = 0
  })
  afterEach(() => {
    process.removeAllListeners('uncaughtException')
    for (const other of others) process.on('uncaughtException', other)
  })
  const settle = () => new Promise(resolve => setImmediate(resolve))

  test('by default it is rethrown asynchronously', async () => {
    const session = Session.create()
    const error = new Error('mine')
    session.on(() => {
      throw error
    })
    say(session, 1)
    expect(uncaught).toEqual([])
    await settle()
    expect(uncaught).toEqual([error])
  })

  test('an onListenerError that fails is rethrown asynchronously, and the others are told', async () => {
    const failure = new Error('of the handler')
    const session = Session.create({
      onListenerError: () => {
        throw failure
      },
    })
    let heard = 0
    session.on(() => {
      throw new Error('first')
    })
    session.on(() => heard++)
    say(session, 1)
    expect(heard).toBe(1)
    await settle()
    expect(uncaught).toEqual([failure])
  })
})
