import { describe, expect, it } from 'vitest'
import { type Opened, opened, script } from './opened.js'

const info = { id: 'ses_1', directory: '/project', projectID: 'global', time: { created: 1_700_000_000_000 } }
const model = { providerID: 'anthropic', modelID: 'claude-opus-4-8' }

function user(id: string, ...parts: object[]): object {
  return { info: { id, role: 'user', time: { created: 1_700_000_000_001 }, model }, parts }
}

function assistant(id: string, parts: object[], more: object = {}): object {
  return { info: { id, role: 'assistant', time: { created: 1_700_000_000_002 }, ...model, ...more }, parts }
}

const text = (text: string, more: object = {}) => ({ type: 'text', text, ...more })
const tool = (callID: string, state: object, more: object = {}) => ({
  type: 'tool',
  callID,
  tool: 'read',
  state,
  ...more,
})
const done = (output: string, more: object = {}) => ({ status: 'completed', input: { p: 1 }, output, ...more })
const summary = (said: string, more: object = {}) =>
  assistant('m-sum', [text(said)], { summary: true, finish: 'stop', ...more })

function exported(messages: object[], more: object = {}): Opened {
  return opened(JSON.stringify({ info: { ...info, ...more }, messages }, null, 1))
}

describe('an opencode export', () => {
  it('has the parts of its messages, and knows where each stands', () => {
    const { format, messages, events, places, about, findings } = exported([
      user('m-1', text('Go.')),
      assistant('m-2', [
        { type: 'step-start' },
        { type: 'reasoning', text: 'Hm.' },
        text('Yes.'),
        tool('c', done('milk')),
      ]),
    ])
    expect(format).toBe('opencode')
    expect(findings).toEqual([])
    expect(script(messages)).toEqual(['user: Go.', 'assistant: (Hm.) | Yes. | c read {"p":1}', 'tool: c text milk'])
    const at = (type: string) => places[events.findIndex(event => event.type === type)]!
    expect(at('assistant/message').parts).toEqual([1, 2, 3].map(i => `messages[1].parts[${i}]`))
    expect(at('tool/result').where).toBe('messages[1].parts[3]')
    expect(about).toMatchObject({ id: 'ses_1', cwd: '/project', model: 'claude-opus-4-8', vendor: 'anthropic' })
  })

  it('answers a call by what its state says', () => {
    const { messages } = exported([
      assistant('m', [
        tool('a', { status: 'pending', input: {}, raw: '{"p": 1' }),
        tool('b', { status: 'running', input: {} }),
        tool('c', { status: 'error', input: {}, error: 'gone' }),
        tool('d', done('long', { time: { start: 1, end: 2, compacted: 3 } })),
        tool(
          'e',
          done('seen', { attachments: [{ type: 'file', mime: 'image/png', url: 'data:image/png;base64,AAAA' }] }),
        ),
      ]),
    ])
    expect(script(messages)).toEqual([
      'assistant: a read {"p": 1 | b read {} | c read {} | d read {"p":1} | e read {"p":1}',
      'tool: c error-text gone',
      'tool: d text [Old tool result content cleared]',
      'tool: e content [{"type":"text","text":"seen"},{"type":"image-data","data":"AAAA","mediaType":"image/png"}]',
    ])
  })

  it('tells what the program put in from what was typed', () => {
    const { messages, events, loss } = exported([
      user(
        'm',
        text('See @a and @b.'),
        text('Content of a', { synthetic: true }),
        text('for the screen', { ignored: true }),
        { type: 'file', mime: 'text/plain', url: 'file:///a', filename: 'a' },
        { type: 'file', mime: 'image/png', url: 'file:///b', filename: 'b' },
      ),
    ])
    expect(script(messages)).toEqual(['user: See @a and @b.', 'user: Content of a', 'user: [b: not in this export]'])
    expect(events.filter(({ type }) => type === 'context/message')).toHaveLength(1)
    expect(loss).toMatchObject([{ kind: 'media', where: 'messages[0].parts[4]' }])
  })

  it('keeps the state of the provider on the part it came with', () => {
    const metadata = { anthropic: { signature: 'sig' } }
    const { messages } = exported([assistant('m', [{ type: 'reasoning', text: 'Hm.', metadata }, text('Yes.')])])
    expect(messages[0]!.content[0]).toMatchObject({ providerOptions: metadata })
  })

  it('splits a message of several steps, so that results stand behind their calls', () => {
    const step = { type: 'step-start' }
    const { messages } = exported([
      assistant('m', [step, tool('a', done('1')), step, text('Then.'), tool('b', done('2'))]),
    ])
    expect(messages.map(({ role }) => role)).toEqual(['assistant', 'tool', 'assistant', 'tool'])
  })

  it('leaves out a failed attempt, but neither what was shown before a cancel nor what a tool did', () => {
    const failed = { error: { name: 'APIError', data: {} } }
    const { messages, events, held } = exported([
      user('m', text('Go.')),
      assistant('1', [text('Part')], failed),
      assistant('2', [text('Shown')], { error: { name: 'MessageAbortedError' } }),
      assistant('3', [tool('a', done('did'))], failed),
    ])
    expect(script(messages)).toEqual(['user: Go.', 'assistant: Shown', 'assistant: a read {"p":1}', 'tool: a text did'])
    expect(held('import/opencode.failed')).toHaveLength(1)
    expect(events.find(({ type }) => type === 'assistant/message')?.data).toMatchObject({ interrupted: true })
  })
})

