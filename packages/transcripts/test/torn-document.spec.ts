import { describe, expect, it } from 'vitest'
import { closeTorn } from '../src/json/close-torn.js'
import { type Opened, opened } from './opened.js'

const chat = {
  sessionId: 's',
  projectHash: 'p',
  messages: [1, 2, 3].map(n => ({
    id: `${n}`,
    type: 'user',
    timestamp: 't',
    content: [{ text: `Say "${n}" [or {not]` }],
  })),
}
const session = {
  info: { id: 's', directory: '/' },
  messages: [1, 2, 3].map(n => ({ info: { id: `m${n}`, role: 'user' }, parts: [{ type: 'text', text: `Say ${n}.` }] })),
}
const history = [1, 2, 3].map(ts => ({
  role: ts === 2 ? 'assistant' : 'user',
  content: [{ type: 'text', text: `${ts}` }],
  ts,
}))

describe.each([
  ['gemini-cli', chat],
  ['opencode', session],
  ['cline', history],
] as const)('a document of %s that was left half written', (format, whole) => {
  const text = JSON.stringify(whole, null, 1)

  it('gives the messages that are whole, wherever it was cut', () => {
    const said = opened(text).messages
    let most = 0
    for (let end = text.indexOf('"1"') + 1; end < text.length; end++) {
      const { messages, findings }: Opened = opened(text.slice(0, end), { format })
      expect(messages).toEqual(said.slice(0, messages.length))
      expect(findings.some(({ code, severity }) => code === 'file.torn-record' && severity === 'error')).toBe(true)
      most = Math.max(most, messages.length)
    }
    expect(most).toBe(3)
  })

  it('says which message was cut', () => {
    const at = text.lastIndexOf('3')
    expect(opened(text.slice(0, at))).toMatchObject({
      format,
      findings: [{ code: 'file.torn-record', where: 'messages[2]' }],
    })
  })
})

describe.each([
  ['gemini-cli', chat],
  ['opencode', session],
  ['cline', history],
] as const)('a document of %s that is not alone in its file', (format, whole) => {
  const text = JSON.stringify(whole, null, 1)
  const { messages } = opened(text)

  it.each([
    ['zeros behind it', '\0'.repeat(64), { code: 'file.nul-run', where: 'file', bytes: 64 }],
    [
      'the rest of an older one',
      ' "text": "x" } ] }',
      { code: 'file.torn-record', where: 'file', quarantinedBytes: 17 },
    ],
    ['a second copy', `\n${text}`, { code: 'file.joined-records', where: 'file', records: 2 }],
  ])('%s', (_, rest, finding) => {
    const read: Opened = opened(text + rest)
    expect(read).toMatchObject({ format, findings: [{ ...finding, severity: 'error' }] })
    expect(read.messages).toEqual(messages)
  })

  it('has all of its messages where only its own end is missing', () => {
    const read: Opened = opened(text.slice(0, -1))
    expect(read).toMatchObject({ format, findings: [{ code: 'file.torn-record', where: 'file' }] })
    expect(read.messages).toEqual(messages)
  })
})

it('only a beginning of JSON is closed', () => {
  for (const text of ['', 'x', '{"a":1', '{"a":[1]}', '[1]]', '{"a":{"b":[{}', '["a', '{]']) {
    const closed = closeTorn(text)
    if (closed !== undefined) expect(() => JSON.parse(closed.text), text).not.toThrow()
  }
  expect(closeTorn('{"a":[{"b":1},{"c"')).toEqual({ text: '{"a":[{"b":1}]}', where: 'a[1]' })
  expect(closeTorn('{"a":[{"b":1},')).toEqual({ text: '{"a":[{"b":1}]}', where: 'file' })
  expect(closeTorn('{"a":[{"b":1}],"c":"d')).toEqual({ text: '{"a":[{"b":1}]}', where: 'file', isWhole: true })
})
