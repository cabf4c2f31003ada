import {
  type AssistantMessage,
  isSurfaceType,
  type Message,
  type Part,
  type Session,
  type SessionEvent,
} from '@palimpsest/session'
import { RecallError } from './errors.js'
import { asText, outputText } from './tokens.js'

/** The full text of an event, shadowed or not. `RECALL_UNKNOWN` where there is none of that seq. */
export function recall(session: Session, seq: number): string {
  const event = Number.isInteger(seq) ? session.at(seq) : undefined
  if (event === undefined) {
    throw new RecallError(
      `expected the seq of an event, from 0 to ${session.length - 1}, found ${seq}; a stand-in names the one to recall`,
    )
  }
  return textOf(event)
}

/** The tool by which a model reads back what was pruned or compacted away. Give it to `createAgent`. */
export function recallTool(session: Session) {
  return {
    name: 'recall',
    description:
      'Reads back the full text of an earlier event of this conversation that was left out, by its seq; with "to" all events from seq to that one.',
    inputSchema: {
      type: 'object',
      properties: {
        seq: { type: 'integer', minimum: 0, description: 'the seq that a stand-in or a summary names' },
        to: { type: 'integer', minimum: 0, description: 'the last seq of a range; default: only seq' },
      },
      required: ['seq'],
      additionalProperties: false,
    },
    effect: 'read' as const,
    parallelSafe: true,
    execute: (input: unknown): string => recallRange(session, input as { seq: number; to?: number }),
  }
}

// --- internal ---

/** Chunks are left out of a range: the message that they made is in it, or they made none. */
function recallRange(session: Session, { seq, to = seq }: { seq: number; to?: number }): string {
  if (to === seq) return recall(session, seq)
  if (to < seq) throw new RecallError(`expected "to" from ${seq} on, found ${to}; swap them`)
  recall(session, to)
  const events = session.slice(seq, to + 1).filter(({ type }) => type !== 'assistant/chunk')
  return events.map(event => `[${event.seq}] ${event.type}\n${textOf(event)}`).join('\n\n')
}

function textOf(event: SessionEvent): string {
  if (!isSurfaceType(event.type)) return JSON.stringify(event.data)
  const { content } = (event.data as { message: Message }).message
  return (content as AssistantMessage['content'] | Part[]).map(partText).join('\n')
}

/** The kernel vouches for an array of parts and no more: what is of no known shape is told as its JSON. */
function partText(part: Part): string {
  switch (part?.type) {
    case 'text':
    case 'reasoning':
      return asText(part.text)
    case 'tool-call':
      return `${part.toolName}(${part.rawInput ?? JSON.stringify(part.input)})`
    case 'tool-result':
      return outputText(part.output)
    case 'file':
    case 'image':
      return part.mediaType === undefined ? `[${part.type}]` : `[${part.type} ${part.mediaType}]`
    default:
      return asText(part)
  }
}
