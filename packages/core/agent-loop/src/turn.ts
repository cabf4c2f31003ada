import type { SurfaceIntent, TurnEnd, UserMessage } from '@palimpsest/session'
import { closeInterruptedTurn, type IntentOf, type SessionEvent } from '@palimpsest/session'
import { AgentError, faultOf } from './errors.js'
import type { Entry } from './inbox.js'
import type { Loop, Turn } from './loop.js'
import { sealData } from './seal.js'
import { runStep } from './step.js'
import { isStopped, throwIfStopped, untilStopped } from './until-stopped.js'

/**
 * One drain of what was sent so far. Rejects only where the log refuses to go on (a session that became
 * read-only); every other end is in the log.
 */
export async function runTurn(loop: Loop): Promise<void> {
  closeLeftover(loop)
  const turn = openTurn(loop)
  const end = await turnEnd(turn)
  loop.session.append('turn/end', { turn: turn.turn, reason: end })
  loop.durability.settle()
}

// --- internal ---

/** A turn that another process or agent left open, as in a fork of its middle, is closed as recovery does it. */
function closeLeftover({ session }: Loop): void {
  const start = session.lastSeqOf('turn/start')
  if (start === undefined) return
  for (let seq = session.length - 1; seq > start; seq--) {
    if (session.at(seq)?.type === 'turn/end') return
  }
  for (const { type, data, surfaceOp, sourceEventSeqs } of closeInterruptedTurn(session.slice(start))) {
    const intent = surfaceOp === undefined ? [] : [{ surfaceOp, ...(sourceEventSeqs ? { sourceEventSeqs } : {}) }]
    session.append(type, data as never, ...(intent as unknown as IntentOf<typeof type>))
  }
}

function openTurn(loop: Loop): Turn {
  const number = nextNumber(loop)
  const turn = createTurn(loop, number)
  loop.running = turn
  loop.session.append('turn/start', { turn: number })
  return turn
}

/** A log from elsewhere may have turns without numbers; the kernel admits them, so they stop nobody. */
function nextNumber({ session }: Loop): number {
  const last = session.lastSeqOf('turn/start')
  if (last === undefined) return 1
  const { turn } = (session.at(last) as SessionEvent<'turn/start'>).data
  return Number.isSafeInteger(turn) ? turn + 1 : 1
}

function createTurn(loop: Loop, turn: number): Turn {
  const controller = new AbortController()
  let stopped: TurnEnd | undefined
  return {
    loop,
    turn,
    signal: controller.signal,
    get stopped() {
      return stopped
    },
    stop(end) {
      if (stopped) return
      stopped = end
      const reason = end.kind === 'aborted' ? end.reason : undefined
      controller.abort(new DOMException(reason ?? `The turn was ${end.kind}.`, 'AbortError'))
    },
  }
}

async function turnEnd(turn: Turn): Promise<TurnEnd> {
  try {
    throwIfStopped(turn.signal)
    const end = (await admitInput(turn)) ? await runSteps(turn) : COMPLETED
    return turn.stopped ?? end
  } catch (error) {
    return turn.stopped ?? { kind: 'error', error: faultOf(error, 'HANDLER_FAILED') }
  }
}

async function runSteps(turn: Turn): Promise<TurnEnd> {
  const { inbox, limits } = turn.loop
  for (let step = 1; ; step++) {
    throwIfStopped(turn.signal)
    const isAskedAgain = await runStep(turn, step)
    if (!isAskedAgain && !inbox.steers()) return COMPLETED
    if (step >= limits.maxSteps) return { kind: 'max-steps' }
  }
}

/** Logs what the `turn/admit` handlers let through. Answers whether that is anything. */
async function admitInput(turn: Turn): Promise<boolean> {
  const { loop } = turn
  const { agent, session, host } = loop
  const entries = loop.inbox.takeTurn()
  try {
    const messages = Object.freeze(entries.map(({ message }) => message))
    const value = Object.freeze({ agent, session, turn: turn.turn, messages })
    const admission = host.intercept('turn/admit', value, agent, async passed => ({ messages: passed.messages }))
    const admitted = await untilStopped(admission, turn.signal)
    logAdmitted(turn, entries, [...admitted.messages])
    return admitted.messages.length > 0
  } catch (error) {
    refuseInput(turn, entries, error)
    throw error
  }
}

/** All of them or none: an input is never refused to its sender and yet in the log. */
function logAdmitted({ loop, turn }: Turn, entries: readonly Entry[], messages: readonly UserMessage[]): void {
  const sealed = messages.map(message => sealData('user/message', { turn, message }))
  const seqs = sealed.map(data => loop.session.append('user/message', data, APPEND).seq)
  for (const [i, entry] of entries.entries()) {
    const same = messages.indexOf(entry.message)
    const seq = same >= 0 ? seqs[same] : messages.length === entries.length ? seqs[i] : undefined
    if (seq === undefined)
      entry.reject(new AgentError('INPUT_NOT_ADMITTED', 'a turn/admit handler left this input out'))
    else loop.durability.logged(entry, seq)
  }
}

/** A disposed agent gives its input back; a cancelled one was told that this turn is not wanted. */
function refuseInput({ loop, stopped }: Turn, entries: readonly Entry[], error: unknown): void {
  const isReturned = stopped?.kind === 'disposed'
  const why = isStopped(error) ? new AgentError('INPUT_NOT_ADMITTED', CANCELLED) : error
  if (isReturned) loop.inbox.putBack(entries)
  else for (const entry of entries) entry.reject(why)
}

const CANCELLED = 'the turn was cancelled before this input was logged; send it again'
const APPEND: SurfaceIntent = { surfaceOp: 'append' }
const COMPLETED: TurnEnd = { kind: 'completed' }
