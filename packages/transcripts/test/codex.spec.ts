import type { JsonObject } from '@palimpsest/session'
import { describe, expect, it } from 'vitest'
import { lines, opened, script } from './opened.js'
import { written } from './written.js'
import { zstdFrame } from './zstd-frame.js'

let clock = Date.parse('2026-01-05T09:00:00.000Z')
const record = (type: string, payload: JsonObject, more: JsonObject = {}) => {
  clock += 1000
  return { timestamp: new Date(clock).toISOString(), ...more, type, payload }
}
const META = record('session_meta', {
  id: 'thread-1',
  timestamp: '2026-01-05T09:00:00.000Z',
  cwd: '/project',
  model_provider: 'openai',
  base_instructions: { text: 'Be brief.' },
})
const context = (model: string) => record('turn_context', { cwd: '/project', model, effort: 'high', summary: 'auto' })
const item = (payload: JsonObject) => record('response_item', payload)
const event = (payload: JsonObject) => record('event_msg', payload)
const said = (text: string, role = 'user') => item({ type: 'message', role, content: [{ type: 'input_text', text }] })
const typed = (text: string) => [said(text), event({ type: 'user_message', message: text })]
const answered = (text: string) =>
  item({ type: 'message', role: 'assistant', content: [{ type: 'output_text', text }] })
const call = (call_id: string, args = '{"cmd":"ls"}') =>
  item({ type: 'function_call', name: 'exec', arguments: args, call_id })
const output = (call_id: string, value: JsonObject[string]) =>
  item({ type: 'function_call_output', call_id, output: value })
const rolledBack = (num_turns: number) => event({ type: 'thread_rolled_back', num_turns })

