import { MAX_DEPTH, Session } from '@palimpsest/session'
import { describe, expect, it } from 'vitest'
import { readTranscript } from '../src/index.js'

const deep = (levels: number) => '['.repeat(levels) + ']'.repeat(levels)
const lines = (...records: string[]) => Buffer.from(`${records.join('\n')}\n`)

const FILES: [string, (value: string) => Uint8Array][] = [
  [
    'claude-code',
    value =>
      lines(
        '{"parentUuid":null,"isSidechain":false,"sessionId":"s","type":"user","uuid":"a","message":{"role":"user","content":"Go."}}',
        `{"parentUuid":"a","isSidechain":false,"sessionId":"s","type":"assistant","uuid":"b","message":{"id":"m","role":"assistant","model":"claude-x","content":[{"type":"tool_use","id":"t","name":"run","input":{"a":${value}}}]}}`,
      ),
  ],
  [
    'codex',
    value =>
      lines(
        '{"timestamp":"2026-01-05T09:00:00.000Z","type":"session_meta","payload":{"id":"s"}}',
        `{"timestamp":"2026-01-05T09:00:01.000Z","type":"response_item","payload":{"type":"function_call","call_id":"c","name":"run","arguments":${JSON.stringify(`{"a":${value}}`)}}}`,
      ),
  ],
  [
    'pi',
    value =>
      lines(
        '{"type":"session","version":3,"id":"s","timestamp":"2026-01-05T09:00:00.000Z","cwd":"/"}',
        `{"type":"message","id":"a","parentId":null,"message":{"role":"assistant","content":[{"type":"toolCall","id":"c","name":"run","arguments":{"a":${value}}}]}}`,
      ),
  ],
  [
    'gemini-cli',
    value =>
      Buffer.from(
        `{"sessionId":"s","projectHash":"p","messages":[{"id":"1","type":"gemini","timestamp":"t","content":[{"functionCall":{"id":"c","name":"run","args":{"a":${value}}}}]}]}`,
      ),
  ],
  [
    'opencode',
    value =>
      Buffer.from(
        `{"info":{"id":"s","directory":"/"},"messages":[{"info":{"id":"m","role":"assistant"},"parts":[{"type":"tool","callID":"c","tool":"run","state":{"status":"running","input":{"a":${value}}}}]}]}`,
      ),
  ],
]

it.each(FILES)('%s: arguments that nest past every stack make a log all the same', (format, file) => {
  const read = readTranscript(file(deep(100_000)))
  expect(read.format).toBe(format)
  expect(() => Session.create({ seed: read.events })).not.toThrow()
})

it.each(FILES)('%s: what a log cannot hold of arguments goes on as their text', (_, file) => {
  const { events } = readTranscript(file(deep(MAX_DEPTH + 100)))
  const call = events.find(({ type }) => type === 'tool/call')?.data as { arguments: string } | undefined
  expect(call?.arguments).toBe(`{"a":${deep(MAX_DEPTH + 100)}}`)
})

/** Ways to nest that no run of closing brackets gives away. */
const SHAPES: [string, (levels: number) => string][] = [
  ['lists', deep],
  ['lists and objects in turn', levels => `${'[{"]":'.repeat(levels / 2)}"}"${'}]'.repeat(levels / 2)}`],
  ['lists that go on behind', levels => `${'['.repeat(levels)}1${'],2'.repeat(levels - 1)}]`],
  ['lists with white space between', levels => '['.repeat(levels) + ' ]'.repeat(levels)],
]

describe.each(SHAPES)('%s, deeper than a log holds', (_, shape) => {
  it.each(FILES)('stand whole in the arguments of a call of %s', (_, file) => {
    const value = shape(MAX_DEPTH + 100)
    const { events, findings } = readTranscript(file(value))
    const message = events.find(({ type }) => type === 'assistant/message')?.data as { message: { content: unknown[] } }
    const call = message.message.content.find(part => (part as { type: string }).type === 'tool-call')
    expect(call).toMatchObject({ input: {}, rawInput: `{"a":${value}}` })
    expect(findings.map(({ code }) => code).filter(code => code === 'value.too-deep').length).toBeLessThanOrEqual(1)
  })

  it('are told of in a document', () => {
    const value = shape(MAX_DEPTH + 100)
    const { findings } = readTranscript(
      Buffer.from(
        `{"model":"claude-x","max_tokens":9,"messages":[{"role":"user","content":"Go."},` +
          `{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"run","input":{"a":${value}}}]}]}`,
      ),
    )
    expect(findings).toContainEqual({ code: 'value.too-deep', severity: 'info', where: 'messages[1]' })
  })
})

it('arguments with a number past every double stand as their text', () => {
  const { events } = readTranscript(FILES[0]![1]('1e400'))
  const call = events.find(({ type }) => type === 'assistant/message')
  expect(call?.data).toMatchObject({ message: { content: [{ input: {}, rawInput: '{"a":1e400}' }] } })
})

it('a first line that is longer than what is looked at hides no format', () => {
  const block = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'A'.repeat(200_000) } }
  const row = {
    parentUuid: null,
    isSidechain: false,
    sessionId: 's',
    type: 'user',
    message: { role: 'user', content: [{ type: 'text', text: 'See.' }, block] },
    uuid: 'a',
  }
  expect(readTranscript(lines(JSON.stringify(row))).format).toBe('claude-code')
})
