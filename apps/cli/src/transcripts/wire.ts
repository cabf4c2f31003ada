import { heal, type Target, targetOfModel } from '@palimpsest/provider-rules'
import type { ModelRequest } from '@palimpsest/session'
import { stringifyRaw, writeRequest } from '@palimpsest/transcripts'
import { usageError } from '../failure.js'

/** The provider's own body of a request, healed for it, as it would go over the wire. */
export function wireBody(request: ModelRequest, target: Target = targetOf(request)): string {
  const { request: healed } = heal(request, target)
  return stringifyRaw({ model: request.model, ...writeRequest(target, healed) }, 2)
}

// --- internal ---

function targetOf({ model, rules }: ModelRequest): Target {
  const target = (rules?.target as Target | undefined) ?? targetOfModel(model)
  if (target !== undefined) return target
  throw usageError(
    `--wire: expected a model whose maker its name tells, found "${model}"; name the protocol with --target`,
  )
}
