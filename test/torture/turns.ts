import { crc32 } from 'node:zlib'
import type { Session, SessionEvent } from '@palimpsest/session'
import { below, type Random } from './seeded.js'

/** The `time` of an event says who wrote it where: the epoch of its writer, and its seq. */
export const STAMP = 1_000_000

/** The same for the same bytes, whoever computes it. */
export function digestOf(events: readonly SessionEvent[]): number {
  return events.reduce((crc, event) => crc32(JSON.stringify(event), crc), 0)
}

/** Appends a turn with an answer in `chunks` pieces, and a call where `calls`; yields wherever one could flush. */
export function* appendTurn(session: Session, random: Random, chunks: number, calls = random() < 0.3): Generator<void> {
  const turn = lastTurn(session) + 1
  const step = 1
  session.append('turn/start', { turn })
  const user = { role: 'user' as const, content: [{ type: 'text' as const, text: text(random, 60) }] }
  session.append('user/message', { turn, message: user }, { surfaceOp: 'append' })
  yield
  session.append('step/start', { turn, step })
  const sources: number[] = []
  for (let i = 0; i < chunks; i++) {
    const chunk = { type: 'text-delta' as const, id: 't', text: text(random, 24) }
    sources.push(session.append('assistant/chunk', { turn, step, chunk }).seq)
    if (i % 8 === 7) yield
  }
  const toolCallId = `call-${session.length}`
  const call = { type: 'tool-call' as const, toolCallId, toolName: 'bash', input: { command: text(random, 20) } }
  const content = [{ type: 'text' as const, text: text(random, 400) }, ...(calls ? [call] : [])]
  const intent = { surfaceOp: 'append' as const, ...(sources.length > 0 && { sourceEventSeqs: sources }) }
  const message = { role: 'assistant' as const, content }
  session.append('assistant/message', { turn, step, message, finishReason: 'stop' }, intent)
  yield
  if (calls) yield* appendCall(session, turn, step, toolCallId, random)
  session.append('step/end', { turn, step })
  session.append('turn/end', { turn, reason: { kind: 'completed' } })
}

// --- internal ---

function* appendCall(session: Session, turn: number, step: number, toolCallId: string, random: Random) {
  const call = session.append('tool/call', { turn, step, toolCallId, toolName: 'bash', arguments: '{}' })
  yield
  const output = { type: 'text' as const, value: text(random, 200) }
  const message = {
    role: 'tool' as const,
    content: [{ type: 'tool-result' as const, toolCallId, toolName: 'bash', output }],
  }
  const intent = { surfaceOp: 'append' as const, sourceEventSeqs: [call.seq] }
  session.append('tool/result', { turn, step, toolCallId, message }, intent)
}

function lastTurn(session: Session): number {
  const seq = session.lastSeqOf('turn/start')
  return seq === undefined ? 0 : (session.at(seq) as SessionEvent<'turn/start'>).data.turn
}

const LETTERS = ['a', 'Z', ' ', 'ü', '"', '\\', '\n', '\u2028', '\ud83d\ude80', '\u0000', '…', '{', '}']

function text(random: Random, longest: number): string {
  let written = ''
  for (let left = below(random, longest + 1); left > 0; left--) written += LETTERS[below(random, LETTERS.length)]
  return written
}