describe('a rollout', () => {
  it('is read once, with what a person typed told from what the agent put in', () => {
    const read = opened(
      lines(
        META,
        context('gpt-5.1-codex'),
        said('<environment_context>here</environment_context>'),
        said('Rules.', 'developer'),
        ...typed('List them.'),
        event({ type: 'agent_message', message: 'Two files.' }),
        answered('Two files.'),
      ),
    )
    expect(read.format).toBe('codex')
    expect(read.told).toEqual([])
    expect(read.about).toMatchObject({ id: 'thread-1', cwd: '/project', model: 'gpt-5.1-codex', vendor: 'openai' })
    expect(script(read.messages)).toEqual([
      'user: <environment_context>here</environment_context>',
      'user: Rules.',
      'user: List them.',
      'assistant: Two files.',
    ])
    expect(read.events.flatMap(({ type }) => (type.endsWith('/message') ? [type] : []))).toEqual([
      'context/message',
      'context/message',
      'user/message',
      'assistant/message',
    ])
    expect(read.messages[1]!.providerOptions).toEqual({ openai: { role: 'developer' } })
    expect(read.session.requestAt(read.session.length)).toMatchObject({ system: 'Be brief.', model: 'gpt-5.1-codex' })
  })

  it('keeps the events of the UI, and records of unknown types, as notes', () => {
    const read = opened(lines(META, ...typed('Hi.'), record('world_state', { full: true }), item({ type: 'novelty' })))
    const notes = read.events.flatMap(({ type, ignorable }) => (ignorable ? [type] : []))
    expect(notes).toEqual([
      'import/codex.session_meta',
      'import/codex.user_message',
      'import/codex.world_state',
      'import/codex.response_item.novelty',
    ])
  })

  it('takes the typed text that is told before its item', () => {
    const read = opened(lines(META, event({ type: 'user_message', message: 'Hi.' }), said('Hi.'), answered('Hello.')))
    expect(read.events.some(({ type }) => type === 'user/message')).toBe(true)
  })

  it('joins reasoning and calls to one answer, ended by its outputs, and counts usage once', () => {
    const usage = (last: number, total: number) =>
      event({
        type: 'token_count',
        info: {
          total_token_usage: { total_tokens: total },
          last_token_usage: { input_tokens: last, total_tokens: last },
        },
      })
    const read = opened(
      lines(
        META,
        context('gpt-5.1-codex'),
        ...typed('Go.'),
        item({
          type: 'reasoning',
          id: 'rs_1',
          summary: [{ type: 'summary_text', text: 'Two ways.' }],
          encrypted_content: 'gAAA',
        }),
        call('c1'),
        call('c2'),
        output('c1', 'one'),
        usage(10, 10),
        output('c2', [
          { type: 'input_text', text: 'two' },
          { type: 'input_image', image_url: 'data:image/png;base64,iVBO' },
        ]),
        usage(10, 10),
        answered('Done.'),
        usage(20, 30),
      ),
    )
    expect(script(read.messages)).toEqual([
      'user: Go.',
      'assistant: (Two ways.) | c1 exec {"cmd":"ls"} | c2 exec {"cmd":"ls"}',
      'tool: c1 text one',
      'tool: c2 content [{"type":"text","text":"two"},{"type":"image-data","data":"iVBO","mediaType":"image/png"}]',
      'assistant: Done.',
    ])
    expect(read.messages[1]).toMatchObject({
      providerOptions: { palimpsest: { vendor: 'openai', model: 'gpt-5.1-codex' } },
      content: [{ providerOptions: { openai: { itemId: 'rs_1', reasoningEncryptedContent: 'gAAA' } } }, {}, {}],
    })
    const counted = read.events.flatMap(each =>
      each.type === 'assistant/message' ? [each.data.usage?.inputTokens] : [],
    )
    expect(counted).toEqual([10, 20])
  })

  it('names the vendor of the model in force', () => {
    const read = opened(
      lines(META, context('claude-opus-4-5'), ...typed('A.'), answered('B.'), context('gpt-5'), answered('C.')),
    )
    const vendors = read.messages.flatMap(({ providerOptions }) => providerOptions?.palimpsest?.vendor ?? [])
    expect(vendors).toEqual(['anthropic', 'openai'])
    expect(read.about).toMatchObject({ model: 'gpt-5', vendor: 'openai' })
  })

  it('reads the other kinds of calls: free text, the shell of an API, tools of the provider', () => {
    const search = { type: 'web_search_call', status: 'completed', action: { type: 'search', query: 'q' } }
    const read = opened(
      lines(
        META,
        ...typed('Go.'),
        item({ type: 'custom_tool_call', call_id: 'c1', name: 'apply_patch', input: '*** Begin' }),
        item({
          type: 'local_shell_call',
          call_id: 'c2',
          status: 'completed',
          action: { type: 'exec', command: ['ls'] },
        }),
        item(search),
        item({ type: 'custom_tool_call_output', call_id: 'c1', output: '{"output":"ok","metadata":{"exit_code":0}}' }),
        output('c2', { content: 'no', success: false }),
      ),
    )
    const [custom, shell, hosted] = read.messages[1]!.content
    expect(custom).toMatchObject({ input: { input: '*** Begin' }, providerOptions: { openai: { type: 'custom' } } })
    expect(shell).toMatchObject({ toolName: 'local_shell', input: { type: 'exec', command: ['ls'] } })
    expect(hosted).toMatchObject({
      toolName: 'web_search',
      providerExecuted: true,
      providerOptions: { openai: { item: search } },
    })
    expect(script(read.messages).slice(2)).toEqual([
      'tool: c1 text {"output":"ok","metadata":{"exit_code":0}}',
      'tool: c2 error-text no',
    ])
  })

  it('takes the first of several identities, and keeps what the others say', () => {
    const other = record('session_meta', { id: 'parent', timestamp: '2026-01-04T09:00:00.000Z', cwd: '/other' })
    const read = opened(lines(META, other, ...typed('Hi.')))
    expect(read.about).toMatchObject({ id: 'thread-1', cwd: '/project' })
    expect(read.held('import/codex.session_meta')).toHaveLength(2)
  })

  it('tells who wrote to whom between agents, and declares what cannot be read', () => {
    const content = [
      { type: 'input_text', text: 'Found it.' },
      { type: 'encrypted_content', encrypted_content: 'x' },
    ]
    const read = opened(
      lines(META, ...typed('Go.'), item({ type: 'agent_message', author: '/a', recipient: '/', content })),
    )
    expect(script(read.messages)).toEqual(['user: Go.', 'user: Found it.'])
    expect(read.loss).toMatchObject([{ kind: 'text', count: 1 }])
  })

  it('ends an aborted turn, whose calls stay without results', () => {
    const read = opened(
      lines(META, ...typed('Go.'), call('c1'), event({ type: 'turn_aborted', reason: 'interrupted' })),
    )
    expect(read.events.at(-2)).toMatchObject({
      type: 'turn/end',
      data: { reason: { kind: 'aborted', reason: 'interrupted' } },
    })
  })
})

