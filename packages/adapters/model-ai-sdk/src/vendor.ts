import type { AnyModel } from './language-model.js'

/** Whose model it is, and under which names of `providerOptions` that vendor's state stands. */
export interface Vendor {
  name: string
  /** In an answer, these say that the vendor gave it. */
  answers: ReadonlySet<string>
  /** In what a caller wrote, who may also use the name of the SDK's package or of a gateway. */
  inputs: ReadonlySet<string>
  /** Its state stands under `SHARED`: then the log has to note who gave it. */
  isShared: boolean
}

/** The name under which models of Anthropic's class give their state, whatever vendor they are of. */
export const SHARED = 'anthropic'

/**
 * By the SDK's conventions: a model's `provider` begins with its vendor's name, and the vendor's state
 * stands under that name; the exceptions are listed here. Undefined for a model of which that is not known.
 */
export function vendorOf(model: Pick<AnyModel, 'provider' | 'modelId'>): Vendor | undefined {
  const [name = '', ...more] = model.provider.split('.')
  if (name === 'gateway') return vendor(name, behindGateway(model.modelId))
  if (name === 'anthropic' || more.includes('anthropic')) return vendor(name, [SHARED])
  const isNamed = typeof (model as { providerOptionsName?: unknown }).providerOptionsName === 'string'
  if (isNamed && (more.length === 0 || more[0] === 'messages')) return vendor(name, [name], true)
  return KEYS.has(name) || isNamed ? vendor(name, KEYS.get(name) ?? [name]) : undefined
}

// --- internal ---

const GOOGLE = ['google', 'vertex', 'googleVertex']

const SIMPLE = [
  ...['openai', 'xai', 'groq', 'mistral', 'cohere', 'deepseek', 'perplexity', 'fireworks', 'togetherai', 'cerebras'],
  ...['moonshotai', 'alibaba', 'deepinfra', 'baseten', 'huggingface', 'vercel', 'openrouter'],
]

/** The SDK's own packages, and OpenRouter's, by what `provider` begins with. Platforms of one vendor share its state. */
const KEYS: ReadonlyMap<string, readonly string[]> = new Map<string, readonly string[]>([
  ...SIMPLE.map(name => [name, [name]] as const),
  ['google', GOOGLE],
  ['vertex', GOOGLE],
  ['googleVertex', GOOGLE],
  ['amazon-bedrock', ['bedrock', 'amazonBedrock']],
  ['azure', ['azure', 'openai']],
  ['azure-openai', ['azure', 'openai']],
])

/** A gateway's model is `vendor/model`, and may run on another's platform. */
function behindGateway(modelId: string): readonly string[] {
  const [name = ''] = modelId.split('/')
  if (name === 'anthropic') return ['anthropic', 'bedrock']
  if (name === 'openai') return ['openai', 'azure']
  return KEYS.get(name) ?? [name]
}

function vendor(name: string, keys: readonly string[], isShared = false): Vendor {
  const answers = keys.flatMap(bothSpellings)
  const inputs = [...answers, ...bothSpellings(name), ...PACKAGE, ...(isShared ? [SHARED] : [])]
  return { name, answers: new Set(answers), inputs: new Set(inputs), isShared }
}

/** Read by every model of the OpenAI-compatible package, so a caller's name and no vendor's. */
const PACKAGE = ['openaiCompatible', 'openai-compatible']

/** The SDK takes `my-vendor` as `myVendor` too. */
function bothSpellings(name: string): string[] {
  return [name, name.replace(/[_-]([a-z])/g, (_, letter: string) => letter.toUpperCase())]
}
