import { type Target, targetOfModel } from '@palimpsest/provider-rules'
import type { Session } from '@palimpsest/session'
import type { SessionBackend } from '@palimpsest/session-persistence'
import { openForLook } from '../stored-session.js'
import { diagnose } from './diagnosis.js'
import { EXPORT_TARGETS } from './export-formats.js'
import { groupFindings, isWrong } from './finding-groups.js'
import { readSession } from './read-file.js'

export interface Mending {
  /** Whose rules hold for the session's next request. */
  readonly target: Target
  readonly kinds: readonly { code: string; count: number }[]
}

/** What is put right in each request that a stored session makes; `undefined` where that is nothing, or cannot be told. */
export async function mendingOf(backend: SessionBackend, id: string): Promise<Mending | undefined> {
  const stored = await openForLook(backend, id).catch(() => undefined)
  const target = stored && targetOf(stored.session)
  if (stored === undefined || target === undefined) return undefined
  const read = readSession(stored.session)
  // An open turn is told of the log; here nothing closes it.
  const about = { ...read.reading.about, hasOwnTurns: false }
  const { findings } = diagnose({ ...read, reading: { ...read.reading, about } }, { target })
  const kinds = groupFindings(findings).flatMap(({ code, gravity, findings }) =>
    isWrong(gravity) ? [{ code, count: findings.length }] : [],
  )
  return kinds.length === 0 ? undefined : { target, kinds }
}

// --- internal ---

/** Of an imported session the protocol of the agent that it came from, else that of whoever made its last model. */
function targetOf(session: Session): Target | undefined {
  const { format } = Object(session.header.importedFrom) as { format?: string }
  const model = session.requestAt(session.length)?.model
  return EXPORT_TARGETS[format ?? ''] ?? (model === undefined ? undefined : targetOfModel(model))
}