describe('a compaction', () => {
  const before = [META, context('gpt-5'), ...typed('First.'), answered('One.'), ...typed('Second.'), answered('Two.')]

  it('with a history of its own puts that in place of all before', () => {
    const compaction = { type: 'compaction', id: 'cmp_1', encrypted_content: 'gAAA' }
    const history = [
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'First.' }] },
      { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'Rules.' }] },
      compaction,
    ]
    const read = opened(
      lines(...before, record('compacted', { message: '', replacement_history: history }), ...typed('Third.')),
    )
    expect(read.told).toEqual([])
    expect(script(read.messages)).toEqual([
      'user: First.',
      'user: Rules.',
      'assistant: cmp_1 compaction {}',
      'user: Third.',
    ])
    expect(read.messages[2]!.content[0]).toMatchObject({ providerOptions: { openai: { item: compaction } } })
    const replacement = read.events.find(({ surfaceOp }) => typeof surfaceOp === 'object')!
    expect(replacement.sourceEventSeqs).toHaveLength(4)
  })

  it('without one keeps what was typed, and the summary', () => {
    const read = opened(lines(...before, record('compacted', { message: 'Both done.' }), ...typed('Third.')))
    expect(script(read.messages)).toEqual(['user: First.', 'user: Second.', 'user: Both done.', 'user: Third.'])
  })

  it('without a summary did not happen', () => {
    const read = opened(lines(...before, record('compacted', { message: ' ' }), ...typed('Third.')))
    expect(read.told).toEqual(['compaction.void-summary line 9'])
    expect(read.messages).toHaveLength(5)
  })

  it('whose history begins with an output puts the output behind the next message', () => {
    const history = [
      { type: 'function_call_output', call_id: 'c9', output: 'late' },
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'First.' }] },
    ]
    const read = opened(lines(...before, record('compacted', { message: '', replacement_history: history })))
    expect(script(read.messages)).toEqual(['user: First.', 'tool: c9 text late'])
  })

  it('with an empty history and no summary did not happen', () => {
    const read = opened(lines(...before, record('compacted', { message: '', replacement_history: [] })))
    expect(read.told).toEqual(['compaction.void-summary line 9'])
    expect(read.messages).toHaveLength(4)
  })

  it('that cut the call of an output off keeps it', () => {
    const summary = { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Sum.' }] }
    const kept = { type: 'function_call_output', call_id: 'c1', output: 'ok' }
    const loop = [META, context('gpt-5'), ...typed('First.'), call('c1')]
    const later = opened(lines(...loop, record('compacted', { message: 'Sum.' }), output('c1', 'ok')))
    const inside = opened(
      lines(...loop, output('c1', 'ok'), record('compacted', { message: '', replacement_history: [kept, summary] })),
    )
    expect(script(later.messages)).toEqual([
      'user: First.',
      'user: Sum.',
      'assistant: c1 exec {"cmd":"ls"}',
      'tool: c1 text ok',
    ])
    expect(script(inside.messages)).toEqual(['assistant: c1 exec {"cmd":"ls"}', 'tool: c1 text ok', 'user: Sum.'])
    const cut = { code: 'compaction.cut-inside-pair', severity: 'error', movedTo: 'line 5' }
    expect(later.findings).toEqual([{ ...cut, where: 'line 6', cut: 'line 7' }])
    expect(inside.findings).toEqual([{ ...cut, where: 'line 7', cut: 'line 7' }])
  })
})

