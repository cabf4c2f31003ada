import { expect, it } from 'vitest'
import { inputOfText, inputOfValue } from '../src/tool-input.js'

it('arguments that came as a text where an object should be are what the model wrote', () => {
  for (const text of ['', 'x', '{"a":', '{"a":1}', ' {"a":1}']) expect(inputOfValue(text)).toEqual(inputOfText(text))
  expect(inputOfValue('')).toEqual({ input: {}, rawInput: '' })
  expect(inputOfValue('x')).toEqual({ input: {}, rawInput: 'x' })
  expect(inputOfValue('{"a":1}')).toEqual({ input: { a: 1 } })
})

it('arguments that came as a value keep it, and the text that it would not give back', () => {
  expect(inputOfValue({ a: 1 })).toEqual({ input: { a: 1 } })
  expect(inputOfValue({ a: 1 }, '{"a":1.0}')).toEqual({ input: { a: 1 }, rawInput: '{"a":1.0}' })
  expect(inputOfValue(undefined)).toEqual({ input: {} })
})
