import {
  foldSurface,
  type Message,
  Session,
  SessionError,
  type SessionEvent,
  type SurfaceMarker,
} from '@palimpsest/session'
import { describe, expect, test } from 'vitest'
import { APPEND, appendLoose, assistant, replaces, reread, restores, result, tickingClock, user } from './samples.js'
import { Store } from './stored.js'

const OPERATIONS = Number(process.env.PALIMPSEST_RANDOM_OPERATIONS ?? 100_000)
const SEED = Number(process.env.PALIMPSEST_SEED ?? Math.floor(Math.random() * 2 ** 32))

/** The whole theory of the surface: a list of seqs, spliced. */
class NaiveSurface {
  seqs: number[] = []
  below = new Map<number, number[]>()
  edits = 0
  replace(seq: number, i: number, j: number): void {
    this.below.set(seq, this.seqs.splice(i, j - i + 1, seq))
    this.edits++
  }
  restore(node: number): void {
    this.seqs.splice(this.seqs.indexOf(node), 1, ...this.below.get(node)!)
    this.below.delete(node)
    this.edits++
  }
}

/** A session, its model, and what each of its prefixes showed when it was the whole. */
interface Run {
  session: Session
  model: NaiveSurface
  history: { seqs: readonly number[]; messages: readonly Message[] }[]
}

describe('random appends, replaces, restores, forks and reads', () => {
  test(`${OPERATIONS} of them agree with a naive model and with a fold from scratch`, () => {
    console.log(`random operations: ${OPERATIONS}, PALIMPSEST_SEED=${SEED}`)
    const random = createRandom(SEED)
    const counts: Record<string, number> = {}
    let done = 0
    while (done < OPERATIONS) {
      const runs = [start()]
      const steps = 20 + random(100)
      for (let i = 0; i < steps; i++, done++) {
        const run = runs[random(runs.length)]!
        const name = operate(run, runs, random)
        counts[name] = (counts[name] ?? 0) + 1
        checkNow(run, random)
      }
      for (const run of runs) checkPrefixes(run, random)
    }
    console.log(`done: ${JSON.stringify(counts)}`)
    for (const name of ['append', 'log-only', 'replace', 'rewrite', 'restore', 'fork', 'read', 'refused']) {
      expect(counts[name]).toBeGreaterThan(0)
    }
  })
})

// --- internal ---

type Random = (below: number) => number

function createRandom(seed: number): Random {
  let state = seed | 0
  return below => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below)
  }
}

function start(): Run {
  const session = Session.create({ id: 'random', now: tickingClock() })
  return { session, model: new NaiveSurface(), history: [{ seqs: [], messages: session.deriveMessages() }] }
}

function operate(run: Run, runs: Run[], random: Random): string {
  const { session, model } = run
  const dice = random(100)
  if (dice < 40) return note(run, append(run, random), 'append')
  if (dice < 45) return note(run, session.append('turn/start', { turn: 1 }), 'log-only')
  if (dice < 62 && model.seqs.length > 0) return note(run, replace(run, random), 'replace')
  if (dice < 67) return rewrite(run, random)
  if (dice < 80) return restore(run, random)
  if (dice < 83 && runs.length < 4) return fork(run, runs, random)
  if (dice < 90) return refuse(run, random)
  return read(run, random)
}

/** Remembers what the new whole shows, sometimes only its surface, so that edits meet lists derived to any length. */
function note({ session, model, history }: Run, event: SessionEvent, name: string): string {
  expect(event.seq).toBe(history.length - 1)
  history.push({ seqs: [...model.seqs], messages: model.seqs.map(seq => messageOf(session, seq)) })
  return name
}

function append({ session, model }: Run, random: Random): SessionEvent {
  const id = `c${random(3)}`
  model.seqs.push(session.length)
  const kind = random(4)
  if (kind === 0) return session.append('tool/result', result(id), APPEND)
  if (kind === 1) return session.append('assistant/message', assistant(`said ${session.length}`, [id]), APPEND)
  return session.append('user/message', user(`text ${session.length}`), APPEND)
}

