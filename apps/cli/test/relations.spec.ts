import { compact, legalCuts, prune, restore } from '@palimpsest/history'
import { checkLog } from '@palimpsest/invariants'
import { closeInterruptedTurn, Session, type SessionEvent } from '@palimpsest/session'
import { createSession, forkSession, planMend } from '@palimpsest/session-persistence'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { plans, playPlan } from '../../../packages/core/agent-loop/test/random-plan.js'
import {
  createRandom,
  type Random,
  RandomHistory,
  replacements,
} from '../../../packages/history/test/random-history.js'
import {
  randomSession,
  seededRandom,
} from '../../../packages/session-persistence/session-persistence/test/random-log.js'
import { findProblems } from '../src/doctor/findings.js'
import { LogCheck } from '../src/doctor/log-check.js'
import { KINDS, newStore } from './both-stores.js'

const RUNS = Number(process.env.RANDOM_TURNS ?? 60)

/** What the doctor says of a log, read in pieces as a store hands it on. */
function judge(session: Session, kept = session.surface.seqs()) {
  const check = new LogCheck({ id: session.id, storeFlag: '' }, { length: session.length, seqs: kept })
  for (let from = 0; from < session.length; from += 7) check.add(session.slice(from, from + 7))
  return { findings: check.finish(session.length), notes: check.notes() }
}

const brokenIn = (session: Session) =>
  judge(session).findings.map(({ code, relation, seqs }) => (relation === undefined ? code : { relation, seqs }))

describe('the relations over stored logs', () => {
  it('hold in all that the loop wrote, cut anywhere and closed, edited, and forked in mid-turn', async () => {
    const property = fc.asyncProperty(plans, fc.nat(), fc.nat(), async (plan, place, seed) => {
      const { session } = await playPlan(plan)
      expect(brokenIn(session)).toEqual([])
      const crashed = closedAt(session, 1 + (place % session.length))
      expect(brokenIn(crashed)).toEqual([])
      const random = createRandom(seed)
      for (let edits = 0; edits < 4; edits++) await editOnce(crashed, random)
      expect(brokenIn(crashed)).toEqual([])
      const fork = crashed.fork({ length: 1 + random(crashed.length) })
      for (const { type, data, ...marks } of closeInterruptedTurn(fork.events)) {
        fork.append(type, data as never, ...([intentOf(marks)] as never))
      }
      expect(brokenIn(fork)).toEqual([])
    })
    await fc.assert(property, { numRuns: RUNS })
  })

  it('hold in an answer that rests on what an importer kept of another format', () => {
    const message = { role: 'assistant' as const, content: [{ type: 'text' as const, text: 'a' }] }
    const seed = [
      { seq: 0, time: 0, type: 'turn/start', data: { turn: 1 } },
      { seq: 1, time: 0, type: 'step/start', data: { turn: 1, step: 1 } },
      { seq: 2, time: 0, type: 'import/other.chunk', data: { turn: 1, step: 1 }, ignorable: true },
      {
        seq: 3,
        time: 0,
        type: 'assistant/message',
        data: { turn: 1, step: 1, message, finishReason: 'stop' },
        sourceEventSeqs: [2],
        surfaceOp: 'append',
      },
      { seq: 4, time: 0, type: 'step/end', data: { turn: 1, step: 1 } },
      { seq: 5, time: 0, type: 'turn/end', data: { turn: 1, reason: { kind: 'completed' } } },
    ] as unknown as SessionEvent[]
    expect(brokenIn(Session.create({ seed }))).toEqual([])
  })

  it('hold in random histories of edits and crashes, and in what was mended of damaged logs', async () => {
    let mended = 0
    for (let seed = 1; seed <= RUNS; seed++) {
      const history = new RandomHistory(createRandom(seed))
      for (let n = 0; n < 8; n++) await history.act()
      expect(brokenIn(history.session), `seed ${seed}`).toEqual([])
      const random = seededRandom(seed)
      const whole = randomSession(random)
      // Its edits are at any place, also over a call that never got its result.
      if (brokenIn(closedAt(whole, whole.length)).length > 0) continue
      const { header, events } = whole
      const readable = events.filter(() => random(8) > 0)
      const plan = planMend('old', { header, length: events.length, damage: [], events: readable })
      if (plan === undefined) continue
      mended += 1
      expect(brokenIn(Session.create({ seed: plan.events })), `mended, seed ${seed}`).toEqual([])
    }
    expect(mended).toBeGreaterThan(RUNS / 3)
  })

  it.each(KINDS)('hold in what a store reads back (%s)', async kind => {
    const store = newStore(kind)
    const backend = store.open()
    for (let seed = 1; seed <= RUNS / 10; seed++) {
      const random = createRandom(seed)
      const history = new RandomHistory(random)
      for (let n = 0; n < 8; n++) await history.act()
      const { events } = history.session
      const open = await createSession(backend, { id: `s${seed}`, seed: events, now: () => 0 })
      await open.close()
      const fork = await forkSession(backend, `s${seed}`, { id: `f${seed}`, length: 1 + random(events.length) })
      await editOnce(fork.session, random)
      await fork.close()
      for (const id of [`s${seed}`, `f${seed}`]) expect((await findProblems(backend, id, '')).findings, id).toEqual([])
    }
    await backend.close()
  })

  it('are judged as over the whole log in memory, whatever is wrong', async () => {
    const seen = new Set<string>()
    const property = fc.asyncProperty(plans, fc.nat(), fc.nat(), async (plan, place, seed) => {
      const { session } = await playPlan(plan)
      const broken = brokenCopy(session, place % session.length, createRandom(seed))
      if (broken === undefined) return
      const expected = checkLog(broken).map(({ relation, seqs }) => ({ relation, seqs }))
      // Of a relation that is broken over and over the first places are told.
      const found = judge(broken).findings.filter(({ seqs }) => seqs !== undefined && seqs.length > 0)
      expect(found.map(({ relation, seqs }) => ({ relation, seqs }))).toEqual(firstOfEach(expected, 20))
      for (const { relation } of expected) seen.add(relation)
    })
    await fc.assert(property, { numRuns: 2 * RUNS })
    expect([...seen].sort()).toEqual(['calls-pair', 'provenance-holds', 'turns-nest'])
  })

  it('say it once where a store’s index tells another surface, with what to do', () => {
    const session = randomSession(seededRandom(7))
    const [, ...others] = session.surface.seqs()
    const { findings } = judge(session, others)
    expect(findings.filter(({ relation }) => relation === 'surface-folds')).toMatchObject([
      { code: 'RELATION_BROKEN', seqs: [session.length - 1], message: expect.stringContaining('index') },
    ])
  })

  it('are told at most twenty times each, and counted', () => {
    const session = Session.create()
    session.append('turn/start', { turn: 1 })
    const chunk = { type: 'text-delta' as const, id: '0', text: 'x' }
    for (let i = 0; i < 1_000; i++) session.append('assistant/chunk', { turn: 1, step: 1, chunk })
    session.append('turn/end', { turn: 1, reason: { kind: 'completed' } })
    const { findings } = judge(session)
    expect(findings).toHaveLength(21)
    expect(findings.at(-1)).toMatchObject({ relation: 'turns-nest', message: 'turns-nest: at 980 more places' })
  })

  it('judge events of any shape', () => {
    const session = Session.create()
    const content = [null, 7, { type: 'tool-call' }] as never
    session.append('turn/start', {} as never)
    session.append('assistant/message', { message: { role: 'assistant', content } } as never, {
      surfaceOp: 'append',
      sourceEventSeqs: [0],
    })
    for (const type of ['tool/call', 'tool/settled', 'compaction/start', 'compaction/end', 'prune/applied'] as const) {
      session.append(type, {} as never)
    }
    session.append('turn/end', {} as never)
    expect(judge(session).findings.length).toBeGreaterThan(0)
    expect(judge(session).notes).toMatchObject([{ code: 'COMPACTION_INTERRUPTED' }])
  })
})

