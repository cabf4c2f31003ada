import type { HealOptions, Target } from '@palimpsest/provider-rules'
import type { Message } from '@palimpsest/session'
import { describe, expect, it } from 'vitest'
import { PNG } from './hostile.js'
import { assistant, by, call, found, healed, pair, reasoning, result, user } from './says.js'

const signed = (text = 'hm') => reasoning(text, { anthropic: { signature: 'c2ln' } })
const encrypted = (id = 'rs_1') => reasoning('', { openai: { itemId: id, reasoningEncryptedContent: 'c2Vj' } })
const thought = reasoning('hm', { google: { thoughtSignature: 'c2ln' } })

/** What is left of the reasoning of one answer, and what is told. */
function sent(target: Target, message: Message): [number, string[]] {
  const { request, changes } = healed(target, [user('go'), message, user('x')])
  const parts = request.messages.flatMap(({ content }) => content as { type: string }[])
  return [parts.filter(({ type }) => type === 'reasoning').length, found({ changes }, { all: true })]
}

describe('reasoning', () => {
  it('goes back to who signed it', () => {
    expect(sent('anthropic', assistant(signed(), 'Yes.'))).toEqual([1, []])
    expect(sent('openai-responses', assistant(encrypted(), 'Yes.'))).toEqual([1, []])
    expect(sent('gemini', assistant(thought, 'Yes.'))).toEqual([1, []])
    expect(sent('deepseek', assistant(reasoning('hm'), 'Yes.'))).toEqual([1, []])
  })

  it.each<Target>(['openai-responses', 'gemini', 'deepseek'])('signed by Anthropic goes to nobody else, %s', target => {
    expect(sent(target, assistant(signed(), 'Yes.'))).toEqual([0, ['reasoning.foreign 1.0']])
  })

  it('under the name of one vendor from a model of another is foreign', () => {
    expect(sent('anthropic', by('moonshot', assistant(signed(), 'Yes.')))).toEqual([0, ['reasoning.foreign 1.0']])
    expect(sent('anthropic', by('anthropic', assistant(signed(), 'Yes.')))).toEqual([1, []])
  })

  it('without a signature is not sent to who signs', () => {
    expect(sent('anthropic', assistant(reasoning('hm'), 'Yes.'))).toEqual([0, ['reasoning.unsigned 1.0 {"block":0}']])
    const stored = reasoning('hm', { openai: { itemId: 'rs_1' } })
    expect(sent('openai-responses', assistant(stored, 'Yes.'))).toEqual([0, ['reasoning.unsigned 1.0 {"block":0}']])
  })

  it('has no place in a chat message', () => {
    expect(sent('openai-chat', assistant(signed(), 'Yes.'))).toEqual([0, []])
  })

  it('with hidden text goes as it is stored', () => {
    expect(sent('anthropic', assistant(signed(''), 'Yes.'))).toEqual([1, ['reasoning.hidden-text 1.0']])
    const redacted = reasoning('', { anthropic: { redactedData: 'ZGF0YQ==' } })
    expect(sent('anthropic', assistant(redacted, 'Yes.'))).toEqual([1, []])
  })

  it('with readable content goes to no official endpoint', () => {
    const open = { itemId: 'rs_1', content: [{ type: 'reasoning_text', text: 'plain' }] }
    expect(sent('openai-responses', assistant(reasoning('plain', { openai: open }), 'Yes.'))).toEqual([
      0,
      ['reasoning.content-not-allowed 1.0'],
    ])
  })

  it('of an attempt that another one replaced is not sent', () => {
    const messages = [user('go'), assistant(reasoning('half a')), assistant(signed(), 'Yes.'), user('x')]
    const { request, changes } = healed('anthropic', messages)
    expect(found({ changes })).toEqual(['reasoning.superseded-attempt 1'])
    expect(request.messages).toEqual([messages[0], messages[2], messages[3]])
  })

  it('that nothing follows is not sent', () => {
    expect(sent('openai-responses', assistant('Yes.', encrypted()))).toEqual([
      0,
      ['reasoning.unfollowed 1.1 {"id":"rs_1"}'],
    ])
    expect(sent('anthropic', assistant(signed(), 'Yes.', signed()))).toEqual([1, ['reasoning.unfollowed 1.2']])
  })

  it('behind the beginning of a message is not sent, unless it leads too', () => {
    expect(sent('anthropic', assistant('First.', signed(), 'Yes.'))).toEqual([0, ['reasoning.not-leading 1.1']])
    const messages = [user('go'), assistant(signed(), call('a'), signed(), call('b')), result('a'), result('b')]
    expect(healed('anthropic', messages).request.messages).toEqual(messages)
  })
})

