import { closeInterruptedTurn, Session, type SessionEvent } from '@palimpsest/session'
import { describe, expect, test } from 'vitest'
import { appendLoose } from './samples.js'

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
  if (random() < 0.5) replaceRange(session, 1, 2, false, [])
  const { seq: start } = session.append('turn/start', { turn: 1 })
  session.append('step/start', { turn: 1, step: 1 })
  for (let i = 0; i < 12; i++) {
    const kind = random()
    const seqs = session.surface.seqs()
    if (kind < 0.25) session.append('user/message', user(`in ${i}`), { surfaceOp: 'append' })
    else if (kind < 0.5) session.append('assistant/message', asks([`c${i}`]), { surfaceOp: 'append' })
    else if (kind < 0.85) {
      // Sources may name more than is shadowed: whatever lies in the turn and did not reach back before it.
      const more = Array.from({ length: pick(3) }, () => start + pick(session.length - start))
      const extra = more.filter(seq => !reachesBack(session, seq, start))
      replaceRange(session, pick(seqs.length), 1 + pick(4), random() < 0.6, extra)
    } else restoreOne(session, pick(seqs.length))
  }
  return session
}

function reachesBack(session: Session, seq: number, start: number): boolean {
  return session.surface.shadowed(seq).some(below => below < start || reachesBack(session, below, start))
}

/** By a message that repeats the calls of the range, or by one that forgets them. */
function replaceRange(
  session: Session,
  from: number,
  size: number,
  isRepeating: boolean,
  extra: readonly number[],
): void {
  const range = session.surface.seqs().slice(from, from + size)
  const op = { op: 'replace' as const, start: range[0]!, end: range.at(-1)! }
  const ids = isRepeating ? range.flatMap(seq => idsOf(session.at(seq))) : []
  const intent = { surfaceOp: op, sourceEventSeqs: [...new Set([...range, ...extra])] }
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
      for (const { type, data, sourceEventSeqs: [source = -1] = [] } of closing) {
        if (type !== 'tool/result') continue
        expect(session.surface.has(source), `round ${round}`).toBe(true)
        expect(idsOf(session.at(source)), `round ${round}`).toContain(data.toolCallId)
      }
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

  test('a source that is not shadowed is still to be answered', () => {
    const session = Session.create({ now: () => 0 })
    session.append('user/message', user('before'), { surfaceOp: 'append' })
    session.append('turn/start', { turn: 1 })
    session.append('assistant/message', asks(['a']), { surfaceOp: 'append' })
    session.append('assistant/message', asks(['b']), { surfaceOp: 'append' })
    session.append('user/message', user('instead of b'), {
      surfaceOp: { op: 'replace', start: 3, end: 3 },
      sourceEventSeqs: [2, 3],
    })
    session.append('user/message', user('instead of what was before'), {
      surfaceOp: { op: 'replace', start: 0, end: 0 },
      sourceEventSeqs: [0, 2],
    })
    for (const events of [session.events, session.slice(1)]) {
      const results = closeInterruptedTurn(events).filter(({ type }) => type === 'tool/result')
      expect(results).toMatchObject([{ data: { toolCallId: 'a' }, sourceEventSeqs: [2] }])
    }
  })

  test('a result for nobody answers nobody, and a replacement asks for nothing new', () => {
    const session = Session.create({ now: () => 0 })
    session.append('turn/start', { turn: 1 })
    session.append('assistant/message', asks(['a']), { surfaceOp: 'append' })
    const output = { type: 'text' as const, value: 'x' }
    const message = {
      role: 'tool' as const,
      content: [{ type: 'tool-result' as const, toolCallId: 'other', toolName: 't', output }],
    }
    session.append('tool/call', { turn: 1, step: 1, toolCallId: 'other', toolName: 't', arguments: '{}' })
    session.append('tool/settled', { turn: 1, step: 1, toolCallId: 'other', output })
    session.append('tool/result', { turn: 1, step: 1, toolCallId: 'other', message }, { surfaceOp: 'append' })
    session.append('context/message', { ...user('names a call'), origin: 'test', toolCallId: 'a' } as never, {
      surfaceOp: 'append',
    })
    appendLoose(session, 'later/type', null, { ignorable: true })
    session.append('assistant/message', asks(['a', 'new']), {
      surfaceOp: { op: 'replace', start: 1, end: 1 },
      sourceEventSeqs: [1],
    })
    const results = closeInterruptedTurn(session.events).filter(({ type }) => type === 'tool/result')
    expect(results).toMatchObject([{ data: { toolCallId: 'a', error: { code: 'TOOL_NOT_STARTED' } } }])
  })

  test('a call without a name is answered without one', () => {
    const session = Session.create({ now: () => 0 })
    session.append('turn/start', { turn: 1 })
    const message = { role: 'assistant', content: [{ type: 'tool-call', toolCallId: 'a', input: {} }] }
    session.append('assistant/message', { ...asks([]), message } as never, { surfaceOp: 'append' })
    const [result] = closeInterruptedTurn(session.events)
    expect(result).toMatchObject({ data: { message: { content: [{ toolCallId: 'a', toolName: '' }] } } })
  })
})