// --- internal ---

function firstOfEach<T extends { relation: string }>(broken: readonly T[], most: number): T[] {
  const counts: Record<string, number> = {}
  return broken.filter(({ relation }) => {
    counts[relation] = (counts[relation] ?? 0) + 1
    return counts[relation] <= most
  })
}

function closedAt(session: Session, length: number): Session {
  const cut = session.slice(0, length)
  return Session.create({ header: session.header, seed: [...cut, ...closeInterruptedTurn(cut)], now: () => 0 })
}

function intentOf({ surfaceOp, sourceEventSeqs }: Partial<SessionEvent>) {
  return { ...(surfaceOp && { surfaceOp }), ...(sourceEventSeqs && { sourceEventSeqs }) }
}

async function editOnce(session: Session, random: Random): Promise<void> {
  const nodes = replacements(session)
  const kind = random(3)
  if (kind === 0) prune(session, { keepRecent: random(2), minTokens: 1 })
  else if (kind === 1 && nodes.length > 0) restore(session, nodes[random(nodes.length)]!)
  else {
    const cuts = legalCuts(session)
    const [a, b] = [cuts[random(cuts.length)]!, cuts[random(cuts.length)]!].sort((x, y) => x - y)
    const seqs = session.surface.seqs()
    if (a === b) return
    await compact(session, { range: { start: seqs[a!]!, end: seqs[b! - 1]! }, summarize: async () => 's' }).catch(
      () => {},
    )
  }
}

/** One fault that the kernel admits: a number, a call id or a source that is another one. */
function brokenCopy({ header, events }: Session, at: number, random: Random): Session | undefined {
  const other = { turn: 7, step: 7, toolCallId: 'other' }
  const seed = events.map(event => {
    if (event.seq !== at) return event
    const names = (['turn', 'step', 'toolCallId'] as const).filter(name => name in (event.data as object))
    const name = names[random(names.length + 1)]
    if (name !== undefined) return { ...event, data: { ...event.data, [name]: other[name] } }
    return event.sourceEventSeqs === undefined ? event : { ...event, sourceEventSeqs: [random(at)] }
  })
  try {
    return Session.create({ header, seed: seed as SessionEvent[] })
  } catch {
    return undefined
  }
}