describe('parts of one reasoning item, openai-responses', () => {
  const part = (text: string, enc?: string, itemId = 'rs_1') =>
    reasoning(text, { openai: { itemId, ...(enc !== undefined && { reasoningEncryptedContent: enc }) } })
  const heal = (...content: Parameters<typeof assistant>) =>
    healed('openai-responses', [user('go'), assistant(...content), user('x')])

  it('go out as that item, with all of its summaries, though one of them only is signed', () => {
    const { request, changes, loss } = heal(part('First.'), part('Second.', 'c2Vj'), 'A.')
    expect(changes).toEqual([])
    expect(loss).toEqual([])
    expect(request.messages[1]!.content).toMatchObject([
      {
        text: 'First.\n\nSecond.',
        providerOptions: {
          openai: {
            itemId: 'rs_1',
            reasoningEncryptedContent: 'c2Vj',
            summary: [
              { type: 'summary_text', text: 'First.' },
              { type: 'summary_text', text: 'Second.' },
            ],
          },
        },
      },
      { text: 'A.' },
    ])
  })

  it('are two items under one name where each has its own seal, and one that is there twice where they are equal', () => {
    expect(found(heal(part('', 'YQ'), part('', 'Yg'), 'A.'))).toEqual([
      'item.duplicate-id 1.1 {"id":"rs_1","action":"id-dropped"}',
    ])
    expect(found(heal(part('', 'YQ'), part('', 'YQ'), 'A.'))).toEqual([
      'item.duplicate-id 1.1 {"id":"rs_1","action":"collapsed"}',
    ])
    expect(heal(part('', 'YQ'), part('', 'Yg', 'rs_2'), 'A.').request.messages[1]!.content).toHaveLength(3)
  })
})

describe('thinking, on or off', () => {
  const loop = (...content: Parameters<typeof assistant>) => [user('go'), assistant(...content, call('a')), result('a')]
  const told = (target: Target, messages: Message[], thinking: HealOptions['thinking'], model = 'm') => {
    const { request, changes } = healed(target, messages, { model, options: { thinking: thinking! } })
    return [request.thinking, found({ changes })]
  }

  it('is off for an open loop that began without', () => {
    expect(told('anthropic', loop(), 'on')).toEqual(['disabled', ['reasoning.missing-lead 1']])
    expect(told('anthropic', loop(signed()), 'on')).toEqual(['enabled', []])
    expect(told('anthropic', [...loop(), assistant('Done.'), user('x')], 'on')).toEqual(['enabled', []])
  })

  it('says nothing where nothing is asked for', () => {
    expect(told('anthropic', loop(), 'keep')).toEqual([undefined, []])
    expect(told('anthropic', loop(), 'off')).toEqual(['disabled', []])
    expect(told('deepseek', loop(), 'keep', 'deepseek-chat')).toEqual([undefined, []])
  })

  it('is off where DeepSeek would miss the reasoning of a call', () => {
    expect(told('deepseek', loop(reasoning('hm')), 'on')).toEqual(['enabled', []])
    expect(told('deepseek', loop(), 'on')).toEqual(['disabled', ['reasoning.missing-lead 1']])
    expect(told('deepseek', loop(), 'keep', 'deepseek-reasoner')).toEqual(['disabled', ['reasoning.missing-lead 1']])
  })

  it('has a second request without any, in case the signatures of an open loop are refused', () => {
    const { request, fallback } = healed('anthropic', loop(signed()))
    expect(request.messages).toEqual(loop(signed()))
    expect(fallback).toEqual({ ...request, messages: loop(), thinking: 'disabled' })
    expect(healed('anthropic', loop())).not.toHaveProperty('fallback')
    expect(healed('anthropic', [...loop(signed()), user('x')])).not.toHaveProperty('fallback')
  })
})

