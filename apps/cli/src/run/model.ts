import { resolve } from 'node:path'
import type { JsonObject, ModelPort } from '@palimpsest/session'
import { usageError } from '../failure.js'
import { readScript } from './script-file.js'

export interface ModelFlags {
  model?: string
  baseUrl?: string
  apiKeyEnv?: string
  maxOutputTokens?: number
}

export interface ChosenModel {
  port: ModelPort
  /** What the flags ask for. */
  settings: JsonObject
  /** What the provider needs where neither flags nor the session's last request say otherwise. */
  defaults: JsonObject
}

/**
 * The model that the flags, the session (its last model, on resume) or the environment name, in this
 * order. Providers are loaded when they are needed: a command that only reads pays nothing for them.
 */
export async function chooseModel(flags: ModelFlags, previous?: string): Promise<ChosenModel> {
  const name = flags.model ?? previous ?? process.env.PALIMPSEST_MODEL
  if (name === undefined || name === '') throw noModel()
  const { provider, id } = parseName(name, flags)
  if (provider === 'scripted') return scripted(id)
  return provider === 'anthropic' ? anthropic(id, flags) : openAiCompatible(id, flags)
}

// --- internal ---

const OPENAI_URL = 'https://api.openai.com/v1'
/** The provider's own guess for a model that it does not know is more than most models take. */
const ANTHROPIC_OUTPUT_TOKENS = 8192

interface ModelName {
  provider: 'scripted' | 'anthropic' | 'openai'
  id: string
}

/** A plain name is of an OpenAI-compatible server, but for Claude's where no other server is named. */
function parseName(name: string, { baseUrl }: ModelFlags): ModelName {
  const [, provider, id] = /^(scripted|anthropic|openai):(.+)$/s.exec(name) ?? []
  if (provider !== undefined) return { provider: provider as ModelName['provider'], id: id! }
  if (/^(scripted|anthropic|openai):?$/.test(name)) {
    throw usageError(
      `model: expected ${name.replace(':', '')}: with a ${name.startsWith('scripted') ? 'file' : 'model name'} behind it, found "${name}"`,
    )
  }
  return { provider: baseUrl === undefined && name.startsWith('claude') ? 'anthropic' : 'openai', id: name }
}

async function scripted(file: string): Promise<ChosenModel> {
  const { scriptedModel } = await import('@palimpsest/model-scripted')
  const path = resolve(file)
  return { port: scriptedModel(readScript(path), { model: `scripted:${path}` }), settings: {}, defaults: {} }
}

async function anthropic(id: string, flags: ModelFlags): Promise<ChosenModel> {
  const url = parseUrl(flags.baseUrl ?? process.env.ANTHROPIC_BASE_URL)
  const apiKey = keyOf(flags, 'ANTHROPIC_API_KEY', url === undefined) ?? 'none'
  const { createAnthropic } = await import('@ai-sdk/anthropic')
  const { aiSdkModel, rawFetch } = await import('@palimpsest/model-ai-sdk')
  const { withRules } = await import('@palimpsest/provider-rules')
  const provider = createAnthropic({ apiKey, fetch: rawFetch(), ...(url && { baseURL: versioned(url) }) })
  return {
    port: withRules(aiSdkModel(provider(id)), 'anthropic'),
    settings: settingsOf(flags),
    defaults: { maxOutputTokens: ANTHROPIC_OUTPUT_TOKENS },
  }
}

async function openAiCompatible(id: string, flags: ModelFlags): Promise<ChosenModel> {
  const url = parseUrl(flags.baseUrl ?? process.env.OPENAI_BASE_URL)
  const apiKey = keyOf(flags, 'OPENAI_API_KEY', url === undefined)
  const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible')
  const { aiSdkModel, rawFetch } = await import('@palimpsest/model-ai-sdk')
  const { withRules } = await import('@palimpsest/provider-rules')
  const provider = createOpenAICompatible({
    name: 'openai',
    baseURL: url ?? OPENAI_URL,
    fetch: rawFetch(),
    includeUsage: true,
    ...(apiKey !== undefined && { apiKey }),
  })
  // DeepSeek's protocol differs from that of others: it wants its reasoning back.
  const target = /deepseek/i.test(id) ? 'deepseek' : 'openai-chat'
  return { port: withRules(aiSdkModel(provider(id)), target), settings: settingsOf(flags), defaults: {} }
}

function settingsOf({ maxOutputTokens }: ModelFlags): JsonObject {
  return { ...(maxOutputTokens !== undefined && { maxOutputTokens }) }
}

/** A server of one's own may want no key; a provider's does. */
function keyOf({ apiKeyEnv }: ModelFlags, usual: string, isRequired: boolean): string | undefined {
  const variable = apiKeyEnv ?? usual
  const key = process.env[variable]
  if (key !== undefined && key !== '') return key
  if (!isRequired && apiKeyEnv === undefined) return undefined
  throw usageError(
    `expected an API key in the environment variable ${variable}, found none; set it, or name another one with --api-key-env`,
  )
}

function parseUrl(text: string | undefined): string | undefined {
  if (text === undefined || text === '') return undefined
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url?.protocol === 'http:' || url?.protocol === 'https:') return text.replace(/\/+$/, '')
  throw usageError(`--base-url: expected an address that begins with http:// or https://, found "${text}"`)
}

/** Anthropic's own convention leaves the version out of the base address, the SDK's does not. */
function versioned(url: string): string {
  return new URL(url).pathname === '/' ? `${url}/v1` : url
}

function noModel(): Error {
  return usageError(
    'expected a model, found none; give --model anthropic:NAME, openai:NAME, scripted:FILE, ' +
      'or --base-url URL --model NAME, or set PALIMPSEST_MODEL',
  )
}
