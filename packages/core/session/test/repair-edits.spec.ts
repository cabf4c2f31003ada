import { closeInterruptedTurn, Session, type SessionEvent } from '@palimpsest/session'
import { describe, expect, test } from 'vitest'

// A turn that is edited while it runs and then interrupted: whatever the edits, a call that the model can still see
// gets exactly one result, and one that it cannot see gets none. The visible surface of the kernel is the model here.
const ROUNDS = Number(process.env.PALIMPSEST_REPAIR_ROUNDS ?? 3000)
const seed = Number(process.env.PALIMPSEST_SEED ?? Math.floor(Math.random() * 2 ** 31))

function randomFrom(start: number): () => number {
  let state = start >>> 0
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 32
  }
}

const user = (text: string) => ({ message: { role: 'user' as const, content: [{ type: 'text' as const, text }] } })
const asks = (ids: readonly string[]) => ({
  turn: 1,
  step: 1,
  finishReason: 'tool-calls' as const,
  message: {
    role: 'assistant' as const,
    content: ids.map(toolCallId => ({ type: 'tool-call' as const, toolCallId, toolName: 't', input: {} })),
  },
})

function idsOf(event: SessionEvent | undefined): string[] {
  if (event?.type !== 'assistant/message') return []
  return event.data.message.content.flatMap(part => (part.type === 'tool-call' ? [part.toolCallId] : []))
}

function buildEditedTurn(random: () => number): Session {
  const session = Session.create({ now: () => 0 })
  const pick = (n: number) => Math.floor(random() * n)
  for (let i = 0; i < 4; i++) session.append('user/message', user(`before ${i}`), { surfaceOp: 'append' })
  session.append('turn/start', { turn: 1 })
  session.append('step/start', { turn: 1, step: 1 })
  for (let i = 0; i < 12; i++) {
    const kind = random()
    const seqs = session.surface.seqs()
    if (kind < 0.25) session.append('user/message', user(`in ${i}`), { surfaceOp: 'append' })
    else if (kind < 0.5) session.append('assistant/message', asks([`c${i}`]), { surfaceOp: 'append' })
    else if (kind < 0.85) replaceRange(session, pick(seqs.length), 1 + pick(4), random() < 0.6)
    else restoreOne(session, pick(seqs.length))
  }
  return session
}

/** By a message that repeats the calls of the range, or by one that forgets them. */
function replaceRange(session: Session, from: number, size: number, isRepeating: boolean): void {
  const range = session.surface.seqs().slice(from, from + size)
  const op = { op: 'replace' as const, start: range[0]!, end: range.at(-1)! }
  const ids = isRepeating ? range.flatMap(seq => idsOf(session.at(seq))) : []
  const intent = { surfaceOp: op, sourceEventSeqs: range }
  if (ids.length > 0) session.append('assistant/message', asks(ids), intent)
  else session.append('user/message', user('summary'), intent)
}

function restoreOne(session: Session, from: number): void {
  const node = session.surface.seqs().find((seq, i) => i >= from && session.surface.shadowed(seq).length > 0)
  if (node === undefined) return
  session.append('surface/restore', {}, { surfaceOp: { op: 'restore', node }, sourceEventSeqs: [node] })
}

describe('a turn that was edited and interrupted', () => {
  test(`answers exactly the calls that are visible (seed ${seed})`, () => {
    const random = randomFrom(seed)
    for (let round = 0; round < ROUNDS; round++) {
      const session = buildEditedTurn(random)
      const visible = session.surface.seqs().flatMap(seq => idsOf(session.at(seq)))
      const start = session.lastSeqOf('turn/start')!
      const closing = closeInterruptedTurn(session.slice(start))
      const answered = closing.flatMap(event => (event.type === 'tool/result' ? [event.data.toolCallId] : []))
      expect([...answered].sort(), `round ${round}`).toEqual([...visible].sort())
      expect(closing).toEqual(closeInterruptedTurn(session.events))
      const closed = Session.create({ seed: [...session.events, ...closing] })
      expect(closeInterruptedTurn(closed.events)).toEqual([])
    }
  })

  test('a replacement that reaches back before the turn and repeats the call asks for it still', () => {
    const session = Session.create({ now: () => 0 })
    session.append('user/message', user('before'), { surfaceOp: 'append' })
    session.append('turn/start', { turn: 1 })
    session.append('user/message', user('go'), { surfaceOp: 'append' })
    session.append('step/start', { turn: 1, step: 1 })
    session.append('assistant/message', asks(['c']), { surfaceOp: 'append' })
    session.append('tool/call', { turn: 1, step: 1, toolCallId: 'c', toolName: 't', arguments: '{}' })
    session.append('assistant/message', asks(['c']), {
      surfaceOp: { op: 'replace', start: 0, end: 4 },
      sourceEventSeqs: [0, 2, 4],
    })
    const [result] = closeInterruptedTurn(session.events)
    expect(result).toMatchObject({
      type: 'tool/result',
      data: { error: { code: 'TOOL_OUTCOME_UNKNOWN' } },
      sourceEventSeqs: [5],
    })
  })
})
