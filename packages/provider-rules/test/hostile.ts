import type { Message, ModelRequest } from '@palimpsest/session'
import fc from 'fast-check'

/** Bytes of images that stand for themselves, 8 x 8 px, and what is none. */
export const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAIAAABLbSncAAAAEElEQVR42mNgELHBjoaWBADCMRQBdnQuXgAAAABJRU5ErkJggg=='
const GIF = 'R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7'

const ids = fc.constantFrom(
  'a',
  'b',
  'call_1',
  'a_2',
  '',
  'run:0',
  'x\ud83d',
  'call_with_a_name_that_is_much_longer_than_forty_characters_and_even_than_sixty_four',
  'ünï|fc_1',
)
const names = fc.constantFrom('read', 'mcp.read/file', '', '9 lives', 'n'.repeat(130), 'half\udc00')
const texts = fc.constantFrom('hello', '', ' \n', 'half \ud83d of it', 'whole 😀', 'nul \u0000')
const models = fc.constantFrom(
  undefined,
  { vendor: 'anthropic', model: 'claude-opus-4-5' },
  { vendor: 'openai', model: 'gpt-5' },
  { vendor: 'google', model: 'gemini-3-pro' },
  { vendor: 'deepseek', model: 'deepseek-reasoner' },
)
const states = fc.constantFrom(
  {},
  { anthropic: { signature: 'c2ln' } },
  { anthropic: { redactedData: 'ZGF0YQ==' } },
  { openai: { itemId: 'rs_1', reasoningEncryptedContent: 'c2VjcmV0' } },
  { openai: { itemId: 'fc_1' } },
  { openai: { itemId: 'msg 1' } },
  { openai: { itemId: 'rs_2', reasoningEncryptedContent: 'x', content: [{ type: 'reasoning_text', text: 'open' }] } },
  { google: { thoughtSignature: 'c2ln' } },
  { google: { thoughtSignature: 'no base 64!' } },
)
const withState = <T extends object>(parts: fc.Arbitrary<T>) =>
  fc.tuple(parts, states).map(([part, providerOptions]) => ({ ...part, providerOptions }))

const text = fc.record({ type: fc.constant('text' as const), text: texts })
const data = fc.constantFrom(PNG, GIF, 'bm8gaW1hZ2U=', '', 'not base64!', 'https://example.org/a.png')
const mediaType = fc.constantFrom('image/png', 'image/jpeg', 'image/svg+xml', 'application/pdf', 'audio/wav')
const image = fc.record({ type: fc.constant('image' as const), image: data, mediaType })
const file = fc.record({ type: fc.constant('file' as const), data, mediaType })

const user = fc.record({
  role: fc.constant('user' as const),
  content: fc.array(fc.oneof(text, text, image, file), { maxLength: 3 }),
})

const call = fc.record(
  {
    type: fc.constant('tool-call' as const),
    toolCallId: ids,
    toolName: names,
    input: fc.constantFrom<unknown>({}, { a: 1 }, { 'k\ud800': 'v\udfff' }, [], 'text', null),
    rawInput: fc.constantFrom(
      '{"a": 1.0}',
      '{"a"',
      '',
      '[1]',
      '{"a":"\\ud83d"}',
      '{"a":9007199254740993}',
      '{"a":"\\\\ud83d"}',
    ),
    providerExecuted: fc.constant(true),
  },
  { requiredKeys: ['type', 'toolCallId', 'toolName', 'input'] },
)
const reasoning = fc.record({ type: fc.constant('reasoning' as const), text: texts })
const assistant = fc
  .tuple(models, fc.array(withState(fc.oneof(text, text, reasoning, call, call, file)), { maxLength: 4 }))
  .map(([palimpsest, content]) => ({
    role: 'assistant' as const,
    content,
    ...(palimpsest && { providerOptions: { palimpsest } }),
  }))

const output = fc.oneof(
  fc.record({ type: fc.constantFrom('text', 'error-text'), value: texts }),
  fc.record({
    type: fc.constantFrom('json', 'error-json'),
    value: fc.constantFrom<unknown>(null, {}, [1], 'x', { a: '\ud800' }),
  }),
  fc.record({ type: fc.constant('execution-denied') }),
  fc.record({
    type: fc.constant('content'),
    value: fc.array(
      fc.oneof(
        text,
        fc.record({ type: fc.constantFrom('image-data', 'file-data'), data, mediaType }),
        fc.record({ type: fc.constant('file-id'), fileId: ids }),
      ),
      { maxLength: 3 },
    ),
  }),
)
const result = fc.record({ type: fc.constant('tool-result' as const), toolCallId: ids, toolName: names, output })
const tool = fc.record({ role: fc.constant('tool' as const), content: fc.array(result, { maxLength: 3 }) })

/** Messages as no provider ever saw them: any order, any ids, whatever a log may hold. */
export const hostileRequests: fc.Arbitrary<ModelRequest> = fc
  .record(
    {
      model: fc.constantFrom(
        'claude-opus-4-5',
        'gpt-5',
        'gemini-3-pro',
        'gemini-2.5-pro',
        'deepseek-reasoner',
        'deepseek-chat',
      ),
      settings: fc.constant({}),
      system: texts,
      tools: fc.array(fc.record({ name: names, inputSchema: fc.constantFrom({ type: 'object' }, {}) }), {
        maxLength: 3,
      }),
      messages: fc.array(fc.oneof(user, assistant, assistant, tool, tool), { minLength: 1, maxLength: 12 }),
    },
    { requiredKeys: ['model', 'settings', 'messages'] },
  )
  .map(request => request as unknown as ModelRequest & { messages: Message[] })
