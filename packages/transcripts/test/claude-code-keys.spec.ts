import { describe, expect, it } from 'vitest'
import { readTranscript } from '../src/index.js'

const id = (n: number) => `"00000000-0000-4000-8000-00000000000${n}"`
const row = (n: number, type: string, message: string, behind = '') =>
  `{"type":"${type}","uuid":${id(n)},"parentUuid":${n > 1 ? id(n - 1) : null},"sessionId":"s","isSidechain":false,` +
  `"timestamp":"2026-01-01T00:00:0${n}.000Z","message":${message}${behind}}`
const answer = (content: string) => `{"id":"msg_1","role":"assistant","model":"claude-x","content":[${content}]}`

const PROMPT = row(1, 'user', '{"role":"user","content":"Go."}')
const TEXT = answer('{"type":"text","text":"So."}')
const CALL = answer('{"type":"tool_use","id":"toolu_1","name":"run","input":{}}')
const RESULT = row(
  4,
  'user',
  '{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"ok"}]}',
)
const rows = (second = row(2, 'assistant', TEXT), third = row(3, 'assistant', CALL), fourth = RESULT) =>
  [PROMPT, second, third, fourth].map(text => `${text}\n`)

describe('keys and texts written with escapes are the same', () => {
  it.each([
    ['a key of a row', rows(undefined, row(3, 'assistant', CALL).replace('"message"', '"\\u006dessage"'))],
    ['the key of its kind', rows(row(2, 'assistant', TEXT).replace('"type"', '"\\u0074ype"'))],
    ['its kind', rows(row(2, 'assistant', TEXT).replace('"assistant"', '"\\u0061ssistant"'))],
    ['the key of its id', rows(row(2, 'assistant', TEXT).replace('"uuid"', '"\\u0075uid"'))],
    ['its id', rows(row(2, 'assistant', TEXT).replace('"uuid":"0', '"uuid":"\\u0030'))],
    ['the id of an answer', rows(row(2, 'assistant', TEXT).replace('msg_1', '\\u006dsg_1'))],
    ['a key in a block', rows(undefined, undefined, RESULT.replace('tool_use_id', 'tool\\u005fuse_id'))],
  ])('%s', (_, written) => {
    expect(read(written)).toEqual(read(rows()))
  })
})

describe('of a key used twice the last one counts', () => {
  it.each([
    ['an answer over another', rows(row(2, 'assistant', answer(''), `,"message":${TEXT}`))],
    [
      'an answer without an id',
      rows(undefined, row(3, 'assistant', CALL, ',"message":{"role":"assistant","content":[]}')),
    ],
    ['a text for an answer', rows(row(2, 'assistant', TEXT, ',"message":"x"'))],
    ['nothing for an answer', rows(undefined, row(3, 'assistant', CALL, ',"message":null'))],
    ['no kind', rows(row(2, 'assistant', TEXT, ',"type":null'))],
    [
      'a prompt over a result',
      rows(undefined, undefined, `${RESULT.slice(0, -1)},"message":{"role":"user","content":"x"}}`),
    ],
    [
      'a list over another',
      rows(undefined, undefined, RESULT.replace('"content":[', '"content":[{"tool_use_id":"t"}],"content":[')),
    ],
  ])('%s', (_, written) => {
    expect(read(written)).toEqual(read(written.map(text => `${JSON.stringify(JSON.parse(text))}\n`)))
  })
})

// --- internal ---

function read(written: readonly string[]) {
  const { events, findings, loss } = readTranscript(Buffer.from(written.join('')), { format: 'claude-code' })
  return { events, findings, loss }
}
