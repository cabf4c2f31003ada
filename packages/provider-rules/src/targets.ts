import { TARGETS, type Target } from './request.js'

/** What a provider's protocol says of names, ids and places. Each rule names the source of what it reads here. */
export interface TargetFacts {
  /** Whose models answer, as importers and model adapters stamp it. */
  vendor: string
  /** Names of the vendor's own models, where a stamp names a reseller. */
  models: RegExp
  /** Under which name of `providerOptions` its state stands. */
  stateKey: string
  /** Members of that state that hold a part whole, in the provider's own words. */
  whole: readonly string[]
  callId: { legal: RegExp; limit: number; scope: 'request' | 'message' }
  toolName: { legal: RegExp; limit: number }
  /** Neighbours of one role go out as one message. DeepSeek: in thinking mode only. */
  joins: boolean
  /** What reasoning must have to go back; `none`: there is no place for it. */
  reasoning: 'signed' | 'text' | 'none'
  media: { user: boolean; result: boolean; assistant: boolean }
}

const ANY = /^/
const WORD = /^[a-zA-Z0-9_-]+$/
const VISION = { user: true, result: false, assistant: false }

export const FACTS: Record<Target, TargetFacts> = {
  anthropic: {
    vendor: 'anthropic',
    models: /claude/i,
    stateKey: 'anthropic',
    whole: ['block'],
    callId: { legal: WORD, limit: Number.POSITIVE_INFINITY, scope: 'request' },
    toolName: { legal: WORD, limit: 128 },
    joins: true,
    reasoning: 'signed',
    media: { user: true, result: true, assistant: false },
  },
  'openai-chat': {
    vendor: 'openai',
    models: /^(gpt|o\d|codex|chatgpt)/i,
    stateKey: 'openai',
    whole: ['part'],
    callId: { legal: ANY, limit: 40, scope: 'message' },
    toolName: { legal: WORD, limit: 64 },
    joins: false,
    reasoning: 'none',
    media: VISION,
  },
  'openai-responses': {
    vendor: 'openai',
    models: /^(gpt|o\d|codex|chatgpt)/i,
    stateKey: 'openai',
    whole: ['item', 'part'],
    callId: { legal: WORD, limit: 64, scope: 'request' },
    toolName: { legal: WORD, limit: 128 },
    joins: true,
    reasoning: 'signed',
    media: { user: true, result: true, assistant: false },
  },
  gemini: {
    vendor: 'google',
    models: /gemini/i,
    stateKey: 'google',
    whole: ['part'],
    callId: { legal: ANY, limit: Number.POSITIVE_INFINITY, scope: 'message' },
    toolName: { legal: /^[A-Za-z_][A-Za-z0-9_.:-]*$/, limit: 64 },
    joins: true,
    reasoning: 'signed',
    media: { user: true, result: true, assistant: true },
  },
  deepseek: {
    vendor: 'deepseek',
    models: /deepseek/i,
    stateKey: 'deepseek',
    whole: [],
    callId: { legal: ANY, limit: Number.POSITIVE_INFINITY, scope: 'message' },
    toolName: { legal: WORD, limit: 64 },
    joins: false,
    reasoning: 'text',
    media: { user: false, result: false, assistant: false },
  },
}

/** The protocol of whoever made a model, told by its name; of OpenAI's two, Chat. */
export function targetOfModel(model: string): Target | undefined {
  return TARGETS.find(target => FACTS[target].models.test(model))
}
