import { crc32 } from 'node:zlib'
import { type FormatName, readTranscript } from '@palimpsest/transcripts'
import { describe, expect, it } from 'vitest'
import {
  assistant,
  call,
  compaction,
  dshHeader,
  dshLog,
  dshRecords,
  result,
  started,
  step,
  stepEnd,
  summary,
  text,
  turn,
  turnEnd,
  user,
} from './dsh-log.js'
import { mutated, rng } from './mutated.js'
import { lines, opened } from './opened.js'
import { zstdFrame } from './zstd-frame.js'

/** Inputs per family; `npm run torture` sets it. */
const INPUTS = Number(process.env.PALIMPSEST_FUZZ ?? 220)

const EVENTS = [
  turn(1),
  user('Goal.'),
  step(),
  { type: 'text-chunks', data: { turn: 1, step: 1, index: 0, dt: [1], texts: ['a', 'b'] } },
  assistant({ type: 'reasoning', text: 'Hm.' }, call('c', '{"n":1}')),
]
const MORE = [
  started('c'),
  result('c', [text('milk'), { type: 'image', data: 'AAAA' }], 6),
  stepEnd(),
  turnEnd(1),
  compaction('start', 'k'),
  summary('k', 1, 7, 'Sum.'),
  compaction('end', 'k'),
  turn(2),
  user('On.'),
]
const dshText = lines(dshHeader, ...dshRecords(EVENTS), ...dshRecords(MORE, 6))

const ownText = readTranscript(Buffer.from(dshText))
  .events.map(event => ({ ...event, ignorable: undefined }))
  .filter(({ type }) => !type.startsWith('import/'))
  .map(event => JSON.stringify(event).slice(0, -1))
  .map(record => `${record},"crc":"${crc32(record).toString(16).padStart(8, '0')}"}\n`)
  .join('')

const said = (id: string, type: string, content: unknown, more: object = {}) => ({
  id,
  timestamp: 't',
  type,
  content,
  ...more,
})
const response = { functionResponse: { id: 'a', name: 'ls', response: { output: 'x' } } }
const chat = [
  said('1', 'user', [{ text: 'Go.' }]),
  said('2', 'gemini', [{ functionCall: { id: 'a', name: 'ls', args: { n: 1 } }, thoughtSignature: 's' }], {
    toolCalls: [{ id: 'a', name: 'ls', args: {}, status: 'success', result: [response] }],
    thoughts: [{ subject: 'S' }],
  }),
  said('3', 'user', [response, { text: 'And?' }]),
  said('4', 'gemini', 'Yes.'),
]
const meta = { sessionId: 's', projectHash: 'p', startTime: 't' }

const opencodeMessages = [
  {
    info: { id: 'm1', role: 'user', time: { created: 1 }, model: { modelID: 'claude', providerID: 'x' } },
    parts: [
      { type: 'text', text: 'Go.' },
      { type: 'file', mime: 'image/png', url: 'data:,A' },
    ],
  },
  {
    info: { id: 'm2', role: 'assistant', modelID: 'claude', tokens: { input: 1 } },
    parts: [
      { type: 'step-start' },
      { type: 'tool', callID: 'c', tool: 'read', state: { status: 'completed', input: { p: 1 }, output: 'x' } },
    ],
  },
  { info: { id: 'm3', role: 'user' }, parts: [{ type: 'compaction', tail_start_id: 'm2' }] },
  { info: { id: 'm4', role: 'assistant', summary: true, finish: 'stop' }, parts: [{ type: 'text', text: 'Sum.' }] },
  { info: { id: 'm5', role: 'assistant', error: { name: 'APIError' } }, parts: [{ type: 'text', text: 'No' }] },
]

const chatCall = { id: 'c', type: 'function', function: { name: 'open', arguments: '{"p":1}' } }
const trajectory = {
  trajectory: [{ action: 'ls', observation: 'x', response: 'y', state: '{}' }],
  history: [
    { role: 'system', content: 'S', agent: 'm' },
    { role: 'user', content: 'Fix it.', agent: 'm' },
    { role: 'assistant', content: 'Look.', tool_calls: [chatCall], agent: 'm' },
    { role: 'tool', content: 'x', tool_call_ids: ['c'], agent: 'm' },
  ],
}

const clineMessages = [
  {
    role: 'user',
    content: [
      { type: 'text', text: 'A.' },
      { type: 'file', path: '/a', content: 'A' },
    ],
    ts: 1,
    condenseParent: 'k',
  },
  {
    role: 'assistant',
    content: [{ type: 'tool_use', id: 't', name: 'read', input: { n: 1 } }],
    ts: 2,
    condenseParent: 'k',
  },
  { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't', content: [{ query: 'x' }] }], ts: 3 },
  { role: 'user', content: 'Sum.', isSummary: true, condenseId: 'k', ts: 4 },
]

