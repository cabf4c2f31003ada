import type { SessionEvent } from '@palimpsest/session'
import { detectFormat } from '@palimpsest/transcripts'
import { beforeEach, describe, expect, it } from 'vitest'
import { bytesSource } from '../src/source.js'
import { answer, boundary, call, hook, restartClock, result, row, summary, text, user } from './claude-rows.js'
import { lines, opened, script } from './opened.js'

beforeEach(restartClock)

const told = (...rows: unknown[]) => opened(lines(...rows), { format: 'claude-code' })
const noted = (events: readonly SessionEvent[], type: string) =>
  events.filter(event => (event.type as string) === `import/claude-code.${type}`)
const codes = ({ findings }: ReturnType<typeof told>) =>
  findings.map(({ severity: _, ...finding }) => finding as Record<string, unknown>)

describe('messages of a Claude Code session', () => {
  it('are found by their rows', () => {
    const format = (file: string) => detectFormat(bytesSource(Buffer.from(file)))
    expect(format(lines(row('a', null, user('Hi.'))))).toBe('claude-code')
    expect(format(lines({ type: 'summary', summary: 'S', leafUuid: 'x' }))).toBe('claude-code')
    expect(format(`{"parentUuid":null,"isSidechain":false,"type":"user","message":{"cont\n`)).toBe('claude-code')
    expect(format(lines({ type: 'session', version: 0, id: 's' }))).not.toBe('claude-code')
  })

  it('are put together from their rows, with the usage of the last one counted once', () => {
    const usage = (output_tokens: number) => ({ input_tokens: 3, cache_read_input_tokens: 10, output_tokens })
    const { session, messages, events } = told(
      row('a', null, user('Go.')),
      row('b', 'a', answer('m1', { type: 'thinking', thinking: 'Hm.', signature: 's' }, { usage: usage(1) })),
      row('c', 'b', answer('m1', text('Look.'), { usage: usage(1) })),
      row('d', 'c', answer('m1', call('t1', { n: 1 }), { usage: usage(9), stop_reason: 'tool_use' })),
      row('e', 'd', result('t1')),
      row('f', 'e', answer('m2', text('Done.'), { stop_reason: 'end_turn' })),
    )
    expect(script(messages)).toEqual([
      'user: Go.',
      'assistant: (Hm.) | Look. | t1 Bash {"n":1}',
      'tool: t1 text out t1',
      'assistant: Done.',
    ])
    const answers = events.filter(event => event.type === 'assistant/message')
    expect(answers.map(({ data }) => [data.finishReason, data.usage])).toEqual([
      ['tool-calls', { inputTokens: 13, outputTokens: 9, totalTokens: 22, cachedInputTokens: 10 }],
      ['stop', undefined],
    ])
    expect(messages[1]).toMatchObject({
      content: [{ providerOptions: { anthropic: { signature: 's' } } }, {}, {}],
      providerOptions: { palimpsest: { vendor: 'anthropic', model: 'claude-opus-4-5' } },
    })
    expect(session.requestAt(session.length)?.model).toBe('claude-opus-4-5')
  })

  it('are whole where results and other rows came between their rows', () => {
    const { messages, told: findings } = told(
      row('a', null, user('Go.')),
      row('b', 'a', answer('m1', call('t1'))),
      row('p', 'b', { type: 'progress', data: { type: 'hook_progress' } }),
      row('c', 'p', result('t1')),
      row('d', 'b', answer('m1', call('t2'))),
      row('e', 'd', result('t2')),
    )
    expect(script(messages)).toEqual([
      'user: Go.',
      'assistant: t1 Bash {} | t2 Bash {}',
      'tool: t1 text out t1',
      'tool: t2 text out t2',
    ])
    expect(findings).toEqual([])
  })

  it('keep their places, a part on each line', () => {
    const { events, places } = told(
      row('a', null, user('Go.')),
      row('b', 'a', answer('m1', text('Look.'))),
      row('c', 'b', answer('m1', call('t1'))),
    )
    const at = events.findIndex(({ type }) => type === 'assistant/message')
    expect(places[at]).toMatchObject({ where: 'line 2', parts: ['line 2', 'line 3'] })
  })

  it('take back results of parallel calls from beside the path', () => {
    const { messages } = told(
      row('a', null, user('Go.')),
      row('b', 'a', answer('m1', call('t1'))),
      row('c', 'b', answer('m1', call('t2'))),
      row('d', 'b', result('t1')),
      row('e', 'c', result('t2')),
      row('f', 'e', user('And?')),
    )
    expect(script(messages).slice(2)).toEqual(['tool: t1 text out t1', 'tool: t2 text out t2', 'user: And?'])
  })

  it('tell what a person typed from what the agent put in', () => {
    const { events } = told(
      row('a', null, user('Caveat.', { isMeta: true })),
      row('b', 'a', user('Go.')),
      row('c', 'b', answer('m1', call('t1'))),
      row('d', 'c', { type: 'attachment', attachment: { type: 'queued_command', prompt: 'Also.' } }),
      row('e', 'd', { type: 'attachment', attachment: { type: 'task_reminder', content: [] } }),
      row('f', 'e', user('[Request interrupted by user for tool use]')),
    )
    const kinds = events.flatMap(({ type, data }) => {
      const { message, origin, reason } = data as Record<string, { content: { text: string }[] } & { kind: string }>
      if (reason !== undefined) return [`${type} ${reason.kind}`]
      return message?.content[0]?.text === undefined ? [] : [`${type} ${origin ?? ''} ${message.content[0].text}`]
    })
    expect(kinds).toEqual([
      'context/message claude-code/meta Caveat.',
      'user/message  Go.',
      'steering/message  Also.',
      'context/message claude-code/interrupt [Request interrupted by user for tool use]',
      'turn/end interrupted',
    ])
    expect(noted(events, 'attachment').length > 0).toBe(true)
  })

  it('keep images, documents, failed results and the state of tools that the provider runs', () => {
    const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } }
    const failed = { tool_use_id: 't1', type: 'tool_result', content: [image, text('no')], is_error: true }
    const search = { type: 'server_tool_use', id: 'v1', name: 'web_search', input: { q: 1 } }
    const { messages } = told(
      row('a', null, user([image, text('See.')])),
      row('b', 'a', answer('m1', [search, { type: 'redacted_thinking', data: 'x' }, call('t1')])),
      row('c', 'b', user([failed])),
    )
    expect(messages).toMatchObject([
      { content: [{ type: 'image', image: 'AAAA', mediaType: 'image/png' }, { text: 'See.' }] },
      { content: [{ providerExecuted: true }, { providerOptions: { anthropic: { redactedData: 'x' } } }, {}] },
      { content: [{ output: { type: 'content' }, providerOptions: { palimpsest: { isError: true } } }] },
    ])
  })

  it('leave out what the agent says of failed requests, and keep it beside', () => {
    const { messages, events } = told(
      row('a', null, user('Go.')),
      row('b', 'a', answer('m1', text('API Error'), { model: '<synthetic>' }), { isApiErrorMessage: true }),
      row('c', 'b', user('Again.')),
    )
    expect(script(messages)).toEqual(['user: Go.', 'user: Again.'])
    expect(noted(events, 'assistant')).toHaveLength(1)
  })

  it('say whose model wrote them', () => {
    const { messages, about } = told(
      row('a', null, user('Go.')),
      row('b', 'a', answer('m1', text('Yes.'), { model: 'gpt-5' })),
    )
    expect(messages[1]!.providerOptions?.palimpsest).toEqual({ vendor: 'openai', model: 'gpt-5' })
    expect(about).toMatchObject({ id: 'own', cwd: '/project', model: 'gpt-5', vendor: 'openai' })
    expect(about.createdAt).toBe(Date.parse('2026-01-05T09:00:00.000Z'))
  })

  it("keep a model's own numbers, and tell of them, of half pairs and of U+0000", () => {
    const risky = JSON.stringify(row('b', 'a', answer('m1', call('t1', { id: 'N', text: 'T' }))))
      .replace('"N"', '9007199254740993')
      .replace('"T"', '"\\ud83d \\u0000"')
    const { messages, findings } = told(row('a', null, user('Go.')), risky)
    expect(messages[1]!.content[0]).toMatchObject({ rawInput: '{"id":9007199254740993,"text":"\\ud83d \\u0000"}' })
    expect(findings).toEqual([
      { code: 'text.lone-surrogate', severity: 'error', where: 'line 2', count: 1 },
      { code: 'text.nul', severity: 'info', where: 'line 2' },
      {
        code: 'number.unsafe',
        severity: 'info',
        where: 'line 2',
        path: '/message/content/0/input/id',
        raw: '9007199254740993',
      },
    ])
  })

  it('have their results in front', () => {
    const found = told(
      row('a', null, user('Go.')),
      row('b', 'a', answer('m1', [call('t1'), call('t2')])),
      row(
        'c',
        'b',
        user([text('Well.'), { tool_use_id: 't1', type: 'tool_result' }, { tool_use_id: 't2', type: 'tool_result' }]),
      ),
    )
    expect(script(found.messages).slice(2)).toEqual(['tool: t1 text ', 'tool: t2 text ', 'user: Well.'])
    expect(codes(found)).toEqual([{ code: 'order.result-not-leading', where: 'line 3', ids: ['t1', 't2'] }])
  })
})