function replace({ session, model }: Run, random: Random): SessionEvent {
  const i = random(model.seqs.length)
  const j = Math.min(model.seqs.length - 1, i + (random(3) === 0 ? random(20) : random(4)))
  const sources = model.seqs.slice(i, j + 1)
  if (random(3) === 0) sources.reverse()
  const others = session.length > 0 && random(4) === 0 ? [random(session.length)] : []
  const intent = replaces(model.seqs[i]!, model.seqs[j]!, [...new Set([...sources, ...others])])
  model.replace(session.length, i, j)
  return session.append('user/message', user(`sum ${session.length}`), intent)
}

function rewrite(run: Run, random: Random): string {
  const { session, model } = run
  const at = model.seqs.findIndex(seq => session.at(seq)?.type === 'tool/result')
  if (at < 0) return read(run, random)
  const seq = model.seqs[at]!
  const { toolCallId } = session.at(seq)!.data as { toolCallId: string }
  model.replace(session.length, at, at)
  const event = session.append('tool/result', result(toolCallId, `short ${session.length}`), replaces(seq, seq, [seq]))
  return note(run, event, 'rewrite')
}

function restore(run: Run, random: Random): string {
  const { session, model } = run
  const nodes = model.seqs.filter(seq => model.below.has(seq))
  const node = nodes[random(nodes.length)]
  if (node === undefined) return read(run, random)
  model.restore(node)
  return note(run, session.append('surface/restore', {}, restores(node)), 'restore')
}

/** Goes on with a prefix of the run: as a fork, as a session seeded with it, or resumed from a store that holds it. */
function fork({ session, history }: Run, runs: Run[], random: Random): string {
  const length = random(3) === 0 ? random(session.length + 1) : session.length
  const model = replay(session.slice(0, length))
  const kind = random(3)
  const events = session.slice(0, length)
  const next =
    kind === 0 ? session.fork({ length }) : kind === 1 ? Session.create({ seed: events }) : new Store(events).resume()
  if (kind !== 2 || random(2) === 0) next.deriveMessages()
  const kept = history.slice(0, length + 1)
  runs.push({
    session: next,
    model,
    history: kind === 0 ? kept : kept.map(({ seqs }) => ({ seqs, messages: seqs.map(seq => messageOf(next, seq)) })),
  })
  return 'fork'
}

/** A wrong edit changes nothing: not the log, not the surface, not the very array of messages. */
function refuse({ session, model }: Run, random: Random): string {
  const { length } = session
  const before = [session.deriveMessages(), session.surface.generation, session.events]
  const [type, data, intent] = wrongEdit(session, model, random)
  expect(() => appendLoose(session, type, data, intent)).toThrow(SessionError)
  expect(session.length).toBe(length)
  expect(session.deriveMessages()).toBe(before[0])
  expect(session.surface.generation).toBe(before[1])
  expect(session.events).toBe(before[2])
  return 'refused'
}

function wrongEdit(session: Session, { seqs, below }: NaiveSurface, random: Random): [string, object, object] {
  const i = random(seqs.length)
  const j = i + 1 + random(3)
  const shadowed = [...below.values()].flat()
  const hidden = shadowed[random(shadowed.length)] ?? session.length
  const kind = random(6)
  if (kind === 0 && j < seqs.length) return ['user/message', user(), replaces(seqs[j]!, seqs[i]!, seqs.slice(i, j + 1))]
  if (kind === 1 && j < seqs.length) return ['user/message', user(), replaces(seqs[i]!, seqs[j]!, seqs.slice(i, j))]
  if (kind === 2 && j < seqs.length)
    return ['tool/result', result('c0'), replaces(seqs[i]!, seqs[j]!, seqs.slice(i, j + 1))]
  if (kind === 3) return ['surface/restore', {}, restores(hidden)]
  if (kind === 4) return ['user/message', user(), { ...APPEND, sourceEventSeqs: [session.length] }]
  return ['user/message', user(), replaces(hidden, hidden, [0])]
}