describe('signatures of calls, gemini', () => {
  const signedCall = call('a', { providerOptions: { google: { thoughtSignature: 'c2ln' } } })
  const skipped = { google: { thoughtSignature: 'skip_thought_signature_validator' } }
  const first = (message: Message, model: string) => {
    const { request } = healed('gemini', [user('go'), message, result('a'), result('b')], { model })
    return request.messages[1]!.content.map(({ providerOptions }) => providerOptions)
  }

  it('stay on their part', () => {
    expect(first(assistant(signedCall, call('b')), 'gemini-3-pro')).toEqual([signedCall.providerOptions, undefined])
  })

  it('are made up by nobody: the first call of another model skips the check', () => {
    const foreign = by('anthropic', assistant(call('a'), call('b')))
    expect(first(foreign, 'gemini-3-pro')).toEqual([skipped, undefined])
    expect(first(foreign, 'gemini-2.5-pro')).toEqual([undefined, undefined])
  })

  it('are base64', () => {
    const { request } = healed('gemini', [
      user('go'),
      assistant(reasoning('hm', { google: { thoughtSignature: '!' } }), 'Yes.'),
      user('x'),
    ])
    expect(request.messages[1]).toEqual(assistant('Yes.'))
  })
})

describe('ids', () => {
  const named = (target: Target, id: string) => {
    const { request, changes } = healed(target, [user('go'), ...pair(id), user('x')])
    const [asked, answered] = [1, 2].map(i => (request.messages[i]!.content[0] as { toolCallId: string }).toolCallId)
    expect(answered).toBe(asked)
    return [asked, found({ changes })] as const
  }
  const long = 'c'.repeat(41)

  it('that are legal stay', () => {
    expect(named('anthropic', long)).toEqual([long, []])
    expect(named('openai-chat', 'run:0')).toEqual(['run:0', []])
    expect(named('gemini', `run:${long.repeat(3)}`)).toEqual([`run:${long.repeat(3)}`, []])
  })

  it('with other characters are mapped, each to one of its own', () => {
    const [first, codes] = named('anthropic', 'run:0')
    expect(codes).toEqual(['id.illegal-for-target 1.0 {"id":"run:0","target":"anthropic"}'])
    expect(first).toMatch(/^[a-zA-Z0-9_-]+$/)
    expect(named('anthropic', 'run.0')[0]).not.toBe(first)
    expect(named('anthropic', 'run:0')[0]).toBe(first)
  })

  it('that are too long are shortened, each to one of its own', () => {
    const [first, codes] = named('openai-chat', `${long}1`)
    expect(codes).toEqual(['id.too-long-for-target 1.0 {"length":42,"limit":40}'])
    expect(first!.length).toBeLessThanOrEqual(40)
    expect(named('openai-chat', `${long}2`)[0]).not.toBe(first)
    expect(named('openai-responses', 'c'.repeat(65))[1]).toEqual([
      'id.too-long-for-target 1.0 {"length":65,"limit":64}',
    ])
  })

  it('that are too long and have other characters are told of once', () => {
    const [first, codes] = named('openai-responses', `call|${'c'.repeat(80)}`)
    expect(codes).toEqual(['id.too-long-for-target 1.0 {"length":85,"limit":64}'])
    expect(first).toMatch(/^[a-zA-Z0-9_-]{1,64}$/)
  })
})

describe('item ids, openai-responses', () => {
  const item = (itemId: string) => ({ providerOptions: { openai: { itemId } } })
  const said = (text: string, itemId: string) => assistant({ type: 'text', text, ...item(itemId) })
  const heal = (...messages: Message[]) => healed('openai-responses', [user('go'), ...messages, user('x')])

  it('of two different items: the later one goes without', () => {
    const { request, changes } = heal(said('One.', 'msg_1'), user('y'), said('Two.', 'msg_1'))
    expect(found({ changes })).toEqual(['item.duplicate-id 3 {"id":"msg_1","action":"id-dropped"}'])
    expect(request.messages.slice(1, 4)).toEqual([said('One.', 'msg_1'), user('y'), assistant('Two.')])
  })

  it('of a call that was stored twice are told of, and it is sent once', () => {
    const twice = call('a', item('fc_1'))
    const { request, changes } = heal(assistant(encrypted(), twice, twice), result('a'))
    expect(found({ changes })).toEqual(['call.duplicate-id 1.2 {"id":"fc_1","action":"collapsed"}'])
    expect(request.messages[1]).toEqual(assistant(encrypted(), twice))
  })

  it('of calls stand beside their reasoning only', () => {
    const { request, changes } = heal(assistant(call('a', item('fc_1'))), result('a'))
    expect(found({ changes })).toEqual(['reasoning.item-id-without-reasoning 1.0 {"id":"fc_1"}'])
    expect(request.messages[1]).toEqual(assistant(call('a')))
    expect(found(heal(assistant(encrypted(), call('a', item('fc_1'))), result('a')))).toEqual([])
  })

  it('begin as the endpoint names its items', () => {
    expect(heal(said('One.', 'other_1')).request.messages[1]).toEqual(assistant('One.'))
  })
})

