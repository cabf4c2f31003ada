/**
 * Who made a model, in the words of `providerOptions.palimpsest.vendor`. What offers other makers' models (a router, a
 * cloud) is told by the model's name; an unknown name is its own vendor.
 */
export function vendorOf(provider: string | undefined, model: string | undefined): string | undefined {
  const name = (model ?? '').toLowerCase()
  const made = MODELS.find(([pattern]) => pattern.test(name))
  if (made !== undefined) return made[1]
  const maker = MAKERS.find(([pattern]) => pattern.test((provider ?? '').toLowerCase()))
  return maker?.[1] ?? provider
}

// --- internal ---

const MODELS: readonly (readonly [RegExp, string])[] = [
  [/(^|[/.:])claude/, 'anthropic'],
  [/(^|[/.:])gemini/, 'google'],
  [/(^|[/.:])deepseek/, 'deepseek'],
  [/(^|[/.:])(gpt-|chatgpt|o[134](-|$)|codex)/, 'openai'],
  // Makers whose models are offered at other makers' endpoints, Anthropic's above all.
  [/(^|[/.:])(chat)?glm-/, 'zhipu'],
  [/(^|[/.:])kimi-/, 'moonshot'],
  [/(^|[/.:])(qwen|qwq)/, 'alibaba'],
  [/(^|[/.:])minimax/, 'minimax'],
  [/(^|[/.:])grok-/, 'xai'],
  [/(^|[/.:])(mistral|devstral|codestral)/, 'mistral'],
]

const MAKERS: readonly (readonly [RegExp, string])[] = [
  [/^anthropic/, 'anthropic'],
  [/^(google|gemini|vertex)/, 'google'],
  [/^deepseek/, 'deepseek'],
  [/^(openai|azure|codex)/, 'openai'],
]
