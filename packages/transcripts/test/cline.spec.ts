import { describe, expect, it } from 'vitest'
import { opened, script } from './opened.js'

const user = (content: unknown, more: object = {}) => ({ role: 'user', content, ts: 1_700_000_000_000, ...more })
const assistant = (content: unknown, more: object = {}) => ({
  role: 'assistant',
  content,
  ts: 1_700_000_000_001,
  ...more,
})
const text = (text: string) => ({ type: 'text', text })

describe('a session of the Cline SDK', () => {
  it('is Anthropic messages with files, results that are lists, and who wrote what', () => {
    const modelInfo = { id: 'anthropic/claude-opus-4.8', provider: 'cline' }
    const { format, messages, about, events, places } = opened(
      JSON.stringify({
        version: 1,
        updated_at: '2026-07-15T05:42:04.818Z',
        sessionId: 's-1',
        system_prompt: 'You are an agent.',
        messages: [
          user([text('See it.'), { type: 'file', path: '/a', content: 'A' }]),
          assistant([text('I look.'), { type: 'tool_use', id: 't1', name: 'read', input: { p: 1 } }], { modelInfo }),
          user([{ type: 'tool_result', tool_use_id: 't1', name: 'read', content: [{ query: '/a', result: 'A' }] }]),
        ],
      }),
    )
    expect(format).toBe('cline')
    expect(script(messages)).toEqual([
      'user: See it. | <file_content path="/a">\nA\n</file_content>',
      'assistant: I look. | t1 read {"p":1}',
      'tool: t1 json [{"query":"/a","result":"A"}]',
    ])
    expect(messages[1]!.providerOptions).toEqual({ palimpsest: { vendor: 'anthropic', model: modelInfo.id } })
    expect(about).toMatchObject({ id: 's-1', model: modelInfo.id, vendor: 'anthropic' })
    expect(events[0]).toMatchObject({ type: 'request/header', data: { system: 'You are an agent.' } })
    expect(places[events.findIndex(({ type }) => type === 'tool/result')]!.where).toBe('messages[2].content[0]')
  })
})

describe('an API history of Cline or Roo', () => {
  it('is told from plain Anthropic messages by its times', () => {
    const messages = [
      user([text('<task>Go.</task>'), text('<environment_details>\nx</environment_details>')]),
      assistant([text('Yes.')]),
    ]
    const { format, events, messages: said } = opened(JSON.stringify(messages))
    expect(format).toBe('cline')
    expect(events.filter(({ type }) => type === 'context/message')).toHaveLength(1)
    expect(said).toHaveLength(3)
    expect(opened(JSON.stringify(messages.map(({ ts, ...message }) => message))).format).toBe('anthropic-messages')
  })

  it('shows a summary in the place of what it hides', () => {
    const hidden = { condenseParent: 'k' }
    const summary = user([text('Sum.')], { isSummary: true, condenseId: 'k' })
    const { messages, session } = opened(
      JSON.stringify([user('A.', hidden), assistant('B.', hidden), summary, user('C.'), assistant('D.')]),
    )
    expect(script(messages)).toEqual(['user: Sum.', 'user: C.', 'assistant: D.'])
    expect(session.surface.shadowed(session.surface.first!)).toHaveLength(2)
  })

  it('hides what stands behind its summary, and nothing for a summary that is gone', () => {
    const summary = user('Sum.', { isSummary: true, condenseId: 'k' })
    const { messages } = opened(
      JSON.stringify([summary, user('A.', { condenseParent: 'k' }), user('B.', { condenseParent: 'gone' })]),
    )
    expect(script(messages)).toEqual(['user: Sum.', 'user: B.'])
  })
})

it('a summary that says nothing hides nothing', () => {
  const hidden = { condenseParent: 'c' }
  const { told, messages } = opened(
    JSON.stringify([
      user('Go.', hidden),
      assistant([text('Gone.')], hidden),
      user([text(' ')], { isSummary: true, condenseId: 'c' }),
      user('On.'),
    ]),
  )
  expect(told).toEqual(['compaction.void-summary messages[2]'])
  expect(script(messages)).toEqual(['user: Go.', 'assistant: Gone.', 'user: On.'])
})