describe('a rollback', () => {
  const turns = [
    META,
    ...typed('First.'),
    answered('One.'),
    said('<environment_context/>'),
    ...typed('Second.'),
    answered('Two.'),
  ]

  it('makes room for the next prompt, which takes the place of the turns and of what was told before them', () => {
    const read = opened(lines(...turns, rolledBack(1), ...typed('Better.'), answered('Good.')))
    expect(script(read.messages)).toEqual(['user: First.', 'assistant: One.', 'user: Better.', 'assistant: Good.'])
    const better = read.events.find(({ surfaceOp }) => typeof surfaceOp === 'object')!
    expect(better.sourceEventSeqs).toHaveLength(3)
  })

  it('of more turns than there are takes all of them', () => {
    const read = opened(lines(...turns, rolledBack(9), ...typed('Anew.')))
    expect(script(read.messages)).toEqual(['user: Anew.'])
  })

  it('twice in a row takes both', () => {
    const read = opened(lines(...turns, rolledBack(1), rolledBack(1), ...typed('Anew.')))
    expect(script(read.messages)).toEqual(['user: Anew.'])
  })

  it('twice in a row, with nothing behind, takes no more than both', () => {
    const read = opened(lines(META, ...typed('Zero.'), ...turns.slice(1), rolledBack(1), rolledBack(1)))
    expect(script(read.messages)).toEqual(['user: Zero.'])
  })

  it('with nothing behind it leaves the turns as notes', () => {
    const read = opened(lines(...turns, rolledBack(1)))
    expect(script(read.messages)).toEqual(['user: First.', 'assistant: One.'])
    expect(read.held('import/codex.response_item')).toHaveLength(3)
  })

  it('of what had taken the place of a rolled back turn leaves neither', () => {
    const read = opened(lines(...turns, rolledBack(1), ...typed('Better.'), answered('Good.'), rolledBack(1)))
    expect(script(read.messages)).toEqual(['user: First.', 'assistant: One.'])
  })

  it('of what a compaction put there leaves a word in its place', () => {
    const history = [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'First.' }] }]
    const read = opened(
      lines(...turns, record('compacted', { message: '', replacement_history: history }), rolledBack(1)),
    )
    expect(script(read.messages)).toEqual(['user: Earlier turns were removed.'])
  })
})

