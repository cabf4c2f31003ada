import { Session } from '@palimpsest/session'
import { describe, expect, test } from 'vitest'
import { refusal } from './observed.js'
import { APPEND, assistant, call, replaces, restores, result, say, user } from './samples.js'

describe('a refusal names what was found', () => {
  test('of a replace: the end that is not on the surface, and why', () => {
    const session = say(Session.create(), 4)
    session.append('user/message', user(), replaces(1, 2, [1, 2]))
    session.append('turn/start', { turn: 1 })
    const replace = (start: number, end: number) =>
      refusal(() => session.append('user/message', user(), replaces(start, end, [start]))).message
    expect(replace(0, 2)).toMatch(/expected 2 on the surface, found one shadowed by 4;/)
    expect(replace(1, 3)).toMatch(/expected 1 on the surface, found one shadowed by 4;/)
    expect(replace(1, 99)).toMatch(/expected 1 on the surface/)
    expect(replace(5, 3)).toMatch(/expected 5 on the surface, found an event that is not on it;/)
    expect(replace(3, 99)).toMatch(/expected 99 on the surface, found an event that is not on it;/)
  })

  test('of a restore: what the event is instead', () => {
    const session = say(Session.create(), 3)
    session.append('user/message', user(), replaces(0, 1, [0, 1]))
    session.append('user/message', user(), replaces(3, 2, [3, 2]))
    const restore = (node: number) => refusal(() => session.append('surface/restore', {}, restores(node))).message
    expect(restore(3)).toMatch(/restore 3: expected a visible replacement, found a shadowed one;/)
    expect(restore(99)).toMatch(/found none;/)
    session.append('user/message', user(), APPEND)
    expect(restore(5)).toMatch(/found an event that replaced nothing;/)
  })

  test('of a rewritten result: how many events, or which one', () => {
    const session = Session.create()
    session.append('assistant/message', assistant('', ['a', 'b']), APPEND)
    session.append('tool/call', call('a'))
    session.append('tool/result', result('a'), { surfaceOp: 'append', sourceEventSeqs: [1] })
    session.append('tool/call', call('b'))
    session.append('tool/result', result('b'), { surfaceOp: 'append', sourceEventSeqs: [3] })
    const rewrite = (id: string, start: number, end: number) =>
      refusal(() => session.append('tool/result', result(id), replaces(start, end, [0, 2, 4]))).message
    expect(rewrite('a', 0, 0)).toMatch(/call "a", found assistant\/message at 0$/)
    expect(rewrite('a', 2, 4)).toMatch(/found 2 events at 2$/)
    expect(rewrite('a', 4, 4)).toMatch(/found tool\/result at 4$/)
  })
})
