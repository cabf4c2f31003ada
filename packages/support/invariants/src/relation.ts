import type { Agent, PluginContext } from '@palimpsest/host'
import type { Session, SessionEvent } from '@palimpsest/session'

/** What broke a relation: which events, and in words what was expected and found. */
export interface Violation {
  readonly seqs: readonly number[]
  readonly message: string
}

/** Judges the events of one log, in order, from the first. After a violation it judges afresh from there. */
export type LogJudge = (event: SessionEvent) => Violation | undefined

/** Listens on a host and says what is wrong, about which session. */
type HostJudge = (ctx: PluginContext, report: (violation: Violation, sessionId?: string) => void) => void

/** One thing that holds of every log, or of every host. */
export interface Relation {
  readonly name: string
  readonly description: string
  /** A judge of one session's log. */
  readonly judgeLog?: (session: Session) => LogJudge
  readonly judgeHost?: HostJudge
}

/** A relation is broken: a bug of the engine, or of who appended. */
export class InvariantError extends Error {
  override readonly name = 'InvariantError'

  constructor(
    readonly relation: string,
    { seqs, message }: Violation,
    readonly sessionId?: string,
  ) {
    super(`${relation}: ${message}`)
    this.seqs = seqs
  }

  readonly seqs: readonly number[]
}

/** Whether the event rests on what repair could not read: nobody can say what it would have to fit. */
export function citesLoss(session: Session, { sourceEventSeqs }: SessionEvent): boolean {
  return sourceEventSeqs?.some(seq => session.at(seq)?.type === 'log/lost') ?? false
}

/** Runs `listen` for each agent that there is and that comes. */
export function forEachAgent(ctx: PluginContext, listen: (agent: Agent) => void): void {
  for (const agent of ctx.host.agents.values()) listen(agent)
  ctx.on('agent/created', listen)
}
