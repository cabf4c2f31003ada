import type { FormatName } from '@palimpsest/transcripts'
import { describe, expect, it } from 'vitest'
import { mutated, rng } from './mutated.js'
import { lines, type Opened, opened } from './opened.js'
import { written } from './written.js'

/** Inputs per family; `npm run torture` sets it. */
const INPUTS = Number(process.env.PALIMPSEST_FUZZ ?? 300)

const timestamp = '2026-01-05T09:00:00.000Z'
const wrapped = (type: string, payload: object) => ({ timestamp, type, payload })
const item = (payload: object) => wrapped('response_item', payload)
const event = (type: string, more: object = {}) => wrapped('event_msg', { type, ...more })
const said = (role: string, text: string) => ({ type: 'message', role, content: [{ type: 'input_text', text }] })
const TOKENS = { total_token_usage: { total_tokens: 3 }, last_token_usage: { input_tokens: 1, total_tokens: 3 } }
const CALL = { type: 'function_call', name: 'ls', arguments: '{"n":1.0}', call_id: 'c' }
const OUTPUT = { type: 'function_call_output', call_id: 'c', output: [{ type: 'input_text', text: 'x' }] }

const ROLLOUT = [
  wrapped('session_meta', { id: 't', cwd: '/p', base_instructions: { text: 'S' }, dynamic_tools: [{ name: 'x' }] }),
  wrapped('turn_context', { model: 'gpt-5', effort: 'high' }),
  item(said('developer', 'Rules.')),
  item(said('user', 'Go.')),
  event('user_message', { message: 'Go.' }),
  item({ type: 'reasoning', id: 'rs', summary: [{ type: 'summary_text', text: 'Hm.' }], encrypted_content: 'gA' }),
  item(CALL),
  item({ type: 'custom_tool_call', call_id: 'd', name: 'patch', input: '***' }),
  event('token_count', { info: TOKENS }),
  item(OUTPUT),
  item({ type: 'custom_tool_call_output', call_id: 'd', output: 'y' }),
  item({ type: 'web_search_call', action: { query: 'q' } }),
  item({ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Done.' }] }),
  event('task_complete'),
]
const REWOUND = [
  item(said('user', 'Wrong.')),
  event('user_message', { message: 'Wrong.' }),
  event('thread_rolled_back', { num_turns: 1 }),
]
const COMPACTED = wrapped('compacted', {
  message: '',
  replacement_history: [OUTPUT, said('user', 'Go.'), CALL, OUTPUT],
})
const BARE = [
  { id: 'old', timestamp, instructions: 'S' },
  { record_type: 'state' },
  said('user', 'Hi.'),
  CALL,
  { ...OUTPUT, output: '{"output":"x"}' },
]

const entry = (type: string, id: string, parentId: string | null, more: object) => ({
  type,
  id,
  parentId,
  timestamp,
  ...more,
})
const message = (id: string, parentId: string | null, more: object) => entry('message', id, parentId, { message: more })
const MODEL = {
  api: 'anthropic-messages',
  provider: 'anthropic',
  model: 'claude',
  usage: { input: 1, cost: { total: 0.1 } },
}
const thinking = { type: 'thinking', thinking: 'Hm.', thinkingSignature: 'c2ln' }
const toolCall = { type: 'toolCall', id: 'c', name: 'ls', arguments: { n: 1 } }
const text = (text: string) => [{ type: 'text', text }]

const SESSION = [
  { type: 'session', version: 3, id: 's', timestamp, cwd: '/p' },
  entry('model_change', 'a', null, { provider: 'anthropic', modelId: 'claude' }),
  message('b', 'a', { role: 'user', content: text('Go.') }),
  message('c', 'b', { role: 'assistant', content: [thinking, toolCall], stopReason: 'toolUse', ...MODEL }),
  entry('compaction', 'd', 'c', { summary: 'Older.', firstKeptEntryId: 'c' }),
  message('e', 'd', { role: 'toolResult', toolCallId: 'c', toolName: 'ls', content: text('x'), details: { n: 1 } }),
  message('f', 'e', { role: 'bashExecution', command: 'ls', output: 'a' }),
  message('g', 'f', { role: 'user', content: text('Wrong.') }),
  message('h', 'g', { role: 'assistant', content: [], stopReason: 'aborted', ...MODEL }),
  message('i', 'f', { role: 'user', content: text('Right.') }),
  entry('compaction', 'j', 'i', { summary: 'Newer.', firstKeptEntryId: 'e' }),
  entry('custom_message', 'k', 'j', { customType: 'n', content: 'Told.' }),
  entry('branch_summary', 'l', 'k', { fromId: 'g', summary: 'Left.' }),
  entry('label', 'm', 'l', { label: 'x' }),
]
const FLAT = SESSION.map(({ id: _, parentId: __, version: ___, ...rest }: Record<string, unknown>) => rest)
const CUT = { type: 'compaction', timestamp, summary: 'So far.', firstKeptEntryIndex: 5 }

const FAMILIES: Record<string, { format: FormatName; file: string }> = {
  'codex, with a rollback': { format: 'codex', file: lines(...ROLLOUT, ...REWOUND, ...ROLLOUT.slice(3), ...REWOUND) },
  'codex, compacted': {
    format: 'codex',
    file: lines(...ROLLOUT, COMPACTED, ...REWOUND, wrapped('compacted', { message: 'S' })),
  },
  'codex, without wrappers': { format: 'codex', file: lines(...BARE) },
  'pi, a tree': { format: 'pi', file: lines({ type: 'title', title: 'T', pad: ' ' }, ...SESSION) },
  'pi, a list': { format: 'pi', file: lines(...FLAT, CUT) },
}

describe.each(Object.entries(FAMILIES))('%s', (_, { format, file }) => {
  const whole = Buffer.from(file)

  it('is read whatever happened to the file, no line unheard, and can be written again', { timeout: 3_600_000 }, () => {
    for (let seed = 1; seed <= INPUTS; seed++) {
      const bytes = mutated(whole, rng(seed))
      try {
        const read = opened(bytes, { format })
        expect(missing(bytes, read)).toEqual([])
        opened(written(read, format).text, { format })
      } catch (error) {
        throw new Error(`seed ${seed}`, { cause: error })
      }
    }
  })
})

/** Lines that hold something, and that neither an event nor a report comes from. */
function missing(bytes: Uint8Array, { places, findings, loss, about }: Opened): number[] {
  if (about.unreadable) return []
  const heard = [
    ...places.flatMap(({ where, parts = [] }) => [where, ...parts]),
    ...[...findings, ...loss].map(each => each.where),
  ]
  const told = new Set(heard.flatMap(where => /^line (\d+)/.exec(where ?? '')?.[1] ?? []).map(Number))
  return Buffer.from(bytes)
    .toString()
    .replaceAll('\0', '')
    .split('\n')
    .flatMap((line, i) => (line.trim() === '' || told.has(i + 1) ? [] : [i + 1]))
}
