import type { JsonObject, JsonValue } from '@palimpsest/session'
import { describe, expect, it } from 'vitest'
import { lines, opened, script } from './opened.js'
import { written } from './written.js'

const DAY = '2026-01-05T09:00'
const HEADER = { type: 'session', version: 3, id: 'ses', timestamp: `${DAY}:00.000Z`, cwd: '/project' }
const V1 = {
  type: 'session',
  id: 'ses',
  timestamp: `${DAY}:00.000Z`,
  cwd: '/project',
  provider: 'anthropic',
  modelId: 'claude-x',
}

let second = 0
const entry = (type: string, id: string, parentId: string | null, members: JsonObject) => ({
  type,
  id,
  parentId,
  timestamp: `${DAY}:${String(second++ % 60).padStart(2, '0')}.000Z`,
  ...members,
})
const message = (id: string, parentId: string | null, members: JsonObject) =>
  entry('message', id, parentId, { message: { ...members, timestamp: 1767603600000 } })
const user = (id: string, parentId: string | null, text: string) =>
  message(id, parentId, { role: 'user', content: [{ type: 'text', text }] })
const MODEL = { api: 'anthropic-messages', provider: 'anthropic', model: 'claude-opus-4-5' }
const answer = (id: string, parentId: string | null, content: JsonValue[], more: JsonObject = {}) =>
  message(id, parentId, { role: 'assistant', content, ...MODEL, stopReason: 'stop', ...more })
const says = (id: string, parentId: string | null, text: string) => answer(id, parentId, [{ type: 'text', text }])
const calls = (id: string, parentId: string | null, ...ids: string[]) =>
  answer(
    id,
    parentId,
    ids.map(each => ({ type: 'toolCall', id: each, name: 'count', arguments: { t: 1 } })),
    {
      stopReason: 'toolUse',
    },
  )
const result = (id: string, parentId: string | null, toolCallId: string, more: JsonObject = {}) =>
  message(id, parentId, {
    role: 'toolResult',
    toolCallId,
    toolName: 'count',
    content: [{ type: 'text', text: '42' }],
    isError: false,
    ...more,
  })
const compaction = (id: string, parentId: string | null, firstKeptEntryId: string, summary = 'So far.') =>
  entry('compaction', id, parentId, { summary, firstKeptEntryId, tokensBefore: 5 })

/** The text of a summary, which stands in some words of ours. */
const SUMMARY = expect.stringContaining('So far.')

