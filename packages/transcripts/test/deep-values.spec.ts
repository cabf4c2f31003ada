import { MAX_DEPTH, Session } from '@palimpsest/session'
import { expect, it } from 'vitest'
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
