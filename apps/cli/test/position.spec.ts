import { Session } from '@palimpsest/session'
import { describe, expect, it } from 'vitest'
import { resolvePosition } from '../src/position.js'
import { text } from './stores.js'

const append = { surfaceOp: 'append' as const }

describe('a place in a log', () => {
  it('of a step is the prefix that its request was built from: steering, context and header belong to it', () => {
    const session = Session.create()
    session.append('turn/start', { turn: 1 }) // 0
    session.append('user/message', { turn: 1, message: text('go') }, append) // 1
    session.append('step/start', { turn: 1, step: 1 }) // 2
    session.append('steering/message', { turn: 1, message: text('left') }, append) // 3
    session.append('context/message', { turn: 1, message: text('it rains'), origin: 'weather' }, append) // 4
    session.append('request/header', { model: 'm', settings: {} }) // 5
    const length = session.length
    session.append('assistant/chunk', { turn: 1, step: 1, chunk: { type: 'text-delta', id: '0', text: 'hm' } }) // 6
    expect(resolvePosition(session, '1.1')).toBe(length)
    expect(session.requestAt(length)!.messages).toHaveLength(3)
  })

  it('of a step with several attempts is that of the one that was answered', () => {
    const session = Session.create()
    session.append('turn/start', { turn: 1 })
    session.append('step/start', { turn: 1, step: 1 })
    session.append('request/header', { model: 'm', settings: {} })
    session.append('user/message', { turn: 1, message: text('long') }, append) // 3
    const error = { code: 'TOO_LONG', message: 'no', retryable: false }
    session.append('assistant/chunk', { turn: 1, step: 1, chunk: { type: 'error', error } }) // 4
    const replace = { op: 'replace' as const, start: 3, end: 3 }
    session.append('user/message', { message: text('short') }, { surfaceOp: replace, sourceEventSeqs: [3] }) // 5
    session.append('assistant/chunk', { turn: 1, step: 1, chunk: { type: 'finish', finishReason: 'stop' } }) // 6
    session.append(
      'assistant/message',
      { turn: 1, step: 1, finishReason: 'stop', message: { role: 'assistant', content: [] } },
      { ...append, sourceEventSeqs: [6] },
    )
    expect(resolvePosition(session, '1.1')).toBe(6)
  })

  it('of a step without an answer ends where the step does, or with the log', () => {
    const session = Session.create()
    session.append('turn/start', { turn: 1 })
    session.append('step/start', { turn: 1, step: 1 })
    session.append('step/end', { turn: 1, step: 1 })
    session.append('step/start', { turn: 1, step: 2 })
    session.append('request/header', { model: 'm', settings: {} })
    expect(resolvePosition(session, '1.1')).toBe(2)
    expect(resolvePosition(session, '1.2')).toBe(5)
    expect(resolvePosition(session, '0')).toBe(0)
    expect(resolvePosition(session, '5')).toBe(5)
  })

  it.each(['', '-1', '1.', '.1', '1.2.3', '1e3', 'last', '6', '1.3', '2.1'])('refuses %j', place => {
    const session = Session.create()
    session.append('turn/start', { turn: 1 })
    session.append('step/start', { turn: 1, step: 1 })
    expect(() => resolvePosition(session, place)).toThrow(/expected/)
  })
})
