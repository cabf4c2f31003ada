import assert from 'node:assert/strict'
import { explain, restore } from '@palimpsest/history'
import { checkLog } from '@palimpsest/invariants'
import { type AssistantMessage, isSurfaceType, type Message, Session, type SessionEvent } from '@palimpsest/session'
import { expect, test } from 'vitest'
import { createRandom, RandomHistory, replacements, unedited } from './random-history.js'

const HISTORIES = Number(process.env.PALIMPSEST_HISTORIES ?? 100_000)
const SEED = Number(process.env.PALIMPSEST_SEED ?? Math.floor(Math.random() * 2 ** 32))

test(`${HISTORIES} random histories of turns, crashes, compactions, prunes and restores keep every promise`, async () => {
  console.log(`random histories: ${HISTORIES}, PALIMPSEST_SEED=${SEED}`)
  const counts: Record<string, number> = {}
  for (let i = 0; i < HISTORIES; i++) {
    const random = createRandom(SEED + i)
    const history = new RandomHistory(random)
    const acts = 2 + random(7)
    for (let n = 0; n < acts; n++) await history.act()
    try {
      check(history)
    } catch (error) {
      throw new Error(`PALIMPSEST_SEED=${SEED + i} PALIMPSEST_HISTORIES=1 shows it`, { cause: error })
    }
    for (const [name, count] of Object.entries(history.counts)) counts[name] = (counts[name] ?? 0) + count
  }
  console.log(`done: ${JSON.stringify(counts)}`)
  if (HISTORIES > 1_000) {
    for (const name of ['turn', 'crash', 'compact', 'prune', 'restore']) expect(counts[name]).toBeGreaterThan(0)
  }
}, 600_000)

// --- internal ---

function check({ session, moments }: RandomHistory): void {
  assertPairs(session)
  for (const event of session.events) assertClassified(session, event)
  assert.deepEqual(checkLog(session), [])
  for (const { length, messages, request } of moments) {
    assertSame(session.messagesAt(length), messages)
    const { messages: now, ...header } = session.requestAt(length)!
    assertSame(now, request.messages)
    assert.deepEqual({ ...header, messages: request.messages }, request)
  }
  for (let nodes = replacements(session); nodes.length > 0; nodes = replacements(session)) {
    for (const node of nodes) restore(session, node)
  }
  assertSame(session.deriveMessages(), unedited(session))
  const reopened = Session.create({ header: session.header, seed: session.events })
  assertSame(reopened.deriveMessages(), session.deriveMessages())
}

/** The same bytes: the same frozen objects, or, of a session that was made anew, the same JSON. */
function assertSame(found: readonly Message[], expected: readonly Message[]): void {
  assert.equal(found.length, expected.length)
  found.forEach((message, i) => {
    if (message !== expected[i]) assert.equal(JSON.stringify(message), JSON.stringify(expected[i]))
  })
}

/** Every visible result answers a visible call before it, and every visible call has its one result. */
function assertPairs(session: Session): void {
  const open: string[] = []
  for (const seq of session.surface.seqs()) {
    const event = session.at(seq)!
    if (event.type === 'assistant/message') open.push(...callsOf(event))
    if (event.type !== 'tool/result') continue
    const index = open.lastIndexOf(event.data.toolCallId)
    assert(index >= 0, `result at ${seq} without its call`)
    open.splice(index, 1)
  }
  assert.deepEqual(open, [], 'calls without a result')
}

function callsOf(event: SessionEvent<'assistant/message'>): string[] {
  const { content } = event.data.message as AssistantMessage
  return content.flatMap(part => (part.type === 'tool-call' ? [part.toolCallId] : []))
}

/** Against the surfaces of the prefixes around it: what is told of an event is what happened to it. */
function assertClassified(session: Session, { seq, type }: SessionEvent): void {
  const told = explain(session, seq)
  if (!isSurfaceType(type)) assert.equal(told.state, 'never')
  else if (session.surface.has(seq)) assert.equal(told.state, 'visible')
  else if (told.state === 'shadowed') {
    assert(session.surface.shadowed(told.by).includes(seq))
    assert(!session.surfaceAt(told.since + 1).includes(seq))
  } else if (told.state === 'undone') {
    assert(session.surfaceAt(told.by).includes(seq))
    assert(!session.surfaceAt(told.by + 1).includes(seq))
  } else assert.fail(`event ${seq} is ${told.state}`)
}
