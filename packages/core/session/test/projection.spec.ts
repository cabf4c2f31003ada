import type { Message } from '@palimpsest/session'
import { beforeEach, expect, test } from 'vitest'
import { Projection } from '../src/projection.js'
import { applySurface, planMarker, SurfaceManager } from '../src/surface.js'

let surface: SurfaceManager
let projection: Projection
/** The seqs whose messages were asked for since the last look. */
let asked: number[]

beforeEach(() => {
  surface = new SurfaceManager()
  projection = new Projection()
  asked = []
})

const messageOf = (seq: number): Message => ({ role: 'user', content: [{ type: 'text', text: `${seq}` }] })
const messages = new Map<number, Message>()
const messageAt = (seq: number): Message => {
  asked.push(seq)
  if (!messages.has(seq)) messages.set(seq, messageOf(seq))
  return messages.get(seq)!
}

function apply(seq: number, surfaceOp: Parameters<typeof planMarker>[1]['surfaceOp']): void {
  const change = planMarker(surface, { seq, type: 'user/message', surfaceOp })
  const message = surfaceOp === 'append' || surfaceOp.op === 'replace' ? messageAt(seq) : undefined
  asked = []
  projection.follow(change, message)
  applySurface(surface, change)
}

/** Derives, and gives the seqs whose messages were needed for that. */
function derive(): number[] {
  asked = []
  const derived = projection.derive(surface, messageAt)
  const needed = asked
  expect(derived).toEqual(surface.seqs().map(messageOf))
  return needed
}

function say(count: number): void {
  for (let seq = 0; seq < count; seq++) apply(seq, 'append')
}

test('a message is asked for once, and then only new ones are', () => {
  say(3)
  expect(derive()).toEqual([0, 1, 2])
  expect(derive()).toEqual([])
  apply(3, 'append')
  expect(derive()).toEqual([3])
})

test('a replacement of one event costs no other message', () => {
  say(6)
  derive()
  apply(6, { op: 'replace', start: 2, end: 2 })
  expect(derive()).toEqual([])
  apply(7, { op: 'replace', start: 5, end: 5 })
  expect(derive()).toEqual([])
  apply(8, 'append')
  expect(derive()).toEqual([8])
  apply(9, { op: 'replace', start: 0, end: 0 })
  apply(10, { op: 'replace', start: 9, end: 9 })
  expect(derive()).toEqual([])
})

test('a replacement of several costs what stands behind it', () => {
  say(6)
  derive()
  apply(6, { op: 'replace', start: 2, end: 3 })
  expect(derive()).toEqual([6, 4, 5])
  apply(7, { op: 'replace', start: 4, end: 5 })
  expect(derive()).toEqual([7])
  apply(8, { op: 'replace', start: 0, end: 7 })
  expect(derive()).toEqual([8])
})

test('a restore costs what stands behind it', () => {
  say(6)
  derive()
  apply(6, { op: 'replace', start: 2, end: 3 })
  derive()
  apply(7, { op: 'restore', node: 6 })
  expect(derive()).toEqual([2, 3, 4, 5])
  apply(8, { op: 'replace', start: 4, end: 4 })
  apply(9, { op: 'restore', node: 8 })
  expect(derive()).toEqual([4, 5])
})

test('what changes behind the end of the last look costs nothing twice', () => {
  say(3)
  derive()
  apply(3, 'append')
  apply(4, 'append')
  apply(5, { op: 'replace', start: 3, end: 4 })
  expect(derive()).toEqual([5])
  apply(6, 'append')
  apply(7, { op: 'replace', start: 6, end: 6 })
  apply(8, { op: 'restore', node: 7 })
  expect(derive()).toEqual([6])
  apply(9, { op: 'replace', start: 5, end: 6 })
  apply(10, { op: 'replace', start: 1, end: 2 })
  expect(derive()).toEqual([10, 9])
})
