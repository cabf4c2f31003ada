import { Session, type SessionEvent } from '@palimpsest/session'

/** Numbers in `[0, below)`, the same for the same seed. */
export function seededRandom(seed: number): (below: number) => number {
  let state = seed >>> 0
  return below => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

export const userText = (text: string) => ({ role: 'user' as const, content: [{ type: 'text' as const, text }] })

/** A session of some turns with calls, results, edits and undone edits; its last turn may be open. */
export function randomSession(random: (below: number) => number, turns = 4): Session {
  let time = 1_000
  const session = Session.create({ id: 'random', header: { cwd: '/project' }, now: () => time++ })
  session.append('request/header', { model: 'm', settings: {} })
  for (let turn = 1; turn <= turns; turn++) {
    const isLast = turn === turns
    addTurn(session, turn, random, isLast && random(2) === 0)
    for (let edits = random(3); edits > 0; edits--) addEdit(session, random)
  }
  return session
}

// --- internal ---

const append = { surfaceOp: 'append' as const }

function addTurn(session: Session, turn: number, random: (below: number) => number, isCut: boolean): void {
  session.append('turn/start', { turn })
  session.append('user/message', { turn, message: userText(`task ${turn}`) }, append)
  const steps = 1 + random(2)
  for (let step = 1; step <= steps; step++) {
    session.append('step/start', { turn, step })
    if (!addStep(session, turn, step, random, isCut && step === steps)) return
    session.append('step/end', { turn, step })
  }
  session.append('turn/end', { turn, reason: { kind: 'completed' } })
}

/** Whether the step came to its end. */
function addStep(session: Session, turn: number, step: number, random: (below: number) => number, isCut: boolean) {
  const chunks = Array.from({ length: 1 + random(3) }, (_, i) => {
    const chunk = { type: 'text-delta' as const, id: '0', text: `piece ${session.length} ${i}` }
    return session.append('assistant/chunk', { turn, step, chunk }).seq
  })
  // Ids come again in later turns, as some servers have them.
  const ids = Array.from({ length: random(3) }, (_, i) => `call-${step}-${i}`)
  const calls = ids.map(toolCallId => ({ type: 'tool-call' as const, toolCallId, toolName: 'read', input: {} }))
  const message = {
    role: 'assistant' as const,
    content: [{ type: 'text' as const, text: `answer ${turn}.${step}` }, ...calls],
  }
  const answer = { turn, step, finishReason: 'stop' as const, message }
  session.append('assistant/message', answer, { ...append, sourceEventSeqs: chunks })
  const begun = ids.map(toolCallId => {
    const call = session.append('tool/call', { turn, step, toolCallId, toolName: 'read', arguments: '{}' }).seq
    if (random(4) === 0) session.append('tool/settled', { turn, step, toolCallId, output: resultText(call) })
    return call
  })
  for (const [i, toolCallId] of ids.entries()) {
    if (isCut && random(2) === 0) return false
    session.append('tool/result', resultOf(turn, step, toolCallId, begun[i]!), {
      ...append,
      sourceEventSeqs: [begun[i]!],
    })
  }
  return !isCut
}

const resultText = (call: number) => ({ type: 'text' as const, value: `result of ${call}` })

function resultOf(turn: number, step: number, toolCallId: string, call: number, value = resultText(call)) {
  const content = [{ type: 'tool-result' as const, toolCallId, toolName: 'read', output: value }]
  return { turn, step, toolCallId, message: { role: 'tool' as const, content } }
}

function addEdit(session: Session, random: (below: number) => number): void {
  const seqs = session.surface.seqs()
  const kind = random(4)
  if (kind === 0) {
    const node = seqs.find(seq => session.surface.shadowed(seq).length > 0)
    if (node === undefined) return
    session.append('surface/restore', {}, { surfaceOp: { op: 'restore', node }, sourceEventSeqs: [node] })
  } else if (kind === 1) {
    const old = seqs.map(seq => session.at(seq)!).find(event => event.type === 'tool/result') as
      | SessionEvent<'tool/result'>
      | undefined
    if (old === undefined) return
    const { turn, step, toolCallId } = old.data
    const short = { type: 'text' as const, value: `short, see ${old.seq}` }
    session.append('tool/result', resultOf(turn, step, toolCallId, old.seq, short), {
      surfaceOp: { op: 'replace', start: old.seq, end: old.seq },
      sourceEventSeqs: [old.seq],
    })
  } else if (kind === 2) {
    session.append(
      'note/taken' as never,
      { text: `note ${session.length}` } as never,
      ...([{ ignorable: true }] as never),
    )
  } else {
    const from = random(seqs.length)
    const range = seqs.slice(from, from + 1 + random(5))
    const [start, end] = [range[0]!, range.at(-1)!]
    session.append('compaction/start', { start, end, seqs: [...range] })
    session.append(
      'user/message',
      { message: userText(`summary ${session.length}`) },
      {
        surfaceOp: { op: 'replace', start, end },
        sourceEventSeqs: range,
      },
    )
  }
}
