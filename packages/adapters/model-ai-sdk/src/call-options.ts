import type { JsonObject, JsonValue, ModelRequest, ProviderOptions } from '@palimpsest/session'
import type { CallOptions, SpecVersion } from './language-model.js'
import { isRecord } from './lossless.js'
import { promptOf } from './prompt.js'

export interface CallDefaults {
  /** Under the request's `settings.providerOptions`, provider by provider. */
  providerOptions?: ProviderOptions
  /** Under the request's `settings.headers`. */
  headers?: Record<string, string | undefined>
}

/**
 * The options of one `doStream`. `settings` are call options by the SDK's names; `settings.tools`
 * adds tools that the provider itself defines (`{ type: 'provider', id, name, args }`).
 */
export function callOptionsOf(
  request: ModelRequest,
  spec: SpecVersion,
  defaults: CallDefaults,
  abortSignal: AbortSignal,
): CallOptions {
  const { tools: own, toolChoice, headers, providerOptions, ...settings } = request.settings
  const tools = [...(request.tools ?? []).map(tool => ({ type: 'function', ...tool })), ...providerTools(own, spec)]
  const options = mergedOptions(defaults.providerOptions, providerOptions)
  return {
    ...settings,
    prompt: promptOf(request, spec),
    ...(tools.length > 0 ? { tools } : {}),
    ...(toolChoice === undefined || tools.length === 0 ? {} : { toolChoice: choiceOf(toolChoice) }),
    ...(options === undefined ? {} : { providerOptions: options }),
    headers: { ...defaults.headers, ...(isRecord(headers) ? (headers as Record<string, string>) : {}) },
    abortSignal,
  }
}

// --- internal ---

/** V2 calls the same thing by another type. */
function providerTools(tools: JsonValue | undefined, spec: SpecVersion): JsonObject[] {
  if (!Array.isArray(tools)) return []
  const type = spec === 'v2' ? 'provider-defined' : 'provider'
  return (tools as JsonObject[]).map(tool => (String(tool.type).startsWith('provider') ? { ...tool, type } : tool))
}

/** The SDK's callers write `'auto'`, its models want `{ type: 'auto' }`. */
function choiceOf(choice: JsonValue): JsonValue {
  return typeof choice === 'string' ? { type: choice } : choice
}

function mergedOptions(
  defaults: ProviderOptions | undefined,
  own: JsonValue | undefined,
): Record<string, unknown> | undefined {
  if (!isRecord(own)) return defaults
  const merged: Record<string, unknown> = { ...defaults }
  for (const [provider, options] of Object.entries(own)) {
    merged[provider] = isRecord(options) ? { ...(merged[provider] as object), ...options } : options
  }
  return merged
}