describe('the way from the newest message to the root', () => {
  it('goes over a parent that was never written', () => {
    const found = told(
      row('a', null, user('One.')),
      row('b', 'a', answer('m1', text('Two.'))),
      row('s', null, user('Aside.', { isSidechain: true })),
      row('c', 'gone', user('Three.')),
    )
    expect(script(found.messages)).toEqual(['user: One.', 'assistant: Two.', 'user: Three.'])
    expect(codes(found).filter(({ code }) => code !== 'file.conversations')).toEqual([
      { code: 'lineage.dangling-parent', where: 'line 4', missing: 'gone', bridgedTo: 'b' },
    ])
  })

  it('begins where a file begins in the middle of a session', () => {
    const found = told(row('b', 'a', answer('m1', text('Two.'))), row('c', 'b', user('Three.')))
    expect(script(found.messages)).toEqual(['assistant: Two.', 'user: Three.'])
    expect(codes(found)).toEqual([{ code: 'lineage.dangling-parent', where: 'line 1', missing: 'a' }])
  })

  it('keeps the reply beside a row without a message, and what followed it', () => {
    const found = told(
      row('a', null, user('Go.')),
      row('b', 'a', answer('m1', call('t1'))),
      row('c', 'b', result('t1')),
      row('d', 'c', answer('m2', text('Done.'))),
      row('h', 'a', hook()),
      row('e', 'h', user('Next.')),
    )
    expect(script(found.messages)).toEqual([
      'user: Go.',
      'assistant: t1 Bash {}',
      'tool: t1 text out t1',
      'assistant: Done.',
      'user: Next.',
    ])
    expect(codes(found)).toEqual([{ code: 'lineage.sibling-recovered', where: 'line 2', by: 'line 5' }])
  })

  it('follows the newer of two prompts, which takes the place of the older one and its answer', () => {
    const {
      messages,
      events,
      session,
      told: findings,
    } = told(
      row('a', null, user('Go.')),
      row('b', 'a', answer('m1', text('Yes?'))),
      row('c', 'b', user('Wrong.')),
      row('d', 'c', answer('m2', call('t1'))),
      row('c2', 'b', user('Right.')),
      row('d2', 'c2', answer('m3', text('Done.'))),
    )
    expect(script(messages)).toEqual(['user: Go.', 'assistant: Yes?', 'user: Right.', 'assistant: Done.'])
    const edit = events.find(({ surfaceOp }) => typeof surfaceOp === 'object')!
    expect(
      script(
        session.surface.shadowed(edit.seq).map(seq => (session.at(seq)!.data as never as { message: never }).message),
      ),
    ).toEqual(['user: Wrong.', 'assistant: t1 Bash {}'])
    expect(findings).toEqual([])
  })

  it('counts a record once, however often it was written', () => {
    const found = told(
      row('a', null, user('One.')),
      row('b', 'a', answer('m1', text('Two.'))),
      row('a', 'b', user('One, again.')),
      row('c', 'b', user('Three.')),
    )
    expect(script(found.messages)).toEqual(['user: One.', 'assistant: Two.', 'user: Three.'])
    expect(codes(found)).toEqual([{ code: 'lineage.replayed-copy', where: 'line 3', of: 'line 1' }])
  })

  it('leaves out records of another session, and gives them as a conversation of their own', () => {
    const rows = [
      row('a', null, user('Mine.')),
      row('x', null, user('Foreign.'), { sessionId: 'other' }),
      { type: 'queue-operation', operation: 'dequeue', sessionId: 'other' },
      row('y', 'x', answer('m9', text('Its answer.')), { sessionId: 'other' }),
      row('b', 'a', answer('m1', text('My answer.'))),
    ]
    const found = told(...rows)
    expect(script(found.messages)).toEqual(['user: Mine.', 'assistant: My answer.'])
    expect(codes(found)).toEqual([
      { code: 'lineage.foreign-session', where: 'line 2-4', sessionId: 'other', records: 3 },
      { code: 'file.conversations', where: 'file', conversations: 2 },
    ])
    const other = opened(lines(...rows), { conversation: 1 })
    expect(script(other.messages)).toEqual(['user: Foreign.', 'assistant: Its answer.'])
    expect(other.about.id).toBe('other')
  })

  it('tells sessions apart whose names are alike byte for byte but not as text', () => {
    // The text of the first is what stands in the file for the second.
    const [first, second] = ['s\\n', 's\n']
    const rows = [
      row('a', null, user('Mine.'), { sessionId: first }),
      row('x', null, user('Foreign.'), { sessionId: second }),
    ]
    expect(codes(told(...rows))).toEqual([
      { code: 'lineage.foreign-session', where: 'line 2', sessionId: second, records: 1 },
      { code: 'file.conversations', where: 'file', conversations: 2 },
    ])
  })

  it('stays in a session that was resumed under a new name', () => {
    const found = told(row('a', null, user('Mine.')), row('b', 'a', answer('m1', text('Yes.')), { sessionId: 'new' }))
    expect(script(found.messages)).toEqual(['user: Mine.', 'assistant: Yes.'])
    expect(found.findings).toEqual([])
  })

  it('sets subagents apart, linked to the call that started them', () => {
    const task = { ...call('t1', { prompt: 'Search.', subagent_type: 'x' }), name: 'Task' }
    const rows = [
      row('a', null, user('Go.')),
      row('b', 'a', answer('m1', task)),
      row('s1', null, user('Search.', { isSidechain: true })),
      row('s2', 's1', answer('m2', text('Found.')), { isSidechain: true }),
      row('c', 'b', result('t1')),
    ]
    const { messages, events } = told(...rows)
    expect(script(messages)).toHaveLength(3)
    const [note] = noted(events, 'user')
    expect(note?.data).toMatchObject({ uuid: 's1', spawnedBy: { toolCallId: 't1' } })
    expect(script(opened(lines(...rows), { conversation: 1 }).messages)).toEqual(['user: Search.', 'assistant: Found.'])
  })

  it('reads a file that holds nothing but a subagent', () => {
    const { messages } = told(row('s1', null, user('Search.', { isSidechain: true })))
    expect(script(messages)).toEqual(['user: Search.'])
  })

  it('trusts the parent link where place or clock say otherwise', () => {
    const late = { timestamp: '2026-01-05T10:00:00.000Z' }
    const found = told(
      row('a', null, user('One.')),
      row('c', 'b', user('Three.')),
      row('b', 'a', answer('m1', text('Two.'))),
      row('d', 'c', answer('m2', text('Four.')), late),
      row('e', 'd', user('Five.')),
    )
    expect(script(found.messages)).toEqual([
      'user: One.',
      'assistant: Two.',
      'user: Three.',
      'assistant: Four.',
      'user: Five.',
    ])
    expect(codes(found)).toEqual([
      { code: 'order.clock-disagrees', where: 'line 2', id: 'c', parent: 'b' },
      { code: 'order.clock-disagrees', where: 'line 5', id: 'e', parent: 'd' },
    ])
  })

  it('ends where rows name each other as parents', () => {
    const found = told(row('a', 'b', user('One.')), row('b', 'a', user('Two.')))
    expect(script(found.messages).sort()).toEqual(['user: One.', 'user: Two.'])
    expect(found.told).toEqual(['lineage.cycle line 1'])
  })

  it('goes over a row of a type that is not known, and tells of the message in it', () => {
    const later = { type: 'human', message: { role: 'user', content: 'From later.' } }
    const found = told(row('a', null, user('One.')), row('b', 'a', later), row('c', 'b', answer('m', text('Two.'))))
    expect(found.told).toEqual(['record.unknown-type line 2'])
    expect(found.loss).toMatchObject([{ kind: 'record', where: 'line 2' }])
    expect(script(found.messages)).toEqual(['user: One.', 'assistant: Two.'])
  })

  it('goes on before a row that names itself or one behind it as its parent', () => {
    const chain = [row('a', null, user('One.')), row('b', 'a', answer('m', text('Two.')))]
    const own = told(...chain, row('c', 'c', user('Three.')))
    expect(own.told).toEqual(['lineage.dangling-parent line 3'])
    const later = told(...chain, row('c', 'd', user('Three.')), row('d', 'c', answer('n', text('Four.'))))
    expect(later.told).toEqual(['lineage.dangling-parent line 3'])
    for (const { messages } of [own, later])
      expect(script(messages).slice(0, 3)).toEqual(['user: One.', 'assistant: Two.', 'user: Three.'])
  })
})