describe('a pi session', () => {
  it('is the way from the root to the last entry', () => {
    const read = opened(lines(HEADER, user('a', null, 'Hi.'), says('b', 'a', 'Hello.'), user('c', 'b', 'Bye.')))
    expect(read.format).toBe('pi')
    expect(read.told).toEqual([])
    expect(read.about).toMatchObject({ id: 'ses', cwd: '/project', model: 'claude-opus-4-5', vendor: 'anthropic' })
    expect(script(read.messages)).toEqual(['user: Hi.', 'assistant: Hello.', 'user: Bye.'])
  })

  it('tells usage, how an answer ended, and when', () => {
    const usage = {
      input: 3,
      output: 5,
      cacheRead: 7,
      cacheWrite: 11,
      totalTokens: 26,
      cost: { total: 0.016818500000000004 },
    }
    const read = opened(
      lines(
        HEADER,
        user('a', null, 'Hi.'),
        answer('b', 'a', [{ type: 'text', text: 'He' }], { usage, stopReason: 'aborted' }),
      ),
    )
    const said = read.events.find(({ type }) => type === 'assistant/message')!
    expect(said.data).toMatchObject({
      interrupted: true,
      usage: { inputTokens: 21, outputTokens: 5, totalTokens: 26, cachedInputTokens: 7 },
    })
    expect(new Date(said.time).toISOString()).toContain(DAY)
    expect(read.told).toEqual([])
  })

  it('takes no failed attempt for a message where nothing was said', () => {
    const failed = answer('b', 'a', [], { stopReason: 'error', errorMessage: '429' })
    const read = opened(lines(HEADER, user('a', null, 'Hi.'), failed, says('c', 'b', 'Hello.')))
    expect(script(read.messages)).toEqual(['user: Hi.', 'assistant: Hello.'])
    expect(read.held('import/pi.message')).toHaveLength(1)
  })

  it('puts state in the place of the API that gave it', () => {
    const item = { id: 'rs_1', type: 'reasoning', summary: [], encrypted_content: 'gAAA' }
    const block = (thinkingSignature: string, more: JsonObject = {}) => ({
      type: 'thinking',
      thinking: 'Hm.',
      thinkingSignature,
      ...more,
    })
    const by = (api: string) => ({ api, provider: 'p', model: 'm' })
    const read = opened(
      lines(
        HEADER,
        answer('a', null, [block('c2ln')]),
        answer('b', 'a', [block('ZGF0YQ', { redacted: true })]),
        answer(
          'c',
          'b',
          [block(JSON.stringify(item)), { type: 'text', text: 'T', textSignature: 'msg_1' }],
          by('openai-responses'),
        ),
        answer(
          'd',
          'c',
          [{ type: 'toolCall', id: 'g', name: 'n', arguments: {}, thoughtSignature: 'dGg' }],
          by('google-gemini-cli'),
        ),
        answer('e', 'd', [block('reasoning_content')], by('openai-completions')),
      ),
    )
    expect(read.messages.map(({ content }) => content[0]!.providerOptions)).toEqual([
      { anthropic: { signature: 'c2ln' } },
      { anthropic: { redactedData: 'ZGF0YQ' } },
      { openai: { itemId: 'rs_1', reasoningEncryptedContent: 'gAAA', summary: [] } },
      { google: { thoughtSignature: 'dGg' } },
      undefined,
    ])
    expect(read.messages[2]!.content[1]!.providerOptions).toEqual({ openai: { itemId: 'msg_1' } })
  })

  it('keeps the digits, the order and every key of arguments', () => {
    const raw = '{"id":9007199254740993,"limit":1.10,"__proto__":{"admin":true}}'
    const line = JSON.stringify(calls('b', 'a', 'c1')).replace('{"t":1}', raw)
    const read = opened(lines(HEADER, user('a', null, 'Hi.'), line))
    expect(read.findings).toEqual([
      {
        code: 'number.unsafe',
        severity: 'info',
        where: 'line 3',
        path: '/message/content/0/arguments/id',
        raw: '9007199254740993',
      },
    ])
    expect(read.messages[1]!.content[0]).toMatchObject({ rawInput: raw })
    expect(Object.keys((read.messages[1]!.content[0] as { input: object }).input)).toEqual(['id', 'limit', '__proto__'])
    expect(written(read, 'pi').text).toContain(raw)
  })

  it('tells failed results, images and details', () => {
    const image = { type: 'image', data: 'iVBO', mimeType: 'image/png' }
    const read = opened(
      lines(
        HEADER,
        calls('a', null, 'c1', 'c2', 'c3'),
        result('b', 'a', 'c1', { isError: true, details: { exit: 1 } }),
        result('c', 'b', 'c2', { content: [image], isError: true }),
        result('d', 'c', 'c3', { content: [] }),
      ),
    )
    expect(script(read.messages).slice(1)).toEqual([
      'tool: c1 error-text 42',
      'tool: c2 content [{"type":"image-data","data":"iVBO","mediaType":"image/png"}]',
      'tool: c3 text ',
    ])
    expect(read.messages[2]!.content[0]!.providerOptions).toEqual({ palimpsest: { isError: true } })
    const note = read.held('import/pi.toolResult')[0]
    expect(note).toMatchObject({ message: { details: { exit: 1 } } })
  })

  it('shows what extensions, commands and other branches say, and keeps state as notes', () => {
    const bash = (id: string, parentId: string, more: JsonObject) =>
      message(id, parentId, { role: 'bashExecution', command: 'ls', output: 'a', exitCode: 1, ...more })
    const read = opened(
      lines(
        HEADER,
        user('a', null, 'Hi.'),
        bash('b', 'a', {}),
        bash('c', 'b', { command: 'env', excludeFromContext: true }),
        entry('custom_message', 'd', 'c', { customType: 'note', content: 'Told.', display: true }),
        entry('branch_summary', 'e', 'd', { fromId: 'x', summary: 'Tried it.' }),
        entry('custom', 'f', 'e', { customType: 'state', data: { n: 1 } }),
        entry('label', 'g', 'f', { targetId: 'a', label: 'here' }),
        entry('session_info', 'h', 'g', { name: 'Mine' }),
        entry('novelty', 'i', 'h', {}),
      ),
    )
    expect(script(read.messages)).toEqual([
      'user: Hi.',
      'user: The user ran `ls`\n```\na\n```\n(exit code 1)',
      'user: Told.',
      expect.stringContaining('Tried it.'),
    ])
    const notes = read.events.map(({ type }) => type)
    for (const type of ['message', 'custom', 'label', 'session_info', 'novelty'])
      expect(notes).toContain(`import/pi.${type}`)
  })

  it('shows a command that gave the same twice where it was run last', () => {
    const bash = (id: string, parentId: string | null) =>
      message(id, parentId, { role: 'bashExecution', command: 'ls', output: 'a' })
    const read = opened(lines(HEADER, bash('a', null), user('b', 'a', 'Hm.'), bash('c', 'b')))
    expect(script(read.messages)).toEqual(['user: Hm.', expect.stringContaining('`ls`')])
    expect(read.loss).toMatchObject([{ kind: 'text', count: 1, where: 'line 2' }])
  })

  it('goes on with the model of its last change', () => {
    const change = entry('model_change', 'c', 'b', { provider: 'google', modelId: 'gemini-3-pro' })
    const read = opened(lines(HEADER, user('a', null, 'Hi.'), says('b', 'a', 'Hello.'), change))
    expect(read.about).toMatchObject({ model: 'gemini-3-pro', vendor: 'google' })
  })
})

