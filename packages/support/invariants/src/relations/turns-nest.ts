import type { SessionEvent } from '@palimpsest/session'
import { citesLoss, type Relation, type Violation } from '../relation.js'

export const turnsNest: Relation = {
  name: 'turns-nest',
  description:
    'Turns and steps count from 1 and nest: a step lies in its turn, and what names a turn or step lies in that one.',
  judgeLog: session => {
    let at: Place = { turn: 0, isTurnOpen: false, step: 0, isStepOpen: false }
    return event => {
      // What repair could not read may have held any number of turns.
      if (event.type === 'log/lost') at = UNKNOWN
      const before = at
      at = nextPlace(at, event)
      return fits(before, event) || citesLoss(session, event) ? undefined : misplaced(before, event)
    }
  },
}

// --- internal ---

/** `turn` and `step` are the last that began; `NaN` where nobody knows. */
interface Place {
  readonly turn: number
  readonly isTurnOpen: boolean
  readonly step: number
  readonly isStepOpen: boolean
}

const UNKNOWN: Place = { turn: Number.NaN, isTurnOpen: false, step: Number.NaN, isStepOpen: false }

/** Whether the event lies where it may. What names no turn may lie anywhere. */
function fits(at: Place, event: SessionEvent): boolean {
  const { turn, step } = Object(event.data) as { turn?: number; step?: number }
  if (turn === undefined || Number.isNaN(at.turn)) return true
  const isHere = at.isTurnOpen && turn === at.turn
  switch (event.type) {
    case 'turn/start':
      return !at.isTurnOpen && turn === at.turn + 1
    case 'turn/end':
      return isHere && !at.isStepOpen
    case 'step/start':
      return isHere && !at.isStepOpen && step === at.step + 1
    case 'step/end':
    case 'assistant/chunk':
    case 'assistant/message':
    case 'tool/call':
    case 'tool/settled':
    case 'tool/result':
      return (isHere && at.isStepOpen && step === at.step) || isEdit(event)
    case 'user/message':
    case 'context/message':
    case 'steering/message':
      return isHere || isEdit(event)
    default:
      return true
  }
}

function misplaced(at: Place, event: SessionEvent): Violation {
  const expected = expectedAt(at, event)
  return { seqs: [event.seq], message: `expected ${event.type} in ${expected}, found ${placeOf(event)}` }
}

/** Where an event that does not fit must lie, in words. */
function expectedAt({ turn, isTurnOpen, step, isStepOpen }: Place, event: SessionEvent): string {
  switch (event.type) {
    case 'turn/start':
      return isTurnOpen ? `no turn while ${turn} is open` : `turn ${turn + 1}`
    case 'turn/end':
      return isStepOpen ? `step ${step}, which is open` : openTurn(turn, isTurnOpen)
    case 'step/start':
      return isStepOpen ? `no step while ${step} is open` : `${openTurn(turn, isTurnOpen)} step ${step + 1}`
    case 'user/message':
    case 'context/message':
    case 'steering/message':
      return openTurn(turn, isTurnOpen)
    default:
      return `${openTurn(turn, isTurnOpen)} ${isStepOpen ? `step ${step}` : 'no step'}`
  }
}

const openTurn = (turn: number, isOpen: boolean): string => (isOpen ? `turn ${turn}` : 'no turn')

/** A replacement keeps the turn of what it replaces. */
function isEdit({ surfaceOp }: SessionEvent): boolean {
  return surfaceOp !== undefined && surfaceOp !== 'append'
}

function placeOf({ data }: SessionEvent): string {
  const { turn, step } = data as { turn: number; step?: number }
  return step === undefined ? `turn ${turn}` : `turn ${turn} step ${step}`
}

function nextPlace(at: Place, event: SessionEvent): Place {
  // Whatever names a turn may be of one whose start is lost; only the start of the next is sure.
  if (Number.isNaN(at.turn) && event.type !== 'turn/start') return at
  switch (event.type) {
    case 'turn/start':
      return { turn: event.data.turn, isTurnOpen: true, step: 0, isStepOpen: false }
    case 'turn/end':
      return { turn: event.data.turn, isTurnOpen: false, step: 0, isStepOpen: false }
    case 'step/start':
      return { turn: event.data.turn, isTurnOpen: true, step: event.data.step, isStepOpen: true }
    case 'step/end':
      return { ...at, step: event.data.step, isStepOpen: false }
    default:
      return at
  }
}
