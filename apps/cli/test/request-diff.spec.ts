import type { Message, ModelRequest } from '@palimpsest/session'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { diffRequests } from '../src/request-diff.js'

const message = (text: string): Message => ({ role: 'user', content: [{ type: 'text', text }] })
const request = (texts: readonly string[]): ModelRequest => ({
  model: 'm',
  settings: {},
  messages: texts.map(text => message(text)),
})

/** The length of a longest common subsequence, by the definition. */
function longest(a: readonly string[], b: readonly string[]): number {
  let below = Array<number>(b.length + 1).fill(0)
  for (const text of a.toReversed()) {
    const row = [...below]
    for (let j = b.length - 1; j >= 0; j--) {
      row[j] = text === b[j] ? below[j + 1]! + 1 : Math.max(below[j]!, row[j + 1]!)
    }
    below = row
  }
  return below[0]!
}

test('both requests can be read off, and as much as can be is the same', () => {
  const texts = fc.array(fc.constantFrom('a', 'b', 'c', 'd', 'e'), { maxLength: 14 })
  fc.assert(
    fc.property(texts, texts, (a, b) => {
      const { messages, divergence } = diffRequests(request(a), request(b))
      const side = (other: string) => messages.filter(({ kind }) => kind !== other).map(each => each.message)
      expect(side('added')).toEqual(request(a).messages)
      expect(side('removed')).toEqual(request(b).messages)
      const same = messages.flatMap(change => (change.kind === 'same' ? [change] : []))
      expect(same).toHaveLength(longest(a, b))
      for (const change of same) expect(a[change.a]).toBe(b[change.b])
      const first = messages.findIndex(({ kind }) => kind !== 'same')
      expect(divergence).toBe(first === -1 ? undefined : first)
    }),
  )
})

test('conversations of 100,000 messages that have nothing, or one phrase, in common', () => {
  const long = (name: string) => Array.from({ length: 100_000 }, (_, i) => `${name} ${i}`)
  const { messages } = diffRequests(request(long('a')), request(long('b')))
  expect(messages).toHaveLength(200_000)
  const said = (end: string) => request(['first', ...Array<string>(20_000).fill('go on'), end])
  expect(diffRequests(said('x'), { ...said('y'), messages: said('y').messages.slice(1) }).messages).toHaveLength(20_003)
})