function read({ session, history }: Run, random: Random): string {
  const length = random(session.length + 1)
  const then = history[length]!
  expectList(session.surfaceAt(length), then.seqs)
  expectList(session.messagesAt(length), then.messages)
  return 'read'
}

function checkNow({ session, model, history }: Run, random: Random): void {
  const { surface } = session
  const { seqs, below } = model
  expectList(surface.seqs(), seqs)
  expectList(foldSurface(markersOf(session)), seqs)
  const { size, first, last, generation } = surface
  expectList([size, first, last, generation], [seqs.length, seqs[0], seqs.at(-1), model.edits])
  const covers = new Map([...below].flatMap(([node, list]) => list.map(seq => [seq, node] as const)))
  const probe = random(session.length + 1)
  for (const seq of new Set([probe, seqs[random(seqs.length)] ?? 0, session.length - 1])) {
    expectList([surface.has(seq), surface.coveredBy(seq)], [seqs.includes(seq), covers.get(seq)])
    expectList(surface.shadowed(seq), below.get(seq) ?? [])
  }
  if (random(3) > 0) expectList(session.deriveMessages(), history.at(-1)!.messages)
}

/** Every prefix still derives what it did, here and in whatever was made of the log meanwhile. */
function checkPrefixes({ session, history }: Run, random: Random): void {
  const others = [session.fork(), Session.create({ seed: reread(session.events) }), new Store(session.events).resume()]
  const other = others[random(others.length)]!
  const model = new NaiveSurface()
  for (const [length, then] of history.entries()) {
    if (length > 0) applyTo(model, session.at(length - 1)!)
    expectList(model.seqs, then.seqs)
    expectList(session.surfaceAt(length), then.seqs)
    expectList(other.surfaceAt(length), then.seqs)
    expectList(session.messagesAt(length), then.messages)
    expectList(other.messagesAt(length).map(textOf), then.messages.map(textOf))
  }
  for (const seq of model.seqs) expectList(session.surface.shadowed(seq), model.below.get(seq) ?? [])
  for (let seq = 0; seq < session.length; seq++) {
    expectList([other.surface.coveredBy(seq)], [session.surface.coveredBy(seq)])
    expectList(other.surface.shadowed(seq), model.below.get(seq) ?? [])
  }
}

function replay(events: readonly SessionEvent[]): NaiveSurface {
  const model = new NaiveSurface()
  for (const event of events) applyTo(model, event)
  return model
}

function applyTo(model: NaiveSurface, { seq, surfaceOp: op }: SessionEvent): void {
  if (op === undefined) return
  if (op === 'append') model.seqs.push(seq)
  else if (op.op === 'restore') model.restore(op.node)
  else model.replace(seq, model.seqs.indexOf(op.start), model.seqs.indexOf(op.end))
}

function markersOf(session: Session): SurfaceMarker[] {
  return session.events.filter(event => event.surfaceOp !== undefined) as SurfaceMarker[]
}

function messageOf(session: Session, seq: number): Message {
  return (session.at(seq)!.data as { message: Message }).message
}

function textOf(message: Message): string {
  const known = texts.get(message) ?? JSON.stringify(message)
  texts.set(message, known)
  return known
}
const texts = new WeakMap<Message, string>()

/** The same values in the same order; asks the slow matcher only when they are not. */
function expectList<T>(actual: readonly T[], expected: readonly T[]): void {
  const same = actual.length === expected.length && actual.every((each, i) => each === expected[i])
  if (same) return
  expect(actual).toStrictEqual(expected)
  expect.fail('equal, but not the same objects: one message object per event for ever')
}
