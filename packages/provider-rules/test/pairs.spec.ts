import { TARGETS } from '@palimpsest/provider-rules'
import type { Message } from '@palimpsest/session'
import { describe, expect, it } from 'vitest'
import { assistant, call, found, healed, pair, result, user } from './says.js'

/** Roles and ids in order: `U`, `A a,b`, `T a`. */
function shape(messages: readonly Message[]): string {
  return messages
    .map(({ role, content }) => {
      const ids = (content as { toolCallId?: string }[]).flatMap(({ toolCallId }) => toolCallId ?? []).join(',')
      return `${role[0]!.toUpperCase()}${ids && ` ${ids}`}`
    })
    .join(' | ')
}

describe.each(TARGETS)('calls and results, %s', target => {
  const heal = (...messages: Message[]) => healed(target, messages)

  it('leaves a healthy history as it is', () => {
    const messages = [user('go'), assistant('I look.', call('a'), call('b')), result('a'), result('b'), user('and?')]
    const { request, changes, loss } = heal(...messages)
    expect(request.messages).toEqual(messages)
    request.messages.forEach((message, i) => void expect(message).toBe(messages[i]))
    expect(changes).toEqual([])
    expect(loss).toEqual([{ kind: 'tool-schema', count: 1, reason: 'not recorded' }])
  })

  it('answers a call without a result as unknown, and never as done', () => {
    const { request, changes } = heal(user('go'), assistant(call('a')), user('hello?'))
    expect(found({ changes })).toEqual(['call.unanswered 1.0 {"id":"a"}'])
    expect(shape(request.messages)).toBe('U | A a | T a | U')
    expect(request.messages[2]).toMatchObject({
      content: [{ output: { type: 'error-text', value: expect.stringMatching(/unknown/) } }],
    })
  })

  it('tells a call that began from one that did not, where the source knows', () => {
    const messages = [user('go'), assistant(call('a'), call('b')), user('hello?')]
    const { request, changes } = healed(target, messages, { options: { started: new Set(['a']) } })
    expect(found({ changes })).toEqual(['call.outcome-unknown 1.0 {"id":"a"}', 'call.not-started 1.1 {"id":"b"}'])
    const texts = request.messages.flatMap(({ content }) =>
      (content as { output?: { value: string } }[]).flatMap(({ output }) => output?.value ?? []),
    )
    expect(texts).toEqual([expect.stringMatching(/unknown/), expect.stringMatching(/did not run/)])
  })

  it('puts a made-up result behind that of the call before it', () => {
    const three = assistant(call('a'), call('b'), call('c'))
    const { request } = heal(user('go'), three, result('a'), result('c'), user('and?'))
    expect(shape(request.messages)).toBe('U | A a,b,c | T a | T b | T c | U')
  })

  it('keeps results in the order in which they were stored', () => {
    const { request, changes } = heal(
      user('go'),
      assistant(call('a'), call('b')),
      result('b'),
      result('a'),
      user('and?'),
    )
    expect(shape(request.messages)).toBe('U | A a,b | T b | T a | U')
    expect(found({ changes })).toEqual([])
  })

  it('does not send a result without its call, and makes no user of it', () => {
    const { request, changes, loss } = heal(user('go'), ...pair('a'), result('b'), user('and?'))
    expect(found({ changes })).toEqual(['result.orphan 3.0 {"id":"b"}'])
    expect(shape(request.messages)).toBe('U | A a | T a | U')
    expect(loss).toContainEqual({ kind: 'result', count: 1, reason: 'a result without its call' })
  })

  it('counts the first of two results', () => {
    const { request, changes } = heal(user('go'), ...pair('a'), result('a', 'again'), user('and?'))
    expect(found({ changes })).toEqual(['result.duplicate 3.0 {"id":"a","kept":{"message":2,"part":0}}'])
    expect(request.messages).toEqual([user('go'), ...pair('a'), user('and?')])
  })

  it('moves a late result up to its call', () => {
    const { request, changes } = heal(user('go'), assistant(call('a')), user('as docx'), result('a'), user('and?'))
    expect(found({ changes })).toEqual(['order.result-late 3.0 {"id":"a"}'])
    expect(shape(request.messages)).toBe('U | A a | T a | U | U')
  })

  it('shows a call that was stored twice once', () => {
    const { request, changes } = heal(user('go'), assistant(call('a'), call('a')), result('a'), user('and?'))
    expect(found({ changes })).toEqual(['call.duplicate-id 1.1 {"id":"a","action":"collapsed"}'])
    expect(shape(request.messages)).toBe('U | A a | T a | U')
  })

  it('gives the second of two different calls an id of its own, and an unknown outcome', () => {
    const other = call('a', { input: { path: 'b' } })
    const { request, changes } = heal(user('go'), assistant(call('a'), other), result('a'), user('and?'))
    expect(found({ changes })).toEqual(['call.duplicate-id 1.1 {"id":"a","action":"renamed"}'])
    expect(shape(request.messages)).toBe('U | A a,a_2 | T a | T a_2 | U')
    expect(request.messages[3]).toMatchObject({ content: [{ output: { type: 'error-text' } }] })
  })

  it('pairs an id that is used again inside its turn', () => {
    const { request, changes } = heal(user('go'), ...pair('a'), user('again'), ...pair('a'), user('and?'))
    expect(found({ changes })).toEqual([])
    expect(found({ changes }, { all: true })).toContain('id.reused 4.0 {"id":"a","first":{"message":1,"part":0}}')
    const second = target === 'anthropic' || target === 'openai-responses' ? 'a_2' : 'a'
    expect(shape(request.messages)).toBe(`U | A a | T a | U | A ${second} | T ${second} | U`)
  })

  it('pairs a result without an id with the one call that waits', () => {
    const { request, changes } = heal(user('go'), assistant(call('a')), result('', 'text'), user('and?'))
    expect(found({ changes })).toEqual(['id.missing 2.0 {"inferred":"a"}'])
    expect(request.messages[2]).toEqual(result('a', 'text'))
  })

  it('guesses nothing where two calls wait', () => {
    const { request, changes } = heal(user('go'), assistant(call('a'), call('b')), result('', 'text'), user('and?'))
    expect(found({ changes })).toEqual([
      'call.unanswered 1.0 {"id":"a"}',
      'call.unanswered 1.1 {"id":"b"}',
      'id.missing 2.0',
    ])
    expect(shape(request.messages)).toBe('U | A a,b | T a | T b | U')
  })

  it('leaves a call with neither id nor name out, with its result', () => {
    const { request, changes } = heal(user('go'), assistant('hm', call('', { toolName: '' })), result(''), user('and?'))
    expect(found({ changes })).toEqual(['call.unusable 1.1'])
    expect(request.messages).toEqual([user('go'), assistant('hm'), user('and?')])
  })

  it('gives a call without an id one, the same each time', () => {
    const messages = [user('go'), assistant(call('')), result('', 'seen'), user('and?')]
    const [first, second] = [heal(...messages), heal(...messages)]
    expect(first.request).toEqual(second.request)
    expect(shape(first.request.messages)).toMatch(/^U \| A (call_\w+) \| T \1 \| U$/)
  })

  it('says of each message where it comes from', () => {
    const { origins } = heal(user('go'), assistant(call('a')), user('as docx'), user('hello?'))
    expect(origins).toEqual([0, 1, -1, 2, 3])
  })
})

describe('neighbours that go out as one message', () => {
  const messages = [user('go'), assistant(call('a')), assistant(call('b')), result('a'), result('b'), user('and?')]

  it('have their results behind the last of them', () => {
    const { request, changes } = healed('anthropic', messages)
    expect(shape(request.messages)).toBe('U | A a | A b | T a | T b | U')
    expect(found({ changes })).toEqual([])
  })

  it('have them each behind itself where neighbours stay apart', () => {
    const { request, changes } = healed('openai-chat', messages)
    expect(shape(request.messages)).toBe('U | A a | T a | A b | T b | U')
    expect(found({ changes })).toEqual(['order.result-late 3.0 {"id":"a"}'])
  })
})
