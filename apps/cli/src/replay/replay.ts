import type { Session } from '@palimpsest/session'
import { IMPORT_END } from '../transcripts/import-end.js'
import { playTurn } from './recorded-agent.js'
import { isGiven, readTurn } from './recording.js'
import { type Difference, Stage } from './stage.js'

export interface ReplayReport {
  /** How many events were written anew, up to the first difference. */
  readonly length: number
  /** Of these, what the loop does not write: edits, imports, a process's end. */
  readonly given: number
  readonly turns: number
  readonly difference?: Difference
}

/**
 * Runs the loop again over a recorded log, offline: the model streams what it streamed, the tools return
 * what they returned, people say what they said when they said it. Stops at the first event that differs
 * and before event `until`.
 */
export async function replaySession(recorded: Session, until = recorded.length): Promise<ReplayReport> {
  const stage = new Stage(recorded, until)
  const imported = importedLength(recorded)
  let turns = 0
  while (!stage.isOver) {
    const isForeign = stage.length < imported || isGiven(stage.next!)
    const turn = isForeign ? undefined : readTurn(recorded, stage.length)
    if (turn === undefined) {
      stage.give(stage.next!)
      continue
    }
    turns += 1
    await untilOver(stage, playTurn(stage, turn))
    if (turn.crashAt !== undefined && stage.length === turn.crashAt && !stage.difference) stage.crash(turn.start)
    if (!stage.isOver && stage.length < turn.end) stage.fail('the loop ended the turn without it')
  }
  const { difference, length, given } = stage
  const same = difference === undefined ? length : difference.seq
  return { length: same, given, turns, ...(difference && { difference }) }
}

// --- internal ---

/** What another agent's loop did is not replayed: how many events an import wrote. */
function importedLength({ header, events }: Session): number {
  if (header.importedFrom === undefined) return 0
  return events.findLastIndex(({ type }) => (type as string) === IMPORT_END) + 1
}

/** A loop that waits for what never comes is a difference too. */
const STALLED_MS = 5_000

async function untilOver(stage: Stage, play: Promise<void>): Promise<void> {
  let timer: ReturnType<typeof setInterval> | undefined
  let { length } = stage
  const stalled = new Promise<void>(resolve => {
    timer = setInterval(() => {
      if (stage.length === length) {
        stage.fail('the loop waits and writes nothing')
        resolve()
      }
      length = stage.length
    }, STALLED_MS)
  })
  try {
    await Promise.race([play, stalled])
  } finally {
    clearInterval(timer)
  }
}
