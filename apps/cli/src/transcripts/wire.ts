import { heal, type Target } from '@palimpsest/provider-rules'
import type { ModelRequest } from '@palimpsest/session'
import { stringifyRaw, writeRequest } from '@palimpsest/transcripts'
import { usageError } from '../failure.js'

/** The provider's own body of a request, healed for it, as it would go over the wire. */
export function wireBody(request: ModelRequest, target: Target = targetOf(request)): string {
  const { request: healed } = heal(request, target)
  return stringifyRaw({ model: request.model, ...writeRequest(target, healed) }, 2)
}

// --- internal ---

/** Model names as their makers give them. */
const MAKERS: readonly [RegExp, Target][] = [
  [/claude/i, 'anthropic'],
  [/gemini/i, 'gemini'],
  [/deepseek/i, 'deepseek'],
  [/^(gpt|o\d|codex|chatgpt)/i, 'openai-chat'],
]

function targetOf({ model, rules }: ModelRequest): Target {
  const target = (rules?.target as Target | undefined) ?? MAKERS.find(([name]) => name.test(model))?.[1]
  if (target !== undefined) return target
  throw usageError(
    `--wire: expected a model whose maker its name tells, found "${model}"; name the protocol with --target`,
  )
}
