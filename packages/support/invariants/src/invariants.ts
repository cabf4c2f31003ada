import type { Host, Plugin } from '@palimpsest/host'
import type { Session, SessionEvent } from '@palimpsest/session'
import { judgeSession } from './log-judge.js'
import { InvariantError } from './relation.js'
import { RELATIONS } from './relations.js'

/**
 * Only listens: it freezes nothing, vetoes nothing and has no configuration. A session that is there, or
 * comes, is replayed first, so attaching in mid-turn is safe. A violation is an `InvariantError`, handed
 * to the host's `onError`.
 */
export const invariants: Plugin = Object.freeze({
  name: 'invariants',
  setup(ctx) {
    const judges = new WeakMap<Session, (event: SessionEvent) => void>()
    const adopt = (session: Session) => {
      judges.set(session, judgeSession(session, ctx.report))
    }
    for (const { name, judgeHost } of RELATIONS) {
      judgeHost?.(ctx, (violation, sessionId) => ctx.report(new InvariantError(name, violation, sessionId)))
    }
    for (const session of ctx.host.sessions.values()) adopt(session)
    ctx.on('session/adopted', adopt)
    ctx.on('session/event', (event, session) => judges.get(session)?.(event))
  },
} satisfies Plugin)

/** The same as `host.use(invariants)`. */
export function attachInvariants(host: Host): Promise<{ dispose(): Promise<void> }> {
  return host.use(invariants)
}