describe('media', () => {
  const png = { type: 'image' as const, image: PNG, mediaType: 'image/png' }
  const wide = { ...png, image: resized(2400, 4) }
  const heal = (target: Target, ...content: Parameters<typeof user>) => {
    const { request, changes, loss } = healed(target, [user(...content)])
    return { content: request.messages[0]!.content, codes: found({ changes }, { all: true }), loss }
  }

  it('that are images go out as they are', () => {
    const web = { type: 'image' as const, image: 'https://example.org/a.png' }
    expect(heal('anthropic', png, web)).toEqual({ content: [png, web], codes: [], loss: [] })
  })

  it('of another type than they say are sent as what they are', () => {
    expect(heal('anthropic', { ...png, mediaType: 'image/jpeg' })).toEqual({
      content: [png],
      codes: ['media.undecodable 0.0 {"declared":"image/jpeg","sniffed":"image/png"}'],
      loss: [],
    })
  })

  it('that are no image become a note', () => {
    const { content, codes, loss } = heal('openai-chat', 'See', { ...png, image: 'bm8gaW1hZ2U=' })
    expect(content).toEqual(user('See', '[image left out: its bytes are no image of a supported kind]').content)
    expect(codes).toEqual(['media.undecodable 0.1 {"declared":"image/png"}'])
    expect(loss).toMatchObject([{ kind: 'media', count: 1 }])
  })

  it.each([24, 60])('that are cut after %i characters are no image', length => {
    const { codes, loss } = heal('anthropic', { ...png, image: PNG.slice(0, length) })
    expect(codes).toEqual(['media.undecodable 0.0 {"declared":"image/png"}'])
    expect(loss).toMatchObject([{ kind: 'media', count: 1 }])
  })

  it('that lie on a disk become a note', () => {
    const { content, codes } = heal('openai-responses', { type: 'image', image: 'file:///tmp/a.png' })
    expect(content).toEqual(user('[image left out: it lies where the target cannot read it]').content)
    expect(codes).toEqual(['media.not-taken 0.0'])
  })

  it('of one size may be too large among many', () => {
    expect(heal('anthropic', wide, ...Array(19).fill(png)).codes).toEqual([])
    const { content, codes } = heal('anthropic', wide, ...Array(20).fill(png))
    expect(codes).toEqual(['media.too-large-for-many 0.0 {"width":2400,"limit":2000,"images":21}'])
    expect(content[0]).toEqual({ type: 'text', text: '[image left out: 2400 x 4 px, over the limit of 2000 px]' })
    expect(content.slice(1)).toEqual(Array(20).fill(png))
  })

  it('are at most a hundred, and none too large for itself', () => {
    expect(heal('anthropic', { ...png, image: resized(9000, 4) }).codes).toEqual(['media.too-large 0.0'])
    expect(heal('anthropic', ...Array(101).fill(png)).codes).toEqual(['media.too-many 0.0 {"limit":100}'])
    expect(heal('openai-chat', { ...png, image: resized(9000, 4) }).codes).toEqual([])
  })

  it('become a note where only text is taken', () => {
    expect(heal('deepseek', png).content).toMatchObject([{ type: 'text' }])
    const output = {
      type: 'content' as const,
      value: [{ type: 'image-data' as const, data: PNG, mediaType: 'image/png' }],
    }
    const messages = [user('go'), assistant(call('a')), result('a', output), user('x')]
    expect(healed('anthropic', messages).request.messages).toEqual(messages)
    expect(healed('openai-chat', messages).request.messages[2]).toMatchObject({
      content: [{ output: { type: 'text' } }],
    })
  })
})

describe('tools that a provider ran itself', () => {
  const hosted = assistant(call('ws_1', { toolName: 'web_search', providerExecuted: true }), 'Found.')

  it('are not told of to another', () => {
    const { request, loss } = healed('openai-chat', [user('go'), hosted, user('x')])
    expect(request.messages[1]).toEqual(assistant('Found.'))
    expect(loss).toEqual([{ kind: 'call', count: 1, reason: 'the provider ran the tool itself' }])
  })

  it('stay for who can tell of them', () => {
    const options = { byPort: true } as const
    expect(healed('anthropic', [user('go'), hosted, user('x')], { options }).request.messages[1]).toEqual(hosted)
  })
})

// --- internal ---

/** The small image with another size in its header. */
function resized(width: number, height: number): string {
  const bytes = Buffer.from(PNG, 'base64')
  bytes.writeUInt32BE(width, 16)
  bytes.writeUInt32BE(height, 20)
  return bytes.toString('base64')
}
