import { type FormatName, readTranscript } from '@palimpsest/transcripts'
import { describe, expect, it } from 'vitest'
import { mutated, rng } from './mutated.js'
import { lines, opened } from './opened.js'

/** Inputs per family; `npm run torture` sets it. */
const INPUTS = Number(process.env.PALIMPSEST_FUZZ ?? 220)

const call = { id: 'c', type: 'function', function: { name: 'open', arguments: '{"p":1}' } }
const chat = [
  { role: 'system', content: 'S' },
  {
    role: 'user',
    content: [
      { type: 'text', text: 'Go.' },
      { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
    ],
  },
  { role: 'assistant', content: null, tool_calls: [call], reasoning_content: 'Hm.' },
  { role: 'tool', tool_call_id: 'c', content: 'x' },
  { role: 'assistant', content: 'Done.', function_call: { name: 'f', arguments: '{}' } },
]
const messages = [
  { role: 'user', content: 'Go.' },
  {
    role: 'assistant',
    content: [
      { type: 'thinking', thinking: 'Hm.', signature: 's' },
      { type: 'tool_use', id: 't', name: 'read', input: { n: 1 } },
    ],
  },
  {
    role: 'user',
    content: [
      { type: 'tool_result', tool_use_id: 't', content: [{ type: 'text', text: 'x' }] },
      { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } },
    ],
  },
]
const items = [
  { type: 'message', role: 'developer', content: 'D' },
  { role: 'user', content: [{ type: 'input_text', text: 'Go.' }] },
  { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'Hm.' }], encrypted_content: 'e' },
  { type: 'function_call', id: 'fc_1', call_id: 'c', name: 'f', arguments: '{}' },
  { type: 'function_call_output', call_id: 'c', output: [{ type: 'input_text', text: 'x' }] },
  { type: 'custom_tool_call', call_id: 'd', name: 'sql', input: 's' },
  { type: 'web_search_call', id: 'ws_1' },
  { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Done.' }] },
]
const contents = [
  { role: 'user', parts: [{ text: 'Go.' }, { inline_data: { mime_type: 'image/png', data: 'AAAA' } }] },
  {
    role: 'model',
    parts: [
      { text: 'Hm.', thought: true },
      { functionCall: { name: 'f', args: { n: 1 } }, thoughtSignature: 's' },
    ],
  },
  { role: 'user', parts: [{ functionResponse: { name: 'f', response: { output: 'x' }, parts: [] } }] },
]
const chunks = [
  { type: 'start' },
  { type: 'text-start', id: 't' },
  { type: 'text-delta', id: 't', delta: 'Hi.' },
  { type: 'tool-input-start', toolCallId: 'c', toolName: 'f' },
  { type: 'tool-input-delta', toolCallId: 'c', inputTextDelta: '{}' },
  { type: 'tool-input-available', toolCallId: 'c', toolName: 'f', input: {} },
  { type: 'tool-output-available', toolCallId: 'c', output: { n: 1 } },
  { type: 'finish' },
]
const shown = [
  {
    role: 'user',
    parts: [
      { type: 'text', text: 'Go.' },
      { type: 'file', url: 'data:image/png;base64,AAAA', mediaType: 'image/png' },
    ],
  },
  {
    role: 'assistant',
    parts: [
      { type: 'step-start' },
      { type: 'tool-f', toolCallId: 'c', state: 'output-available', input: {}, output: 'x' },
    ],
  },
]
const made = (name: string, kwargs: object) => ({ lc: 1, type: 'constructor', id: ['langchain_core', name], kwargs })
const piece = {
  id: 'r',
  content: [{ type: 'text', text: 'H', index: 0 }],
  tool_call_chunks: [{ index: 0, args: '{}', id: 'c', name: 'f' }],
}
const streamed = [
  ['values', { messages: [made('HumanMessage', { id: 'h', content: 'Go.' })] }],
  ['messages', [made('AIMessageChunk', piece), {}]],
  ['messages', [made('AIMessageChunk', piece), {}]],
  ['updates', { node: { messages: [made('ToolMessage', { tool_call_id: 'c', content: 'x' })] } }],
]

const FAMILIES: Record<string, { format: FormatName; file: string }> = {
  'chat, a list': { format: 'openai-chat', file: JSON.stringify(chat, null, 1) },
  'chat, runs': { format: 'openai-chat', file: JSON.stringify([{ traj: chat }, { traj: chat }]) },
  'chat, a message per line': { format: 'openai-chat', file: lines(...chat) },
  'chat, a body per line': {
    format: 'openai-chat',
    file: lines({ messages: chat }, { messages: chat, tools: [call] }),
  },
  anthropic: {
    format: 'anthropic-messages',
    file: JSON.stringify({ system: [{ type: 'text', text: 'S' }], messages }),
  },
  responses: { format: 'openai-responses', file: JSON.stringify({ instructions: 'S', input: items }) },
  gemini: {
    format: 'gemini-contents',
    file: JSON.stringify({ systemInstruction: { parts: [{ text: 'S' }] }, contents }),
  },
  'ai sdk, chunks': { format: 'ai-sdk-stream', file: lines(...chunks) },
  'ai sdk, sent events': {
    format: 'ai-sdk-stream',
    file: chunks.map(chunk => `data: ${JSON.stringify(chunk)}\n\n`).join(''),
  },
  'ai sdk, messages': { format: 'ai-sdk-stream', file: JSON.stringify(shown) },
  langchain: { format: 'langchain', file: JSON.stringify(streamed) },
}

describe.each(Object.entries(FAMILIES))('%s', (_, { format, file }) => {
  const whole = Buffer.from(file)

  it('is read whatever happened to the file, into a log that a session takes', { timeout: 3_600_000 }, () => {
    for (let seed = 1; seed <= INPUTS; seed++) {
      const bytes = mutated(whole, rng(seed))
      expect(() => opened(bytes, { format }), `seed ${seed}`).not.toThrow()
    }
  })

  it('is found by content', () => {
    expect(readTranscript(whole).format).toBe(format)
  })
})