describe('a session of the fork', () => {
  it('has a title before its header, a model in one field, and the system text of a subagent', () => {
    const read = opened(
      lines(
        { type: 'title', v: 1, title: 'T', updatedAt: `${DAY}:00.000Z`, pad: '   ' },
        HEADER,
        entry('model_change', 'a', null, { model: 'openai/gpt-5.1' }),
        entry('session_init', 'b', 'a', { systemPrompt: 'Be brief.', task: 'T', tools: ['read'] }),
        user('c', 'b', 'Go.'),
        message('d', 'c', { role: 'developer', content: [{ type: 'text', text: 'Mind.' }] }),
      ),
    )
    expect(read.format).toBe('pi')
    expect(read.about).toMatchObject({ id: 'ses', model: 'gpt-5.1', vendor: 'openai' })
    expect(read.session.requestAt(read.session.length)).toMatchObject({ system: 'Be brief.', model: 'gpt-5.1' })
    expect(script(read.messages)).toEqual(['user: Go.', 'user: Mind.'])
    expect(read.messages[1]!.providerOptions).toEqual({ openai: { role: 'developer' } })
  })
})

describe('a branch that was left', () => {
  it('stands in the log, and the next prompt of the path takes its place', () => {
    const read = opened(
      lines(
        HEADER,
        user('a', null, 'Hi.'),
        says('b', 'a', 'Hello.'),
        user('c', 'b', 'Wrong.'),
        says('d', 'c', 'Oh.'),
        user('e', 'b', 'Right.'),
      ),
    )
    expect(script(read.messages)).toEqual(['user: Hi.', 'assistant: Hello.', 'user: Right.'])
    expect(read.events.findLast(({ surfaceOp }) => typeof surfaceOp === 'object')!.sourceEventSeqs).toHaveLength(2)
  })

  it('may have been left more than once', () => {
    const read = opened(
      lines(
        HEADER,
        user('a', null, '1'),
        user('b', 'a', '2'),
        user('c', 'b', '3'),
        user('d', 'b', '4'),
        user('e', 'a', '5'),
        user('f', null, '6'),
      ),
    )
    expect(script(read.messages)).toEqual(['user: 6'])
    expect(read.events.filter(({ surfaceOp }) => typeof surfaceOp === 'object')).toHaveLength(3)
  })

  it('with nothing in its place is kept as notes', () => {
    const read = opened(
      lines(
        HEADER,
        user('a', null, 'Hi.'),
        user('b', 'a', 'Wrong.'),
        entry('label', 'c', 'a', { targetId: 'a', label: 'x' }),
      ),
    )
    expect(script(read.messages)).toEqual(['user: Hi.'])
    expect(read.held('import/pi.message')).toHaveLength(1)
  })
})

