import { isLegalRange, legalCuts, planCompaction } from '@palimpsest/history'
import { Session } from '@palimpsest/session'
import { describe, expect, test } from 'vitest'
import { APPEND, assistant, result, round, user } from './samples.js'

const start = () => Session.create({ now: () => 0 })

describe('where a range may begin or end', () => {
  test('anywhere in plain talk', () => {
    const session = start()
    for (const text of ['a', 'b', 'c']) session.append('user/message', user(text), APPEND)
    expect(legalCuts(session)).toEqual([0, 1, 2, 3])
    expect(isLegalRange(session, { start: 1, end: 1 })).toBe(true)
  })

  test('not between a call and its result, whatever stands between them', () => {
    const session = start()
    session.append('user/message', user('go'), APPEND)
    session.append('assistant/message', assistant({ calls: ['a', 'b'] }), APPEND)
    session.append('tool/result', result('a'), APPEND)
    session.append('steering/message', { turn: 1, ...user('faster') }, APPEND)
    session.append('tool/result', result('b'), APPEND)
    session.append('assistant/message', assistant({ text: 'done' }), APPEND)
    expect(legalCuts(session)).toEqual([0, 1, 5, 6])
    expect(isLegalRange(session, { start: 1, end: 4 })).toBe(true)
    expect(isLegalRange(session, { start: 1, end: 3 })).toBe(false)
    expect(isLegalRange(session, { start: 0, end: 1 })).toBe(false)
    expect(isLegalRange(session, { start: 3, end: 3 })).toBe(false)
  })

  test('an id that is used again pairs with its own call', () => {
    const session = start()
    for (let i = 0; i < 2; i++) {
      session.append('assistant/message', assistant({ calls: ['same'] }), APPEND)
      session.append('tool/result', result('same'), APPEND)
    }
    expect(legalCuts(session)).toEqual([0, 2, 4])
  })

  test('not inside a tool loop of signed reasoning, up to its last result', () => {
    const session = start()
    session.append('user/message', user('go'), APPEND)
    session.append('assistant/message', assistant({ signed: true, calls: ['a'] }), APPEND)
    session.append('tool/result', result('a'), APPEND)
    session.append('assistant/message', assistant({ calls: ['b'] }), APPEND)
    session.append('tool/result', result('b'), APPEND)
    session.append('context/message', { ...user('note'), origin: 'test' }, APPEND)
    session.append('assistant/message', assistant({ text: 'done' }), APPEND)
    expect(legalCuts(session)).toEqual([0, 1, 5, 6, 7])
  })

  test('a user message ends a signed loop; unsigned reasoning begins none', () => {
    const session = start()
    session.append('assistant/message', assistant({ signed: true, calls: ['a'] }), APPEND)
    session.append('tool/result', result('a'), APPEND)
    session.append('user/message', user('stop'), APPEND)
    session.append('assistant/message', assistant({ calls: ['b'] }), APPEND)
    session.append('tool/result', result('b'), APPEND)
    session.append('assistant/message', assistant({ signed: true, text: 'no calls' }), APPEND)
    session.append('assistant/message', assistant({ calls: ['c'] }), APPEND)
    session.append('tool/result', result('c'), APPEND)
    expect(legalCuts(session)).toEqual([0, 2, 3, 5, 6, 8])
  })

  test('a call without its result is never inside', () => {
    const session = start()
    session.append('user/message', user('go'), APPEND)
    session.append('assistant/message', assistant({ calls: ['a', 'b'] }), APPEND)
    session.append('tool/result', result('a'), APPEND)
    expect(isLegalRange(session, { start: 1, end: 2 })).toBe(false)
    expect(isLegalRange(session, { start: 0, end: 0 })).toBe(true)
    session.append('tool/result', result('b'), APPEND)
    expect(isLegalRange(session, { start: 1, end: 3 })).toBe(true)
  })

  test('unknown, shadowed and reversed ends are no range', () => {
    const session = start()
    for (const text of ['a', 'b', 'c']) session.append('user/message', user(text), APPEND)
    const over = { surfaceOp: { op: 'replace', start: 0, end: 1 }, sourceEventSeqs: [0, 1] } as const
    session.append('user/message', user('sum'), over)
    for (const [from, to] of [
      [0, 2],
      [2, 3],
      [9, 9],
      [3, 9],
    ]) {
      expect(isLegalRange(session, { start: from!, end: to! })).toBe(false)
    }
    expect(isLegalRange(session, { start: 3, end: 2 })).toBe(true)
  })
})

describe('planCompaction', () => {
  test('takes all but the newest nodes, and never half a pair', () => {
    const session = start()
    round(session, 1)
    round(session, 2)
    expect(planCompaction(session)).toEqual({ start: 0, end: 3 })
    expect(planCompaction(session, { keepRecent: 0 })).toEqual({ start: 0, end: 5 })
    expect(planCompaction(session, { keepRecent: 6 })).toBeUndefined()
  })

  test('leaves alone what is one summary already', () => {
    const session = start()
    for (const text of ['a', 'b', 'c', 'd']) session.append('user/message', user(text), APPEND)
    const over = { surfaceOp: { op: 'replace', start: 0, end: 1 }, sourceEventSeqs: [0, 1] } as const
    session.append('user/message', user('sum'), over)
    expect(planCompaction(session)).toBeUndefined()
    session.append('user/message', user('e'), APPEND)
    expect(planCompaction(session)).toEqual({ start: 4, end: 2 })
  })

  test('refuses a count that is none', () => {
    expect(() => planCompaction(start(), { keepRecent: -1 })).toThrow(RangeError)
  })
})
