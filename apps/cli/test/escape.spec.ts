import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { escapeLine, escapeText, shorten, toJson } from '../src/escape.js'

describe('escaping', () => {
  it.each([
    ['\u001b[31mred', '\\x1b[31mred'],
    ['\u009b2J', '\\x9b2J'],
    ['a\rb\u0000', 'a\\rb\\x00'],
    ['\u202eevil\u2066', '\\u202eevil\\u2066'],
    ['\u2028\u2029\ufeff', '\\u2028\\u2029\\ufeff'],
    ['\ud800x', '\\ud800x'],
    ['\u{e0041}', '\\u{e0041}'],
    ['grüße 😀 👩‍👩‍👧 漢字', 'grüße 😀 👩‍👩‍👧 漢字'],
  ])('shows %j as %j', (text, shown) => {
    expect(escapeText(text)).toBe(shown)
    expect(escapeLine(text)).toBe(shown)
  })

  it('keeps line feeds and tabs in text, and never on a line', () => {
    expect(escapeText('a\n\tb')).toBe('a\n\tb')
    expect(escapeLine('a\n\tb')).toBe('a\\n\\tb')
  })

  it('leaves nothing that a terminal obeys, whatever the text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 200 }), text => {
        expect(escapeLine(text)).not.toMatch(/[\p{Cc}\p{Surrogate}\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]/u)
        expect(escapeText(text).replaceAll(/[\n\t]/g, '')).not.toMatch(/\p{Cc}/u)
      }),
    )
  })

  it('leaves nothing of it in JSON either, which says the same', () => {
    expect(toJson({ a: '\u009b2J\u202e\u007f\u{e0041}é' })).toBe('{"a":"\\u009b2J\\u202e\\u007f\\udb40\\udc41é"}')
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 200 }), text => {
        const json = toJson({ [text]: text })
        expect(json).not.toMatch(/[\p{Cc}\p{Surrogate}\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]/u)
        expect(JSON.parse(json)).toStrictEqual(JSON.parse(JSON.stringify({ [text]: text })))
      }),
    )
  })

  it('shortens by code points', () => {
    expect(shorten('😀😀😀', 3)).toBe('😀😀😀')
    expect(shorten('😀😀😀😀', 3)).toBe('😀😀…')
    expect(shorten('a\nb', 10)).toBe('a\\nb')
    expect(shorten('x'.repeat(1_000_000), 5)).toBe('xxxx…')
  })
})