describe('a compaction', () => {
  it('takes the place of what it does not keep', () => {
    const read = opened(
      lines(
        HEADER,
        user('a', null, '1'),
        says('b', 'a', '2'),
        user('c', 'b', '3'),
        compaction('d', 'c', 'c'),
        user('e', 'd', '4'),
      ),
    )
    expect(read.told).toEqual([])
    expect(script(read.messages)).toEqual([SUMMARY, 'user: 3', 'user: 4'])
  })

  it('is followed by another that shadows its summary', () => {
    const read = opened(
      lines(
        HEADER,
        user('a', null, '1'),
        user('b', 'a', '2'),
        compaction('c', 'b', 'b', 'Older.'),
        user('d', 'c', '3'),
        compaction('e', 'd', 'd'),
      ),
    )
    expect(script(read.messages)).toEqual([SUMMARY, 'user: 3'])
  })

  it('that cuts between a call and its result keeps both', () => {
    const read = opened(
      lines(
        HEADER,
        user('a', null, '1'),
        calls('b', 'a', 'c1'),
        result('c', 'b', 'c1'),
        says('d', 'c', '2'),
        compaction('e', 'd', 'c'),
        user('f', 'e', '3'),
      ),
    )
    expect(read.findings).toEqual([
      { code: 'compaction.cut-inside-pair', severity: 'error', where: 'line 6', cut: 'c', movedTo: 'b' },
    ])
    expect(script(read.messages)).toEqual([
      SUMMARY,
      'assistant: c1 count {"t":1}',
      'tool: c1 text 42',
      'assistant: 2',
      'user: 3',
    ])
  })

  it('that stands inside a kept pair renders nothing', () => {
    const read = opened(
      lines(
        HEADER,
        user('a', null, '1'),
        calls('b', 'a', 'c1'),
        compaction('c', 'b', 'b', 'Older.'),
        result('d', 'c', 'c1'),
        compaction('e', 'd', 'b'),
        user('f', 'e', '2'),
      ),
    )
    expect(read.told).toEqual(['compaction.superseded-inside-pair line 4'])
    expect(script(read.messages)).toEqual([SUMMARY, 'assistant: c1 count {"t":1}', 'tool: c1 text 42', 'user: 2'])
  })

  it('that kept more than the one behind it renders nothing in its kept stretch', () => {
    const read = opened(
      lines(
        HEADER,
        user('a', null, '1'),
        calls('b', 'a', 'c1'),
        compaction('c', 'b', 'a', 'Older.'),
        result('d', 'c', 'c1'),
        compaction('e', 'd', 'b'),
        user('f', 'e', '2'),
      ),
    )
    expect(read.told).toEqual(['compaction.superseded-inside-pair line 4'])
    expect(script(read.messages)).toEqual([SUMMARY, 'assistant: c1 count {"t":1}', 'tool: c1 text 42', 'user: 2'])
  })

  it('with a blank summary did not happen', () => {
    const read = opened(
      lines(HEADER, user('a', null, '1'), says('b', 'a', '2'), compaction('c', 'b', 'b', ' \n'), user('d', 'c', '3')),
    )
    expect(read.told).toEqual(['compaction.void-summary line 4'])
    expect(script(read.messages)).toEqual(['user: 1', 'assistant: 2', 'user: 3'])
  })

  it('that names an entry that is not there keeps nothing of before', () => {
    const read = opened(lines(HEADER, user('a', null, '1'), compaction('b', 'a', 'zz'), user('c', 'b', '2')))
    expect(read.findings).toEqual([
      { code: 'lineage.dangling-boundary', severity: 'error', where: 'line 3', missing: 'zz', bridgedTo: 'a' },
    ])
    expect(script(read.messages)).toEqual([SUMMARY, 'user: 2'])
  })

  it('that keeps all is told of behind it', () => {
    const read = opened(lines(HEADER, user('a', null, '1'), compaction('b', 'a', 'a'), user('c', 'b', '2')))
    expect(script(read.messages)).toEqual(['user: 1', SUMMARY, 'user: 2'])
  })
})

