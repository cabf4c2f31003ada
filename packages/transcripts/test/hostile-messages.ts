import fc from 'fast-check'

/** Messages as agents leave them in a provider's form: in any order, with any id, with what providers refuse. */
export function hostileMessages(format: string): fc.Arbitrary<object[]> {
  return fc.array(MESSAGES[format]!, { minLength: 1, maxLength: 10 })
}

// --- internal ---

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

const text = fc.constantFrom('hi', 'two\nlines', '', ' ', '\n', 'é😀', '\ud83d', 'nul \u0000', '{"a":1}')
const id = fc.constantFrom('call_1', 'call_2', 'call_3', 'a|b', 'x'.repeat(70), 'run:0', '', 'fc_1', '\ud83d', 'é')
const name = fc.constantFrom('read', 'write', 'a.b', 'sp ace', '')
const args = fc.constantFrom(
  '{}',
  '{"id":9007199254740993}',
  '{ "b" : 1.10 }',
  '',
  '{"half',
  '[1]',
  'null',
  '{"2":1,"1":2}',
)
const input = fc.constantFrom<unknown>({}, { a: 1 }, { a: { b: [1, null] } }, [], 'x')
const signature = fc.constantFrom('c2ln', 'sig-one', '', undefined)
const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined })
const parts = (...kinds: fc.Arbitrary<unknown>[]) => fc.array(fc.oneof(...kinds), { maxLength: 4 })

/** What no provider knows. */
const junk = fc.constant({ type: 'hologram', beam: 1 })
const textPart = fc.record({ type: fc.constant('text'), text })
const chatImage = fc
  .constantFrom(
    `data:image/png;base64,${PNG}`,
    `data:image/jpeg;base64,${PNG}`,
    'https://x.test/y.png',
    'data:image/png;base64,AAAA',
  )
  .map(url => ({ type: 'image_url', image_url: { url } }))
const chatFile = fc.constant({ type: 'file', file: { file_id: 'f' } })
const chatCall = fc.record({
  id,
  type: fc.constant('function'),
  function: fc.record({ name, arguments: args }),
})
const customCall = fc.record({ id, type: fc.constant('custom'), custom: fc.record({ name, input: text }) })
const chatMessage = fc.oneof(
  fc.record({
    role: fc.constantFrom('user', 'system', 'developer'),
    content: fc.oneof(text, parts(textPart, chatImage, chatFile, junk)),
  }),
  fc.record({
    role: fc.constant('assistant'),
    content: fc.oneof(text, fc.constant(null), parts(textPart, chatFile, chatImage)),
    tool_calls: maybe(fc.array(fc.oneof({ weight: 5, arbitrary: chatCall }, customCall), { maxLength: 3 })),
    reasoning_content: maybe(text),
    refusal: maybe(text),
  }),
  fc.record({
    role: fc.constant('tool'),
    tool_call_id: maybe(id),
    content: fc.oneof(text, parts(textPart), fc.constantFrom<unknown>(null, { a: 1 }, 5)),
  }),
)

const block = (type: string, more: Record<string, fc.Arbitrary<unknown>>) =>
  fc.record({ type: fc.constant(type), ...more })
const source = fc.constantFrom(
  { type: 'base64', media_type: 'image/jpeg', data: PNG },
  { type: 'url', url: 'https://x.test/a.png' },
  { type: 'file', file_id: 'f' },
  { type: 'base64', media_type: 'image/png', data: '' },
)
const anthropicImage = block('image', { source })
const anthropicMessage = fc.oneof(
  fc.record({
    role: fc.constant('user'),
    content: fc.oneof(
      text,
      parts(
        textPart,
        block('tool_result', { tool_use_id: id, content: text, is_error: fc.boolean() }),
        block('tool_result', { tool_use_id: id, content: parts(textPart, anthropicImage) }),
        anthropicImage,
        junk,
        block('tool_use', { id, name, input }),
        fc.constant({ type: 'search_result', source: 's', title: 't', content: [] }),
      ),
    ),
  }),
  fc.record({
    role: fc.constant('assistant'),
    content: fc.oneof(
      text,
      parts(
        textPart,
        block('tool_use', { id, name, input }),
        block('thinking', { thinking: text, signature }),
        fc.constant({ type: 'redacted_thinking', data: 'xx' }),
        fc.constant({ type: 'server_tool_use', id: 'srv_1', name: 'web_search', input: {} }),
        block('tool_result', { tool_use_id: id, content: text }),
        anthropicImage,
        junk,
      ),
    ),
  }),
)

const shown = fc.constant({ type: 'input_image', image_url: `data:image/png;base64,${PNG}` })
const inputText = block('input_text', { text })
const responsesItem = fc.oneof(
  block('message', {
    role: fc.constantFrom('user', 'developer', 'system'),
    content: fc.oneof(text, parts(inputText, shown, junk)),
  }),
  block('message', {
    role: fc.constant('assistant'),
    id: fc.constantFrom(undefined, 'msg_1', 'msg_2', 'bad id'),
    content: parts(block('output_text', { text }), block('refusal', { refusal: text })),
  }),
  block('reasoning', {
    id: fc.constantFrom(undefined, 'rs_1', 'rs_2'),
    summary: fc.array(block('summary_text', { text }), { maxLength: 2 }),
    encrypted_content: fc.constantFrom(undefined, null, 'gAAA', 'gBBB'),
  }),
  block('function_call', { id: fc.constantFrom(undefined, 'fc_1', 'fc_2'), call_id: id, name, arguments: args }),
  block('function_call_output', {
    call_id: id,
    output: fc.oneof(text, parts(inputText, shown), fc.constant({ a: 1 })),
  }),
  block('custom_tool_call', { call_id: id, name, input: text }),
  block('custom_tool_call_output', { call_id: id, output: text }),
  block('local_shell_call', {
    id: fc.constant('lsh_1'),
    call_id: id,
    action: fc.constant({ type: 'exec', command: ['ls'] }),
  }),
  fc.constantFrom(
    { type: 'web_search_call', id: 'ws_1', status: 'completed' },
    { type: 'item_reference', id: 'msg_1' },
  ),
)

const functionCall = fc.record({ id: maybe(id), name, args: fc.constantFrom(undefined, {}, { a: 1 }) })
const answer = fc.oneof(
  fc.record({ output: text }),
  fc.record({ error: text }),
  fc.constantFrom<unknown>({ a: 1 }, {}, 's'),
)
const geminiPart = fc.oneof(
  fc.record({ text, thoughtSignature: signature }),
  fc.record({ text, thought: fc.constant(true) }),
  fc.record({ functionCall, thoughtSignature: signature }),
  fc.record({ functionResponse: fc.record({ id: maybe(id), name, response: answer }) }),
  fc.constantFrom<object>(
    { inline_data: { mime_type: 'image/png', data: PNG } },
    { fileData: { mimeType: 'application/pdf', fileUri: 'https://x.test/a' } },
    { executableCode: { language: 'PYTHON', code: '1' } },
    {},
  ),
)
const geminiContent = fc.record({
  role: fc.constantFrom('user', 'model'),
  parts: fc.array(geminiPart, { maxLength: 4 }),
})

const MESSAGES: Record<string, fc.Arbitrary<object>> = {
  'openai-chat': chatMessage,
  'anthropic-messages': anthropicMessage,
  'openai-responses': responsesItem,
  'gemini-contents': geminiContent,
}