describe('a compaction', () => {
  const before = () => [row('a', null, user('Old.')), row('b', 'a', answer('m1', text('Old answer.')))]

  it('puts its summary in the place of everything before it', () => {
    const {
      messages,
      session,
      told: findings,
    } = told(
      ...before(),
      row('c', null, boundary({ logicalParentUuid: 'b' })),
      row('d', 'c', summary('Sum.')),
      row('e', 'd', user('New.')),
    )
    expect(script(messages)).toEqual(['user: Sum.', 'user: New.'])
    expect(session.surface.shadowed(session.surface.first!)).toHaveLength(2)
    expect(findings).toEqual([])
  })

  it('may be followed by another one', () => {
    const { messages, session } = told(
      ...before(),
      row('c', null, boundary({ logicalParentUuid: 'b' })),
      row('d', 'c', summary('Sum.')),
      row('e', 'd', answer('m2', text('Ready.'))),
      row('f', null, boundary({ logicalParentUuid: 'e' })),
      row('g', 'f', summary('Sum of sums.')),
    )
    expect(script(messages)).toEqual(['user: Sum of sums.'])
    expect(session.surface.shadowed(session.surface.first!)).toHaveLength(2)
  })

  it.each(['API Error: 500 overloaded', 'Error generating summary: timed out', ' '])(
    'did not happen where its summary is %j',
    words => {
      const found = told(
        row('a', null, user('One.')),
        row('b', 'a', answer('m', text('Two.'))),
        row('c', null, boundary({ logicalParentUuid: 'b' })),
        row('d', 'c', summary(words)),
        row('e', 'd', user('Three.')),
      )
      expect(found.told).toEqual(['compaction.void-summary line 4'])
      expect(script(found.messages)).toEqual(['user: One.', 'assistant: Two.', 'user: Three.'])
    },
  )

  it('says that it names a row to keep that was never written', () => {
    const compactMetadata = { preservedMessages: { anchorUuid: 'd', uuids: ['b', 'gone'] } }
    const found = told(
      row('a', null, user('One.')),
      row('b', 'a', answer('m', text('Two.'))),
      row('c', null, boundary({ logicalParentUuid: 'b', compactMetadata })),
      row('d', 'c', summary('Sum.')),
      row('e', 'd', user('Three.')),
    )
    expect(found.told).toEqual(['lineage.dangling-boundary line 3'])
    expect(script(found.messages)).toEqual(['user: Sum.', 'assistant: Two.', 'user: Three.'])
  })

  it('keeps what it says it keeps, behind the summary', () => {
    const rows = (compactMetadata: object) => [
      ...before(),
      row('b2', 'b', user('Kept.')),
      row('b3', 'b2', answer('m2', text('Kept answer.'))),
      row('c', null, boundary({ logicalParentUuid: 'b3', compactMetadata })),
      row('d', 'c', summary('Sum.')),
      row('e', 'd', user('New.')),
    ]
    const tail = ['user: Kept.', 'assistant: Kept answer.', 'user: New.']
    const list = told(...rows({ preservedMessages: { anchorUuid: 'd', uuids: ['b2', 'b3'] } }))
    expect(script(list.messages)).toEqual(['user: Sum.', ...tail])
    const ends = told(...rows({ preservedSegment: { headUuid: 'b2', anchorUuid: 'd', tailUuid: 'b3' } }))
    expect(script(ends.messages)).toEqual(['user: Sum.', ...tail])
    const inside = told(...rows({ preservedMessages: { uuids: ['a', 'b2'] } }))
    expect(script(inside.messages)).toEqual(['user: Sum.', 'user: Old.', 'user: Kept.', 'user: New.'])
  })

  it('that cut between a call and its result keeps the call, too', () => {
    const opening = () => [
      ...before(),
      row('b2', 'b', answer('m2', text('I look.'))),
      row('b3', 'b2', answer('m2', call('c1'))),
    ]
    const kept = ['user: Sum.', 'assistant: I look. | c1 Bash {}', 'tool: c1 text out c1', 'user: New.']
    const late = told(
      ...opening(),
      row('c', null, boundary({ logicalParentUuid: 'b3' })),
      row('d', 'c', summary('Sum.')),
      row('e', 'd', result('c1')),
      row('f', 'e', user('New.')),
    )
    expect(codes(late)).toEqual([{ code: 'compaction.cut-inside-pair', where: 'line 5', cut: 'e', movedTo: 'b3' }])
    expect(script(late.messages)).toEqual(kept)
    const compactMetadata = { preservedMessages: { uuids: ['b4'] } }
    const early = told(
      ...opening(),
      row('b4', 'b3', result('c1')),
      row('c', null, boundary({ logicalParentUuid: 'b4', compactMetadata })),
      row('d', 'c', summary('Sum.')),
      row('e', 'd', user('New.')),
    )
    expect(codes(early)).toEqual([{ code: 'compaction.cut-inside-pair', where: 'line 6', cut: 'b4', movedTo: 'b3' }])
    expect(script(early.messages)).toEqual(kept)
  })

  it('is linked to the record before it where it names one that is not there', () => {
    const found = told(
      ...before(),
      row('c', null, boundary({ logicalParentUuid: 'gone' })),
      row('d', 'c', summary('Sum.')),
    )
    expect(script(found.messages)).toEqual(['user: Sum.'])
    expect(found.session.surface.shadowed(found.session.surface.first!)).toHaveLength(2)
    expect(codes(found)).toEqual([
      { code: 'lineage.dangling-boundary', where: 'line 3', missing: 'gone', bridgedTo: 'b' },
    ])
  })

  it.each([
    ['blank', [summary(' \n')], 'line 4'],
    ['failed', [{ ...summary('API Error'), isApiErrorMessage: true }], 'line 4'],
    ['missing', [], 'line 3'],
  ])('did not happen where its summary is %s', (_, summaries, where) => {
    const found = told(
      ...before(),
      row('c', null, boundary({ logicalParentUuid: 'b' })),
      ...summaries.map(each => row('d', 'c', each)),
      row('e', summaries.length > 0 ? 'd' : 'c', user('New.')),
    )
    expect(script(found.messages)).toEqual(['user: Old.', 'assistant: Old answer.', 'user: New.'])
    expect(codes(found)).toEqual([{ code: 'compaction.void-summary', where }])
  })

  it('holds for a summary that hangs under an older row', () => {
    const { messages } = told(...before(), row('d', 'b', summary('Sum.')), row('e', 'd', user('New.')))
    expect(script(messages)).toEqual(['user: Sum.', 'user: New.'])
  })

  it('does not bring back results from before it', () => {
    const { messages } = told(
      row('a', null, user('Go.')),
      row('b', 'a', answer('m1', call('t1'))),
      row('c', 'b', result('t1', 'old')),
      row('d', null, boundary({ logicalParentUuid: 'c' })),
      row('e', 'd', summary('Sum.')),
      row('f', 'e', answer('m2', call('t1'))),
      row('g', 'f', result('t1', 'new')),
    )
    expect(script(messages).slice(1)).toEqual(['assistant: t1 Bash {}', 'tool: t1 text new'])
  })
})