describe('an older session', () => {
  const flat = (...records: { id?: string; parentId?: string | null }[]) =>
    records.map(({ id: _, parentId: __, ...rest }) => rest)

  it('of version 1 is a list, and its compaction counts the header', () => {
    const cut = entry('compaction', '', null, { summary: 'So far.', firstKeptEntryIndex: 3, tokensBefore: 5 })
    const read = opened(
      lines(V1, ...flat(user('', null, '1'), says('', null, '2'), user('', null, '3'), cut, user('', null, '4'))),
    )
    expect(read.told).toEqual([])
    expect(script(read.messages)).toEqual([SUMMARY, 'user: 3', 'user: 4'])
    expect(read.about).toMatchObject({ model: 'claude-x', vendor: 'anthropic' })
  })

  it('of version 1 names lines where a cut is moved', () => {
    const cut = entry('compaction', '', null, { summary: 'So far.', firstKeptEntryIndex: 3, tokensBefore: 5 })
    const read = opened(lines(V1, ...flat(user('', null, '1'), calls('', null, 'c1'), result('', null, 'c1'), cut)))
    expect(read.findings).toMatchObject([
      { code: 'compaction.cut-inside-pair', where: 'line 5', cut: 'line 4', movedTo: 'line 3' },
    ])
  })
})

describe('a damaged session', () => {
  it('of a newer version is not read', () => {
    const read = opened(lines({ ...HEADER, version: 9 }, user('a', null, 'Hi.')))
    expect(read.findings).toEqual([{ code: 'format.newer', severity: 'error', where: 'line 1', file: 9, supported: 3 }])
    expect(read.about).toMatchObject({ unreadable: true, resume: 'refused' })
    expect(read.messages).toEqual([])
  })

  it('whose last line is cut inside a character loses that record only', () => {
    const whole = Buffer.from(lines(HEADER, user('a', null, 'Hi.'), says('b', 'a', 'Café 🙂')))
    const read = opened(whole.subarray(0, whole.indexOf('🙂') + 2))
    expect(read.told).toEqual(['file.torn-record line 3'])
    expect(script(read.messages)).toEqual(['user: Hi.'])
  })

  it('whose last record lacks its newline is whole', () => {
    const read = opened(lines(HEADER, user('a', null, 'Hi.')).trimEnd())
    expect(read.told).toEqual(['file.no-final-newline line 2'])
    expect(read.messages).toHaveLength(1)
  })

  it('bridges a parent that was never written to the entry before it', () => {
    const read = opened(lines(HEADER, user('a', null, '1'), says('b', 'a', '2'), user('c', 'zz', '3')))
    expect(read.findings).toEqual([
      { code: 'lineage.dangling-parent', severity: 'error', where: 'line 4', missing: 'zz', bridgedTo: 'b' },
    ])
    expect(script(read.messages)).toEqual(['user: 1', 'assistant: 2', 'user: 3'])
  })

  it('counts the first of two entries with one id', () => {
    const read = opened(lines(HEADER, user('a', null, '1'), says('b', 'a', '2'), user('a', null, 'copy')))
    expect(read.findings).toMatchObject([{ code: 'lineage.replayed-copy', where: 'line 4', of: 'line 2' }])
    expect(script(read.messages)).toEqual(['user: 1', 'assistant: 2'])
  })

  it('follows the parent where it was written behind its child', () => {
    const read = opened(lines(HEADER, says('b', 'a', '2'), user('a', null, '1'), user('c', 'b', '3')))
    expect(read.findings).toMatchObject([{ code: 'order.clock-disagrees', where: 'line 2', id: 'b', parent: 'a' }])
    expect(script(read.messages)).toEqual(['user: 1', 'assistant: 2', 'user: 3'])
  })

  it('gives a message without an id its place', () => {
    const { id: _, ...nameless } = user('', 'a', '2')
    const read = opened(lines(HEADER, user('a', null, '1'), nameless, says('c', 'a', '3')))
    expect(read.findings).toMatchObject([{ code: 'event.missing-id', where: 'line 3', derivedFrom: ['ses', 1] }])
    expect(script(read.messages)).toEqual(['user: 1', 'user: 2', 'assistant: 3'])
  })

  it('goes on before an entry that names itself as its parent', () => {
    const { told, messages } = opened(
      lines(HEADER, user('a', null, 'One.'), says('b', 'a', 'Two.'), user('c', 'c', 'Three.')),
    )
    expect(told).toEqual(['lineage.dangling-parent line 4'])
    expect(script(messages)).toEqual(['user: One.', 'assistant: Two.', 'user: Three.'])
  })

  it('that was written twice counts once', () => {
    const file = lines(HEADER, user('a', null, 'One.'), says('b', 'a', 'Two.'))
    const { told, messages } = opened(file + file)
    expect(told).toEqual(['file.second-header line 4', 'lineage.replayed-copy line 5', 'lineage.replayed-copy line 6'])
    expect(script(messages)).toEqual(['user: One.', 'assistant: Two.'])
  })

  it('of which a later version wrote a part tells of messages that are not known', () => {
    const { told, loss, messages } = opened(
      lines(
        HEADER,
        user('a', null, 'One.'),
        message('b', 'a', { role: 'critic', content: 'No.' }),
        entry('whisper', 'c', 'b', { message: { role: 'user', content: 'Psst.' } }),
      ),
    )
    expect(told).toEqual(['record.unknown-type line 3', 'record.unknown-type line 4'])
    expect(loss).toHaveLength(2)
    expect(script(messages)).toEqual(['user: One.'])
  })

  it('with another one behind it is the first of the two', () => {
    const { findings, messages, held } = opened(
      lines(
        HEADER,
        user('a', null, 'One.'),
        { ...HEADER, id: 'other' },
        user('b', null, 'Two.'),
        says('c', 'b', 'No.'),
      ),
    )
    expect(findings).toEqual([
      { code: 'lineage.foreign-session', severity: 'error', where: 'line 3-5', sessionId: 'other', records: 3 },
    ])
    expect(script(messages)).toEqual(['user: One.'])
    expect(held('import/pi.message')).toHaveLength(2)
  })

  it('whose parents run in a circle ends', () => {
    expect(opened(lines(HEADER, user('a', 'b', '1'), user('b', 'a', '2'))).messages.length).toBeGreaterThan(0)
  })
})