describe('a compaction in an opencode export', () => {
  const before = [user('m-1', text('Old.')), assistant('m-2', [text('Yes.')]), user('m-3', text('Kept.'))]

  it('begins the context anew', () => {
    const { messages, session } = exported([
      ...before,
      user('m-4', { type: 'compaction' }),
      summary('Sum.'),
      user('m-5', text('On.')),
    ])
    expect(script(messages)).toEqual(['user: Sum.', 'user: On.'])
    expect(session.surface.shadowed(session.surface.first!)).toHaveLength(3)
  })

  it('keeps the tail that it names', () => {
    const compaction = { type: 'compaction', tail_start_id: 'm-3' }
    const { messages } = exported([...before, user('m-4', compaction), summary('Sum.'), user('m-5', text('On.'))])
    expect(script(messages)).toEqual(['user: Sum.', 'user: Kept.', 'user: On.'])
  })

  it('did not happen where its summary is blank or failed', () => {
    const failed = [{ error: { name: 'APIError' } }, { finish: undefined }].map(more => summary('Half', more))
    for (const void_ of [summary(' '), ...failed]) {
      const { messages, told } = exported([...before, user('m-4', { type: 'compaction' }), void_])
      expect(told).toEqual(['compaction.void-summary messages[4]'])
      expect(messages).toHaveLength(3)
    }
  })
})

describe('what was reverted in an opencode export', () => {
  const messages = [
    user('m-1', text('A.')),
    assistant('m-2', [text('B.'), { ...text('C.'), id: 'p-2' }]),
    user('m-3', text('D.')),
  ]

  it('is hidden from that message on', () => {
    expect(script(exported(messages, { revert: { messageID: 'm-2' } }).messages)).toEqual(['user: A.'])
  })

  it('is hidden from that part on', () => {
    const { messages: said, held } = exported(messages, { revert: { messageID: 'm-2', partID: 'p-2' } })
    expect(script(said)).toEqual(['user: A.', 'assistant: B.'])
    expect(held('import/opencode.reverted')).toHaveLength(2)
  })
})

describe('a damaged opencode export', () => {
  it('tells a call that waits from one that runs', () => {
    const { events, about } = exported([
      assistant('m', [
        tool('a', { status: 'pending', input: {}, raw: '' }),
        tool('b', { status: 'running', input: {} }),
      ]),
    ])
    expect(about.showsStarts).toBe(true)
    expect(
      events.flatMap(({ type, data }) => (type === 'tool/call' ? [(data as { toolCallId: string }).toolCallId] : [])),
    ).toEqual(['b'])
    expect(events.some(({ type }) => type === 'turn/end')).toBe(false)
  })

  it('counts the first of two messages with one id, and none of another session', () => {
    const foreign = { info: { id: 'm-9', role: 'user', sessionID: 'ses_2' }, parts: [text('No.')] }
    const { told, messages, held } = exported([user('m-1', text('Go.')), user('m-1', text('Go.')), foreign])
    expect(told).toEqual(['lineage.replayed-copy messages[1]', 'lineage.foreign-session messages[2]'])
    expect(script(messages)).toEqual(['user: Go.'])
    expect(held('import/opencode.apart')).toHaveLength(2)
  })

  it('has a message without parts, and one of a role that is not known', () => {
    const { told, loss, places, events } = exported([
      user('m-1'),
      { info: { id: 'm-2', role: 'critic' }, parts: [text('Hm.')] },
    ])
    expect(told).toEqual(['record.unknown-type messages[1]'])
    expect(loss).toMatchObject([{ kind: 'record', where: 'messages[1]' }])
    expect(places[events.findIndex(({ type }) => type === 'user/message')]!.where).toBe('messages[0].parts')
  })

  it('keeps all of a compaction that came to nothing, and nothing before one whose tail is gone', () => {
    const asked = (more: object = {}) => user('m-2', { type: 'compaction', auto: true, ...more })
    const abandoned = exported([user('m-1', text('Go.')), asked(), user('m-3', text('On.'))])
    expect(abandoned.told).toEqual(['compaction.void-summary messages[1]'])
    expect(script(abandoned.messages)).toEqual(['user: Go.', 'user: On.'])
    const dangling = exported([user('m-1', text('Go.')), asked({ tail_start_id: 'gone' }), summary('Sum.')])
    expect(dangling.findings).toEqual([
      {
        code: 'lineage.dangling-boundary',
        severity: 'error',
        where: 'messages[1]',
        missing: 'gone',
        bridgedTo: 'm-1',
      },
    ])
    expect(script(dangling.messages)).toEqual(['user: Sum.'])
  })

  it('has the state of a maker under the name of a host', () => {
    const { messages } = exported([
      assistant('m', [{ type: 'reasoning', text: 'Hm.', metadata: { bedrock: { signature: 's=' } } }, text('Yes.')]),
    ])
    expect(messages[0]!.content[0]).toMatchObject({ providerOptions: { anthropic: { signature: 's=' } } })
  })
})
