import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { aiSdkModel, rawFetch } from '@palimpsest/model-ai-sdk'
import type { ModelPort } from '@palimpsest/session'
import { createGateway } from 'ai'
import { type Answer, anthropic, events, openAi } from './loopback.js'

/** A vendor behind a real provider of the SDK, which signs and seals all that it can. */
export interface Vendor {
  name: string
  /** Like another of the list but for its name. */
  isTwin?: true
  port(url: string): ModelPort
  /** Thinks, speaks, and calls `look` with each of `raws`. What the vendor wants back holds `sealed(tag, …)`. */
  calls(tag: string, raws: readonly string[]): Answer
  says(text: string): Answer
  /** How the calling answer must stand in every later request to that vendor. */
  sent(tag: string, raws: readonly string[]): string
}

/** What no other vendor may see. */
const sealed = (tag: string, what: string) => `sealed-${tag}-${what}+/==\u2028`
export const thought = (tag: string) => ` thought by ${tag}.\n`
export const callId = (tag: string, n: number) => `call_${tag}_${n}`

/** Arguments that `JSON.stringify` would write otherwise. */
export const RAWS: readonly string[] = [
  '{"n": 9007199254740993}',
  '{"a":1.0,"b":1,"c":1e2,"d":-0}',
  '{ "z" :\n\t[ ],  "a" : { } }',
  '{"10":1,"9":2,"b":1,"a":1}',
  '{"a":1,"a":2}',
  '{"s":"\\u00e9\\/ \\ud83d\\ude00"}',
  '{"__proto__": {"x": 1}, "input": {"id": "call", "input": {}}}',
  '{}',
]

const json = JSON.stringify

/** Anthropic's API, as the vendor itself or another offers it. */
function anthropicLike(name: string | undefined): Omit<Vendor, 'name' | 'isTwin'> {
  const encrypted = (tag: string) => json(sealed(tag, 'found'))
  return {
    port: url =>
      aiSdkModel(
        createAnthropic({ baseURL: url, apiKey: 'k', fetch: rawFetch(), ...(name === undefined ? {} : { name }) })(
          'claude-sonnet-4-5',
        ),
      ),
    calls: (tag, raws) =>
      events(
        anthropic.start(),
        ...anthropic.block(
          0,
          { type: 'thinking', thinking: '' },
          { type: 'thinking_delta', thinking: thought(tag).slice(0, 4) },
          { type: 'thinking_delta', thinking: thought(tag).slice(4) },
          { type: 'signature_delta', signature: sealed(tag, 'signature') },
        ),
        ...anthropic.block(1, { type: 'redacted_thinking', data: sealed(tag, 'redacted') }),
        ...anthropic.block(
          2,
          { type: 'server_tool_use', id: `srvtoolu_sealed-${tag}`, name: 'web_search', input: {} },
          { type: 'input_json_delta', partial_json: '{"query":"is it"}' },
        ),
        ...anthropic.block(3, {
          type: 'web_search_tool_result',
          tool_use_id: `srvtoolu_sealed-${tag}`,
          content: [{ type: 'web_search_result', url: 'u', title: 't', encrypted_content: sealed(tag, 'found') }],
        }),
        ...anthropic.text(4, `said by ${tag}.`),
        ...raws.flatMap((raw, n) => anthropic.call(5 + n, callId(tag, n), 'look', raw.slice(0, 3), raw.slice(3))),
        ...anthropic.stop('tool_use'),
      ),
    says: text => events(anthropic.start(), ...anthropic.text(0, text), ...anthropic.stop('end_turn')),
    sent: (tag, raws) =>
      `{"role":"assistant","content":[${[
        `{"type":"thinking","thinking":${json(thought(tag))},"signature":${json(sealed(tag, 'signature'))}}`,
        `{"type":"redacted_thinking","data":${json(sealed(tag, 'redacted'))}}`,
        `{"type":"server_tool_use","id":"srvtoolu_sealed-${tag}","name":"web_search","input":{"query":"is it"}}`,
        `{"type":"web_search_tool_result","tool_use_id":"srvtoolu_sealed-${tag}","content":[{"url":"u","title":"t","page_age":null,"encrypted_content":${encrypted(tag)},"type":"web_search_result"}]}`,
        `{"type":"text","text":"said by ${tag}."}`,
        ...raws.map((raw, n) => `{"type":"tool_use","id":"${callId(tag, n)}","name":"look","input":${raw}}`),
      ]}]}`,
  }
}