const answer = { id: 'g', model: 'm', choices: [{ message: { content: 'Look.', tool_calls: [chatCall] } }] }
const taken = { tool_call_metadata: { tool_call_id: 'c', function_name: 'open', model_response: answer } }
const run = {
  instance_id: 'i',
  instruction: 'Fix it.',
  history: [
    { id: 0, source: 'agent', action: 'system', args: { content: 'S', tools: [] } },
    { id: 1, source: 'user', action: 'message', args: { content: 'Fix it.' } },
    { id: 2, source: 'agent', action: 'run', args: { command: 'ls' }, ...taken },
    { id: 3, source: 'agent', observation: 'run', content: 'x', cause: 2, ...taken },
    { id: 4, source: 'agent', action: 'condensation', args: { forgotten_event_ids: [2, 3], summary: 'Sum.' } },
  ],
}
const sdkEvents = [
  { kind: 'MessageEvent', id: 'a', source: 'user', llm_message: { content: [{ type: 'text', text: 'Go.' }] } },
  { kind: 'ActionEvent', id: 'b', llm_response_id: 'r', tool_name: 'bash', tool_call_id: 'c', tool_call: chatCall },
  { kind: 'ObservationEvent', id: 'd', tool_call_id: 'c', observation: { content: [{ type: 'text', text: 'x' }] } },
]

const FAMILIES: Record<string, { format: FormatName; file: string | Uint8Array; isLines?: true }> = {
  'dsh, plain': { format: 'dsh', file: dshText + dshLog(turn(3), user('B.')), isLines: true },
  'dsh, compressed': {
    format: 'dsh',
    file: Buffer.concat([lines(dshHeader), lines(...dshRecords(EVENTS)), lines(...dshRecords(MORE, 6))].map(zstdFrame)),
  },
  palimpsest: { format: 'palimpsest', file: ownText, isLines: true },
  'gemini-cli, log': {
    format: 'gemini-cli',
    file: lines(meta, ...chat, { $set: { messages: chat } }, { $rewindTo: '3' }, chat[0]),
  },
  'gemini-cli, document': { format: 'gemini-cli', file: JSON.stringify({ ...meta, messages: chat }, null, 1) },
  opencode: {
    format: 'opencode',
    file: JSON.stringify({ info: { id: 's', directory: '/' }, messages: opencodeMessages }),
  },
  'swe-agent': { format: 'swe-agent', file: JSON.stringify(trajectory) },
  cline: { format: 'cline', file: JSON.stringify({ sessionId: 's', messages: clineMessages }) },
  'openhands, runs': { format: 'openhands', file: lines(run, run) },
  'openhands, events': { format: 'openhands', file: lines(...sdkEvents), isLines: true },
}

describe.each(Object.entries(FAMILIES))('%s', (_, { format, file, isLines }) => {
  const whole = typeof file === 'string' ? Buffer.from(file) : file

  it('is read whatever happened to the file, into a log that a session takes', { timeout: 3_600_000 }, () => {
    for (let seed = 1; seed <= INPUTS; seed++) {
      const bytes = mutated(whole, rng(seed))
      const read = () => opened(bytes, { format })
      expect(read, `seed ${seed}`).not.toThrow()
      if (isLines) expect(missing(bytes, read()), `seed ${seed}`).toEqual([])
    }
  })

  it('is found by content', () => {
    expect(readTranscript(whole).format).toBe(format)
  })
})

/** Lines that hold something, and that neither an event nor a report comes from. */
function missing(bytes: Uint8Array, { places, findings, loss, about }: ReturnType<typeof opened>): number[] {
  if (about.unreadable || findings.some(({ code }) => code === 'format.unknown-required-event')) return []
  // One record that is left is a document.
  if (places.some(({ where }) => where.startsWith('messages'))) return []
  const all = [...places, ...findings, ...loss].map(({ where }) => where)
  const named = [...all, ...places.flatMap(({ parts = [] }) => parts)].flatMap(
    at => /^line (\d+)/.exec(at ?? '')?.[1] ?? [],
  )
  const told = new Set(named.map(Number))
  return Buffer.from(bytes)
    .toString()
    .replaceAll('\0', '')
    .split('\n')
    .flatMap((line, i) => (line.trim() === '' || told.has(i + 1) || isHeader(line) ? [] : [i + 1]))
}

/** What it says goes beside the log. */
function isHeader(line: string): boolean {
  return /^\s*\{"type":"session"/.test(line)
}
