import type { EditCost } from '@palimpsest/history'
import type { Session, SessionEvent } from '@palimpsest/session'
import { openSession } from '@palimpsest/session-persistence'
import type { Context } from './context.js'
import { namingTakeover } from './failure.js'
import { reportOpening } from './opening.js'
import { resolveId } from './session-id.js'
import { TOKENIZER } from './tokenizer.js'
import { counted } from './view/figures.js'

interface Edited<T> {
  readonly id: string
  /** What closed a turn that was interrupted, before the edit. */
  readonly repaired: readonly SessionEvent[]
  readonly result: T
}

/** Opens a session for one edit, and closes it with the edit durable, or with nothing of it. */
export async function editStored<T>(
  context: Context,
  given: string | undefined,
  verb: string,
  edit: (session: Session) => T | Promise<T>,
): Promise<Edited<T>> {
  const backend = await context.existingStore()
  const id = await resolveId(backend, given)
  const open = await openSession(backend!, id).catch(error => {
    throw namingTakeover(error, `palimpsest resume ${id} --takeover${context.storeFlag}, then palimpsest ${verb}`)
  })
  try {
    await reportOpening(open, context)
    return { id, repaired: open.report.repaired, result: await edit(open.session) }
  } finally {
    await open.close()
  }
}

/** What an edit did to the request, as the command's tokenizer counts it, in a line. */
export function costLine({ tokensBefore, tokensAfter, tokensSaved, cachedPrefix }: EditCost): string {
  const change = tokensSaved >= 0 ? `${tokensSaved} saved` : `${-tokensSaved} more`
  const kept = `${counted(cachedPrefix.messages, 'leading message')} of ${cachedPrefix.tokens} tokens as before`
  return `${tokensBefore} → ${tokensAfter} tokens by ${TOKENIZER} (${change}); ${kept}, ${cachedPrefix.tokensBroken} tokens to cache anew`
}
