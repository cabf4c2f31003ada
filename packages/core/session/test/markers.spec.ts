import { foldSurface, Session } from '@palimpsest/session'
import { expect, test } from 'vitest'
import { refusal } from './observed.js'

test('the markers of a prefix say what each edit did, in log order', () => {
  const session = Session.create({ now: () => 0 })
  const say = (text: string) => ({ message: { role: 'user' as const, content: [{ type: 'text' as const, text }] } })
  session.append('user/message', say('a'), { surfaceOp: 'append' })
  session.append('turn/start', { turn: 1 })
  session.append('user/message', say('b'), { surfaceOp: { op: 'replace', start: 0, end: 0 }, sourceEventSeqs: [0] })
  session.append('surface/restore', {}, { surfaceOp: { op: 'restore', node: 2 }, sourceEventSeqs: [2] })

  const brief = (length?: number) => session.markers(length).map(({ seq, surfaceOp }) => [seq, surfaceOp])
  expect(brief()).toEqual([
    [0, 'append'],
    [2, { op: 'replace', start: 0, end: 0 }],
    [3, { op: 'restore', node: 2 }],
  ])
  expect(brief(3)).toHaveLength(2)
  expect(brief(0)).toEqual([])
  const held = session.markers()
  expect(Object.isFrozen(held)).toBe(true)
  session.append('user/message', say('c'), { surfaceOp: 'append' })
  expect(held).toHaveLength(3)
})

test('a marker without a mark, or with one that is none, is refused with its place', () => {
  const marker = { seq: 4, type: 'user/message' }
  for (const [surfaceOp, code] of [
    [undefined, 'SURFACE_INTENT_REQUIRED'],
    ['prepend', 'SURFACE_INTENT_NOT_ALLOWED'],
  ]) {
    const error = refusal(() => foldSurface([{ ...marker, surfaceOp } as never]))
    expect([error.code, error.message]).toEqual([code, expect.stringContaining('event 4')])
  }
})
