import type { Session, SessionEvent } from '@palimpsest/session'
import { citesLoss, type LogJudge, type Relation, type Violation } from '../relation.js'

export const callsPair: Relation = {
  name: 'calls-pair',
  description:
    'Each call of an answer gets exactly one result, behind it and before its step ends; a call begins at most once.',
  judgeLog: session => createJudge(session),
}

// --- internal ---

interface Call {
  /** The seq of the answer that asked. */
  readonly asked: number
  begun?: number
  settled?: number
}

function createJudge(session: Session): LogJudge {
  /** Asked, and without a result. */
  let open = new Map<string, Call>()
  /** Of the step: a second result is another fault than one that nobody asked for. */
  let answered = new Map<string, number>()
  /** Repair could not read a part of this turn, in which calls may have been made or answered. */
  let isHoled = false
  const restart = () => {
    open = new Map()
    answered = new Map()
  }

  const finish = ({ seq, type }: SessionEvent): Violation | undefined => {
    const [missing] = open
    restart()
    if (missing === undefined) return undefined
    const [id, { asked, begun }] = missing
    const seqs = begun === undefined ? [asked, seq] : [asked, begun, seq]
    return { seqs, message: `expected a result of call ${quote(id)} before ${type}, found none` }
  }

  const begin = (event: SessionEvent<'tool/call'>): Violation | undefined => {
    const { toolCallId } = event.data
    const call = open.get(toolCallId)
    if (call === undefined) return stray(event, toolCallId, answered.get(toolCallId))
    if (call.begun === undefined) {
      call.begun = event.seq
      return undefined
    }
    return {
      seqs: [call.begun, event.seq],
      message: `expected call ${quote(toolCallId)} to begin once, found it twice`,
    }
  }

  const settle = (event: SessionEvent<'tool/settled'>): Violation | undefined => {
    const call = open.get(event.data.toolCallId)
    if (call?.begun === undefined) return stray(event, event.data.toolCallId, answered.get(event.data.toolCallId))
    call.settled = event.seq
    return undefined
  }

  const answer = (event: SessionEvent<'tool/result'>): Violation | undefined => {
    const { toolCallId } = event.data
    const before = answered.get(toolCallId)
    const wasOpen = open.delete(toolCallId)
    answered.set(toolCallId, event.seq)
    return wasOpen ? undefined : stray(event, toolCallId, before)
  }

  const judge = (event: SessionEvent): Violation | undefined => {
    switch (event.type) {
      case 'assistant/message':
        if (event.surfaceOp === 'append') for (const id of callsOf(event)) open.set(id, { asked: event.seq })
        return undefined
      case 'tool/call':
        return begin(event)
      case 'tool/settled':
        return settle(event)
      case 'tool/result':
        return event.surfaceOp === 'append' ? answer(event) : undefined
      case 'step/end':
      case 'turn/end':
        return finish(event)
      case 'turn/start':
        if (isHoled) restart()
        isHoled = false
        return undefined
      case 'log/lost':
        isHoled = true
        return undefined
      default:
        return undefined
    }
  }

  return event => {
    const violation = judge(event)
    return violation === undefined || isHoled || citesLoss(session, event) ? undefined : violation
  }
}

function callsOf({ data }: SessionEvent<'assistant/message'>): string[] {
  const { content } = data.message
  return content.flatMap(part => (part?.type === 'tool-call' && !part.providerExecuted ? [part.toolCallId] : []))
}

function stray({ seq, type }: SessionEvent, id: string, before: number | undefined): Violation {
  return before === undefined
    ? { seqs: [seq], message: `expected ${type} behind an answer that asks for call ${quote(id)}, found none open` }
    : { seqs: [before, seq], message: `expected one result of call ${quote(id)}, found ${type} behind it` }
}

const quote = (id: string): string => JSON.stringify(id)