function openAiLike(name: string): Omit<Vendor, 'name' | 'isTwin'> {
  const signed = (tag: string) => ({ google: { thought_signature: sealed(tag, 'signature') } })
  return {
    port: url => aiSdkModel(createOpenAICompatible({ name, baseURL: url, fetch: rawFetch() })('m')),
    calls: (tag, raws) =>
      events(
        openAi.delta({ reasoning_content: thought(tag) }),
        openAi.delta({ content: `said by ${tag}.` }),
        openAi.delta({
          tool_calls: raws.map((raw, index) => ({
            index,
            id: callId(tag, index),
            type: 'function',
            function: { name: 'look', arguments: raw },
            ...(index === 0 ? { extra_content: signed(tag) } : {}),
          })),
        }),
        openAi.delta({}, 'tool_calls'),
        openAi.done,
      ),
    says: text => events(openAi.delta({ content: text }), openAi.delta({}, 'stop'), openAi.done),
    sent: (tag, raws) =>
      `{"role":"assistant","content":"said by ${tag}.","reasoning_content":${json(thought(tag))},"tool_calls":[${raws.map(
        (raw, n) =>
          `{"id":"${callId(tag, n)}","type":"function","function":{"name":"look","arguments":${json(raw)}}${
            n === 0 ? `,"extra_content":${json(signed(tag))}` : ''
          }}`,
      )}]}`,
  }
}

/** A gateway sends on whatever stands in the prompt. OpenAI's encrypted reasoning comes this way too. */
function behindGateway(vendor: string, stateOf: (tag: string) => object): Omit<Vendor, 'name' | 'isTwin'> {
  const finish = (unified: string) => ({
    type: 'finish',
    finishReason: { unified, raw: unified },
    usage: { inputTokens: {}, outputTokens: {} },
    providerMetadata: { gateway: { routing: { finalProvider: vendor } } },
  })
  return {
    port: url => aiSdkModel(createGateway({ baseURL: url, apiKey: 'k', fetch: rawFetch() })(`${vendor}/m`)),
    calls: (tag, raws) =>
      events(
        { type: 'stream-start', warnings: [] },
        { type: 'reasoning-start', id: 'r', providerMetadata: { [vendor]: stateOf(tag) } },
        { type: 'reasoning-delta', id: 'r', delta: thought(tag) },
        { type: 'reasoning-end', id: 'r', providerMetadata: { [vendor]: stateOf(tag) } },
        ...raws.map((raw, n) => ({
          type: 'tool-call',
          toolCallId: callId(tag, n),
          toolName: 'look',
          input: raw,
          providerMetadata: { [vendor]: { itemId: sealed(tag, `item-${n}`) } },
        })),
        finish('tool-calls'),
      ),
    says: text =>
      events(
        { type: 'text-start', id: 't' },
        { type: 'text-delta', id: 't', delta: text },
        { type: 'text-end', id: 't' },
        finish('stop'),
      ),
    sent: (tag, raws) =>
      `{"role":"assistant","content":[${[
        `{"type":"reasoning","text":${json(thought(tag))},"providerOptions":${json({ [vendor]: stateOf(tag) })}}`,
        ...raws.map(
          (raw, n) =>
            `{"type":"tool-call","toolCallId":"${callId(tag, n)}","toolName":"look","input":${raw},"providerOptions":${json({ [vendor]: { itemId: sealed(tag, `item-${n}`) } })}}`,
        ),
      ]}]}`,
  }
}

export const vendors: Vendor[] = [
  { name: 'anthropic', ...anthropicLike(undefined) },
  { name: 'another vendor with the API of Anthropic', ...anthropicLike('mini-max') },
  { name: 'openai-compatible', ...openAiLike('deep-mind') },
  { name: 'another openai-compatible one', isTwin: true, ...openAiLike('x') },
  { name: 'google, openai-compatible', ...openAiLike('google') },
  {
    name: 'openai behind a gateway',
    ...behindGateway('openai', tag => ({
      itemId: sealed(tag, 'item'),
      reasoningEncryptedContent: sealed(tag, 'encrypted'),
    })),
  },
  {
    name: 'xai behind a gateway',
    isTwin: true,
    ...behindGateway('xai', tag => ({ itemId: sealed(tag, 'item'), reasoningEncryptedContent: sealed(tag, 'enc') })),
  },
]
