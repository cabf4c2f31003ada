import {
  compact,
  type Edit,
  EditFold,
  effectOf,
  estimateTokens,
  findInterruptedCompaction,
  prune,
  restore,
} from '@palimpsest/history'
import { isSurfaceType, Session } from '@palimpsest/session'
import { describe, expect, test } from 'vitest'
import { createRandom, RandomHistory } from './random-history.js'
import { APPEND, user } from './samples.js'

function foldEdits(session: Session): Edit[] {
  const fold = new EditFold()
  for (const event of session.events) fold.add(event)
  return fold.finish()
}

function talk(): Session {
  const session = Session.create({ now: () => 7 })
  for (const text of ['why? '.repeat(50), 'and then? '.repeat(50), 'thanks'])
    session.append('user/message', user(text), APPEND)
  return session
}

describe('the edits of a log', () => {
  test('tell every replacement and restore once, and what each did to the surface', async () => {
    for (let seed = 1; seed <= 300; seed++) {
      const history = new RandomHistory(createRandom(seed))
      for (let n = 0; n < 10; n++) await history.act()
      const { session } = history
      const edits = foldEdits(session)
      const told = edits.flatMap(({ kind, nodes }) => (kind === 'restore' ? [] : nodes)).sort((a, b) => a - b)
      const made = session.markers().filter(({ type, surfaceOp }) => isSurfaceType(type) && surfaceOp !== 'append')
      expect(told).toEqual(made.map(({ seq }) => seq))
      const restores = session
        .markers()
        .filter(({ type }) => type === 'surface/restore')
        .map(({ seq }) => seq)
      expect(edits.filter(({ kind }) => kind === 'restore').map(({ seq }) => seq)).toEqual(restores)
      expect(edits.flatMap(({ undoneBy }) => undoneBy).sort((a, b) => a - b)).toEqual(restores)
      for (const edit of edits) checkEffect(session, edit)
    }
  })

  test('that failed say why, and a bare replacement is one too', async () => {
    const session = talk()
    await compact(session, { summarize: async () => '' }).catch(() => {})
    session.append('turn/start', { turn: 1 })
    session.append('user/message', user('by hand'), {
      surfaceOp: { op: 'replace', start: 0, end: 1 },
      sourceEventSeqs: [0, 1],
    })
    const { node } = await compact(session, {
      range: { start: 2, end: 2 },
      keepUserText: false,
      summarize: async () => 's',
    })
    restore(session, node, { reason: 'lost the goal' })
    expect(foldEdits(session)).toMatchObject([
      {
        kind: 'compaction',
        seq: 3,
        state: 'failed',
        nodes: [],
        error: { code: 'COMPACTION_SUMMARY_VOID' },
        turn: undefined,
      },
      { kind: 'replace', seq: 6, nodes: [6], turn: 1 },
      { kind: 'compaction', seq: 7, state: 'done', nodes: [8], undoneBy: [10], turn: 1 },
      { kind: 'restore', seq: 10, nodes: [8], reason: 'lost the goal' },
    ])
    expect(effectOf(session, foldEdits(session)[0]!, estimateTokens)).toBeUndefined()
  })

  test('take events of any shape', () => {
    const session = talk()
    for (const data of [{}, { start: 'x', nodes: 7, error: 3, cachedPrefix: [] }, { nodes: [null, 99, 0] }]) {
      for (const type of ['compaction/start', 'compaction/end', 'prune/applied', 'turn/start'] as const) {
        session.append(type, data as never)
      }
    }
    for (const edit of foldEdits(session)) expect(effectOf(session, edit, estimateTokens)).toBeUndefined()
  })
})

describe('an interrupted compaction', () => {
  const begun = (session: Session) => session.append('compaction/start', { start: 0, end: 1, seqs: [0, 1] }).seq
  const replaced = (session: Session) =>
    session.append('user/message', user('short'), {
      surfaceOp: { op: 'replace', start: 0, end: 1 },
      sourceEventSeqs: [0, 1],
    })

  test('is found with what stands of it, until the next turn begins', () => {
    const session = talk()
    expect(findInterruptedCompaction(session)).toBeUndefined()
    const seq = begun(session)
    expect(findInterruptedCompaction(session)).toMatchObject({ seq, nodes: [], range: { start: 0, end: 1 } })
    const node = replaced(session).seq
    expect(findInterruptedCompaction(session)).toMatchObject({ seq, nodes: [node] })
    session.append('turn/start', { turn: 1 })
    expect(findInterruptedCompaction(session)).toBeUndefined()
  })

  test('is none once it ended, well or not; what came by prune is not its own', async () => {
    const session = talk()
    await compact(session, { summarize: async () => 's' })
    await compact(session, { summarize: async () => '' }).catch(() => {})
    prune(session)
    expect(findInterruptedCompaction(session)).toBeUndefined()
  })
})

// --- internal ---

/** Against the surfaces around it, and what was recorded against what is counted now. */
function checkEffect(session: Session, edit: Edit): void {
  const { recorded, ...bare } = edit
  const effect = effectOf(session, edit, estimateTokens)
  if (effect === undefined) {
    expect(edit.state).toBe('failed')
    return
  }
  const counted = effectOf(session, bare, estimateTokens)!
  expect(effect).toEqual(counted)
  if (edit.kind === 'compaction' || edit.kind === 'prune') expect(recorded).toEqual(counted.cost)
  const [first, last] = edit.kind === 'restore' ? [edit.seq, edit.seq] : [edit.nodes[0]!, edit.nodes.at(-1)!]
  const [before, after] = [session.surfaceAt(first), session.surfaceAt(last + 1)]
  const left = before.filter(seq => !effect.off.includes(seq))
  expect(after.filter(seq => !effect.on.includes(seq))).toEqual(left)
  expect(effect.on.every(seq => after.includes(seq) && !before.includes(seq))).toBe(true)
  expect(before.length - effect.off.length + effect.on.length).toBe(after.length)
}
