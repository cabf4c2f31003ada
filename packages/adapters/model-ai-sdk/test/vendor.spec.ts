import type { Message } from '@palimpsest/session'
import { describe, expect, test } from 'vitest'
import { fake, finish, type Part } from './fake-model.js'
import { ask, collect, messageOf } from './loopback.js'

interface Names {
  provider: string
  modelId?: string
  providerOptionsName?: string
}

async function promptFor(names: Names, ...messages: Message[]): Promise<{ role: string; content: Part[] }[]> {
  const { calls, port } = fake('v3', [finish('v3')], names)
  expect((await collect(port, ask(messages))).at(-1)).toMatchObject({ type: 'finish' })
  return calls[0]?.prompt as never
}

const state = (...names: string[]) => Object.fromEntries(names.map(name => [name, { state: `of ${name}` }]))
const answer = (...content: object[]) => ({ role: 'assistant', content }) as Message
const call = { type: 'tool-call', toolCallId: 'c', toolName: 'look', input: {} }

/** A model's own names first. All there is of classes that many vendors use is that they name themselves. */
const models: [Names, string[]][] = [
  [{ provider: 'anthropic.messages' }, ['anthropic']],
  [{ provider: 'vertex.anthropic.messages' }, ['anthropic']],
  [{ provider: 'bedrock.anthropic.messages' }, ['anthropic']],
  [{ provider: 'amazon-bedrock' }, ['bedrock', 'amazonBedrock']],
  [{ provider: 'openai.responses' }, ['openai']],
  [{ provider: 'azure.responses' }, ['azure', 'openai']],
  [{ provider: 'google.generative-ai' }, ['google']],
  [{ provider: 'google.vertex.chat' }, ['vertex', 'googleVertex', 'google']],
  [{ provider: 'deepseek.chat' }, ['deepseek']],
  [{ provider: 'my-vendor.chat', providerOptionsName: 'my-vendor' }, ['my-vendor', 'myVendor']],
  [{ provider: 'gateway', modelId: 'anthropic/claude' }, ['anthropic', 'bedrock']],
  [{ provider: 'gateway', modelId: 'openai/gpt' }, ['openai', 'azure']],
  [{ provider: 'gateway', modelId: 'google/gemini' }, ['google', 'vertex']],
  [{ provider: 'gateway', modelId: 'new/model' }, ['new']],
]
const OTHERS = ['anthropic', 'openai', 'google', 'bedrock', 'xai', 'another']

describe.each(models)('%o', (names, own) => {
  const foreign = OTHERS.filter(name => !own.includes(name) && !(name === 'google' && own.includes('vertex')))

  test.each(own)('gets back what it gave under "%s", and nothing beside it', async name => {
    const part = { type: 'reasoning', text: 'hm', providerOptions: state(name) }
    const mixed = { ...part, providerOptions: state(...foreign, name) }
    expect((await promptFor(names, answer(part, mixed)))[0]?.content).toEqual([part, part])
  })

  test('gets of another’s answer what was said and called', async () => {
    for (const name of foreign) {
      const providerOptions = state(name)
      const message = answer(
        { type: 'reasoning', text: 'plain' },
        { type: 'reasoning', text: 'signed', providerOptions },
        { type: 'text', text: '', providerOptions },
        { type: 'text', text: 'said', providerOptions },
        { ...call, toolCallId: 'run', providerExecuted: true },
        { type: 'tool-result', toolCallId: 'run', toolName: 'look', output: { type: 'json', value: 'sealed' } },
        { ...call, providerOptions },
      )
      expect(await promptFor(names, message)).toEqual([answer({ type: 'text', text: 'said' }, call)])
    }
  })

  test('does not get an answer of another’s in which nothing was said', async () => {
    const part = { type: 'reasoning', text: 'signed', providerOptions: state(foreign[0] ?? '') }
    expect(await promptFor(names, answer(part))).toEqual([])
  })

  test('gets an answer that names no vendor as it is', async () => {
    const message = answer({ type: 'reasoning', text: 'hm' }, { ...call, providerExecuted: true })
    expect(await promptFor(names, message)).toEqual([message])
  })

  test('gets of what a caller wrote what is meant for it', async () => {
    const others = foreign.filter(name => !names.provider.startsWith(name)) // Bedrock's own, on Bedrock
    const all = state(...others, own[0] ?? '')
    const mine = state(own[0] ?? '')
    const result = { type: 'tool-result', toolCallId: 'c', toolName: 'look' }
    const said = (options: object) =>
      [
        { role: 'user', content: [{ type: 'text', text: 'a', providerOptions: options }], providerOptions: options },
        {
          role: 'tool',
          content: [
            { ...result, output: { type: 'text', value: 'b', providerOptions: options }, providerOptions: options },
            { ...result, output: { type: 'content', value: [{ type: 'text', text: 'c', providerOptions: options }] } },
          ],
        },
      ] as Message[]
    expect(await promptFor(names, ...said(all))).toEqual(said(mine))
  })
})

