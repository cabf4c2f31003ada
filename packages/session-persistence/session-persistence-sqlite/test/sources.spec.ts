import fc from 'fast-check'
import { expect, test } from 'vitest'
import { decodeSources, encodeSources } from '../src/sources.js'

const SEQ = 1000

test('any list of seqs comes back as it was, long runs as their ends', () => {
  const run = fc
    .tuple(fc.integer({ min: 0, max: SEQ - 100 }), fc.integer({ min: 1, max: 99 }))
    .map(([first, length]) => Array.from({ length }, (_, i) => first + i))
  const seqs = fc.array(fc.oneof(run, fc.array(fc.integer({ min: -2, max: SEQ + 2 }), { maxLength: 20 })), {
    maxLength: 8,
  })
  fc.assert(
    fc.property(seqs, lists => {
      const list = lists.flat()
      expect(decodeSources(encodeSources(list, SEQ), SEQ)).toEqual(list)
    }),
  )
  expect(encodeSources([0, 1, 2, 4], SEQ)).toBe('[0,1,2,4]')
  expect(encodeSources([0, ...Array.from({ length: 300 }, (_, i) => i + 2)], SEQ)).toBe('[0,[2,301]]')
})

test.each([
  ['[[0,1e15]]'],
  ['[[0,1000]]'],
  ['[[0,999],[0,999]]'],
  ['[[-9,1]]'],
  ['[[5,5]]'],
  ['[[9,2]]'],
  ['[[0.5,7]]'],
  ['[["0",7]]'],
  ['[[]]'],
  ['[1,'],
])('%s are no sources', text => {
  expect(() => decodeSources(text, SEQ)).toThrow()
})