describe('a damaged or old rollout', () => {
  it('has a record in part and again in full: the whole one counts once', () => {
    const whole = JSON.stringify(answered('Thought.'))
    const read = opened(lines(META, ...typed('Think.'), whole.slice(0, -9), whole))
    expect(read.findings).toMatchObject([{ code: 'file.torn-record', where: 'line 4', prefixOf: 'line 5' }])
    expect(script(read.messages)).toEqual(['user: Think.', 'assistant: Thought.'])
  })

  it('reports an ordinal that was used before, and steps over it', () => {
    const numbered = [0, 1, 2, 2, 3].map((ordinal, i) => ({ ...(i === 0 ? META : said(`n${i}`)), ordinal }))
    const read = opened(lines(...numbered))
    expect(read.findings).toMatchObject([{ code: 'ordinal.repeat', where: 'line 4', ordinal: 2 }])
    expect(read.messages).toHaveLength(4)
  })

  it('has a line twice: it counts once', () => {
    const twice = answered('One.')
    const read = opened(lines(META, context('gpt-5'), ...typed('First.'), twice, twice, { ...answered('One.') }))
    expect(read.findings).toEqual([{ code: 'lineage.replayed-copy', severity: 'error', where: 'line 6', of: 'line 5' }])
    expect(script(read.messages)).toEqual(['user: First.', 'assistant: One.', 'assistant: One.'])
  })

  it('whose last record lacks no more than its last brace does without it', () => {
    const file = lines(META, context('gpt-5'), ...typed('First.'), answered('One.'))
    const read = opened(file.slice(0, -2))
    expect(read.told).toEqual(['file.torn-record line 5'])
    expect(script(read.messages)).toEqual(['user: First.'])
  })

  it('with another session behind it sets that apart; a parent that it names first is none', () => {
    const other = (id: string) => record('session_meta', { id })
    const read = opened(lines(META, other('parent'), ...typed('First.'), other('parent'), ...typed('Second.')))
    expect(read.told).toEqual([])
    const stranger = opened(lines(META, ...typed('First.'), other('x'), ...typed('No.'), META, ...typed('Second.')))
    expect(stranger.findings).toEqual([
      { code: 'lineage.foreign-session', severity: 'error', where: 'line 4-6', sessionId: 'x', records: 3 },
    ])
    expect(script(stranger.messages)).toEqual(['user: First.', 'user: Second.'])
  })

  it('tells of an item that says something in a way that is not known', () => {
    const read = opened(lines(META, ...typed('First.'), item({ type: 'later', text: 'From later.' })))
    expect(read.told).toEqual(['record.unknown-type line 4'])
    expect(read.loss).toMatchObject([{ kind: 'record', where: 'line 4' }])
  })

  it('has a message without content', () => {
    const empty = item({ type: 'message', role: 'assistant', content: [] })
    expect(opened(lines(META, ...typed('First.'), empty)).messages.at(-1)).toMatchObject({ content: [] })
  })

  it('from before there were wrappers holds bare items', () => {
    const read = opened(
      lines(
        { id: 'old', timestamp: '2025-08-01T10:00:00.000Z', instructions: 'Be brief.', git: {} },
        { record_type: 'state' },
        { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Hi.' }] },
        { type: 'function_call', name: 'shell', arguments: '{}', call_id: 'c1' },
        { type: 'function_call_output', call_id: 'c1', output: '{"output":"x","metadata":{}}' },
      ),
    )
    expect(read.format).toBe('codex')
    expect(read.about).toMatchObject({ id: 'old' })
    expect(script(read.messages)).toEqual([
      'user: Hi.',
      'assistant: c1 shell {}',
      'tool: c1 text {"output":"x","metadata":{}}',
    ])
  })

  it('is known by its first record where that is longer than what is looked at', () => {
    const long = { ...META, payload: { ...META.payload, base_instructions: { text: 'x'.repeat(100_000) } } }
    expect(opened(lines(long, ...typed('Hi.'))).format).toBe('codex')
  })
})

describe('a compressed rollout', () => {
  const whole = zstdFrame(lines(META, ...typed('Hi.'), answered('Hello.')))

  it('is read as the text in it', () => {
    const read = opened(whole)
    expect(read.format).toBe('codex')
    expect(read.told).toEqual([])
    expect(script(read.messages)).toEqual(['user: Hi.', 'assistant: Hello.'])
  })

  it('that is cut gives what lies before the cut', () => {
    const both = Buffer.concat([whole, zstdFrame(lines(...typed('More.')))])
    const read = opened(both.subarray(0, -20))
    expect(read.told[0]).toBe('file.torn-frame frame 1')
    expect(script(read.messages).slice(0, 2)).toEqual(['user: Hi.', 'assistant: Hello.'])
  })
})

describe('a written rollout', () => {
  it('gives back a session of another agent, and tells what it cannot hold', () => {
    const pi = opened(
      lines(
        { type: 'session', version: 3, id: 's', timestamp: '2026-01-05T09:00:00.000Z', cwd: '/p' },
        {
          type: 'message',
          id: 'a',
          parentId: null,
          timestamp: '2026-01-05T09:00:01.000Z',
          message: {
            role: 'assistant',
            content: [
              { type: 'thinking', thinking: 'Hm.', thinkingSignature: 'c2ln' },
              { type: 'toolCall', id: 'toolu_1', name: 'read', arguments: { path: 'a' } },
            ],
            api: 'anthropic-messages',
            provider: 'anthropic',
            model: 'claude-opus-4-5',
            stopReason: 'toolUse',
          },
        },
      ),
    )
    const { text, loss } = written(pi, 'codex')
    expect(loss).toEqual([{ kind: 'reasoning', count: 1, reason: 'not in the form of a reasoning item' }])
    const read = opened(text)
    expect(read.told).toEqual([])
    expect(read.about).toMatchObject({ id: 's', cwd: '/p', model: 'claude-opus-4-5', vendor: 'anthropic' })
    expect(script(read.messages)).toEqual(['assistant: toolu_1 read {"path":"a"}'])
  })
})