describe('an answer with a note of who gave it', () => {
  const noted = (vendor: string, ...content: object[]) =>
    ({ ...answer(...content), providerOptions: { palimpsest: { vendor, model: 'm' } } }) as Message
  const plain = { type: 'reasoning', text: 'hm' }
  const text = { type: 'text', text: 'said' }

  test('is that vendor’s, whatever it holds', async () => {
    const deepseek = { provider: 'deepseek.chat' }
    expect(await promptFor(deepseek, noted('deepseek', plain, text))).toEqual([answer(plain, text)])
    expect(await promptFor({ provider: 'anthropic.messages' }, noted('deepseek', plain, text))).toEqual([answer(text)])
    const other = { provider: 'x.chat', providerOptionsName: 'x' }
    expect(await promptFor(other, noted('deepseek', plain, text))).toEqual([answer(text)])
  })

  test('with state under the vendor’s name gets it back', async () => {
    const signed = { ...plain, providerOptions: state('anthropic') }
    const vertex = { provider: 'vertex.anthropic.messages' }
    expect(await promptFor(vertex, noted('anthropic', signed))).toEqual([answer(signed)])
    expect(await promptFor(vertex, noted('moonshot', signed))).toEqual([])
  })
})

test('what was put on another’s call under a vendor’s own name, instead of a signature, is sent', async () => {
  const providerOptions = { google: { thoughtSignature: 'skip' } }
  const message = {
    ...answer({ type: 'reasoning', text: 'hm' }, { ...call, providerOptions }),
    providerOptions: { palimpsest: { vendor: 'anthropic' } },
  } as Message
  const google = { provider: 'google.generative-ai' }
  expect(await promptFor(google, message)).toEqual([answer({ ...call, providerOptions })])
})

test('a caller may write under the name of the SDK’s package, or of the gateway', async () => {
  const message = { role: 'user', content: [], providerOptions: state('openaiCompatible', 'gateway') } as Message
  const local = { provider: 'deepseek.chat', providerOptionsName: 'deepseek' }
  expect(await promptFor(local, message)).toMatchObject([{ providerOptions: state('openaiCompatible') }])
  const gateway = { provider: 'gateway', modelId: 'xai/grok' }
  expect(await promptFor(gateway, message)).toMatchObject([{ providerOptions: state('gateway') }])
})

test('a model of which nothing is known gets all', async () => {
  const message = answer({ type: 'reasoning', text: 'hm', providerOptions: state('anthropic', 'other') })
  expect(await promptFor({ provider: 'mine' }, message)).toEqual([message])
})

describe('a vendor that gives its state under the name of another', () => {
  const mine = { provider: 'mini-max', providerOptionsName: 'mini-max' }
  const reasoning = [
    { type: 'reasoning-start', id: '0' },
    { type: 'reasoning-delta', id: '0', delta: 'hm' },
    { type: 'reasoning-end', id: '0', providerMetadata: state('anthropic') },
  ]
  const signed = { type: 'reasoning', text: 'hm', providerOptions: state('anthropic') }

  test.each([
    ['whole', [...reasoning, finish('v3', 'stop', { providerMetadata: state('anthropic') })]],
    ['interrupted', reasoning],
  ])('is told apart from it in the log; the answer is %s', async (_, parts) => {
    const message = messageOf(await collect(fake('v3', parts, mine).port))
    expect(message.content).toMatchObject([signed])
    expect((await promptFor(mine, message))[0]?.content).toEqual([signed])
    expect(await promptFor({ provider: 'anthropic.messages' }, message)).toEqual([])
    expect(await promptFor({ ...mine, provider: 'moon.messages' }, message)).toEqual([])
  })

  test('does not get that other’s', async () => {
    expect(await promptFor(mine, answer(signed))).toEqual([])
  })

  test('gets what a caller wrote under that name', async () => {
    const message = { role: 'user', content: [], providerOptions: state('anthropic') } as Message
    expect(await promptFor(mine, message)).toEqual([message])
  })
})

test('a thought signature that an OpenAI-compatible model gave goes back where the SDK reads it', async () => {
  const names = { provider: 'gem.chat', providerOptionsName: 'gem' }
  const providerOptions = { gem: { thoughtSignature: 's' } }
  expect((await promptFor(names, answer({ ...call, providerOptions })))[0]?.content).toMatchObject([
    { providerOptions: { ...providerOptions, google: { thoughtSignature: 's' } } },
  ])
})