describe('a written session', () => {
  it('gives back a rollout, and tells what it cannot hold', () => {
    const item = (payload: JsonObject) => ({ timestamp: `${DAY}:00.000Z`, type: 'response_item', payload })
    const codex = opened(
      lines(
        {
          timestamp: `${DAY}:00.000Z`,
          type: 'session_meta',
          payload: { id: 't', cwd: '/p', base_instructions: { text: 'Be brief.' } },
        },
        { timestamp: `${DAY}:00.000Z`, type: 'turn_context', payload: { model: 'gpt-5.1' } },
        item({ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Go.' }] }),
        item({ type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'gAAA' }),
        item({ type: 'custom_tool_call', call_id: 'c1', name: 'apply_patch', input: '*** Begin' }),
        item({ type: 'web_search_call', action: { type: 'search', query: 'q' } }),
        item({ type: 'custom_tool_call_output', call_id: 'c1', output: 'ok' }),
      ),
    )
    const { text, loss } = written(codex, 'pi')
    expect(loss.map(({ kind }) => kind)).toEqual(['call', 'text'])
    const read = opened(text)
    expect(read.told).toEqual([])
    expect(read.about).toMatchObject({ id: 't', cwd: '/p', model: 'gpt-5.1', vendor: 'openai' })
    expect(script(read.messages)).toEqual([
      'user: Go.',
      'assistant: () | c1 apply_patch {"input":"*** Begin"}',
      'tool: c1 text ok',
    ])
    expect(read.messages[1]!.content[0]!.providerOptions).toEqual(codex.messages[1]!.content[0]!.providerOptions)
  })
})
