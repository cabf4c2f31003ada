import type { JsonObject, JsonValue, ModelPort, ModelRequest, RequestHeader } from '@palimpsest/session'
import { heal } from './heal.js'
import type { HealOptions, OutgoingRequest, Target } from './request.js'

/** Rises with each change of what healing makes of a request: a logged request can be made again only by the same. */
export const RULES_VERSION = '1'

/** A port that says by which rules it changes what it is given. The loop logs that in the request header. */
export interface RuledModelPort extends ModelPort {
  readonly rules: NonNullable<RequestHeader['rules']>
}

/**
 * The same model, asked only for what its provider accepts. What it gets is a pure function of the request: the log,
 * and with it the next request, stays as it is.
 */
export function withRules(model: ModelPort, target: Target): RuledModelPort {
  return {
    model: model.model,
    rules: Object.freeze({ target, version: RULES_VERSION }),
    stream: (request, signal) => model.stream(healedRequest(request, target), signal),
  }
}

// --- internal ---

function healedRequest(request: ModelRequest, target: Target): ModelRequest {
  const { model, settings, rules } = request
  const thinking = thinkingOf(settings, target)
  const healed = heal(request, target, { byPort: true, ...(thinking && { thinking }) }).request
  return frozen({
    model,
    settings: withThinking(settings, healed, target),
    ...(healed.system !== undefined && { system: healed.system }),
    ...(healed.tools.length > 0 && { tools: healed.tools }),
    ...(rules && { rules }),
    messages: healed.messages,
  })
}

/** Whether the settings ask the provider for reasoning, in the way of the AI SDK. */
function thinkingOf(settings: JsonObject, target: Target): HealOptions['thinking'] {
  const type = objectAt(objectAt(objectAt(settings.providerOptions)[target]).thinking).type
  if (type === undefined) return undefined
  return type === 'disabled' ? 'off' : 'on'
}

/** An open loop that began without reasoning goes on without. */
function withThinking(settings: JsonObject, { thinking }: OutgoingRequest, target: Target): JsonObject {
  if (thinking !== 'disabled' || thinkingOf(settings, target) === 'off') return settings
  const providerOptions = objectAt(settings.providerOptions)
  const own = { ...objectAt(providerOptions[target]), thinking: { type: 'disabled' } }
  return { ...settings, providerOptions: { ...providerOptions, [target]: own } }
}

function objectAt(value: JsonValue | undefined): JsonObject {
  return value !== null && typeof value === 'object' && !Array.isArray(value) ? value : {}
}

/** What is frozen already came from the log, where all of it is. */
function frozen<V>(value: V): V {
  if (value === null || typeof value !== 'object' || Object.isFrozen(value)) return value
  for (const each of Object.values(Object.freeze(value))) frozen(each)
  return value
}
