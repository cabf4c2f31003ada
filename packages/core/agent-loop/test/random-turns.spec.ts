import { Session, type SessionEvent } from '@palimpsest/session'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Plan, plans, playPlan } from './random-plan.js'

describe('whatever a model, its tools and its user do', () => {
  test('turns and steps nest, calls pair, and every request is the log’s own', async () => {
    await fc.assert(fc.asyncProperty(plans, runPlan), { numRuns: Number(process.env.RANDOM_TURNS ?? 300) })
  })
})

async function runPlan(plan: Plan): Promise<void> {
  const { session, admissions, asked, received } = await playPlan(plan)
  const admitted = await Promise.allSettled(admissions)
  const seqs = admitted.flatMap(one => (one.status === 'fulfilled' ? [one.value] : []))
  for (const seq of seqs) expect(session.at(seq)?.type).toMatch(/^(user|steering|context)\/message$/)
  expect(new Set(seqs).size).toBe(seqs.length)
  checkNesting(session.events)
  checkCalls(session.events)
  expect(received).toEqual(asked.map(({ request }) => request))
  for (const { request, length } of asked) expect(session.requestAt(length)).toEqual(request)
  expect(Session.create({ seed: session.events }).deriveMessages()).toEqual(session.deriveMessages())
}

/** A naive model: brackets that open and close, and numbers that count. */
function checkNesting(events: readonly SessionEvent[]): void {
  let turn = 0
  let step = 0
  let depth = 0
  for (const { type, data } of events) {
    const at = data as { turn: number; step: number }
    if (type === 'turn/start') {
      expect([depth++, at.turn]).toEqual([0, ++turn])
      step = 0
    } else if (type === 'step/start') expect([depth++, at.turn, at.step]).toEqual([1, turn, ++step])
    else if (type === 'step/end') expect([depth--, at.turn, at.step]).toEqual([2, turn, step])
    else if (type === 'turn/end') expect([depth--, at.turn]).toEqual([1, turn])
    else if (type === 'user/message') expect([depth, step]).toEqual([1, 0])
    else expect(depth).toBe(2)
  }
  expect(depth).toBe(0)
}

/** Each call of a message has one result behind it, in order, that cites its `tool/call`, or the message where none was logged. */
function checkCalls(events: readonly SessionEvent[]): void {
  let open: string[] = []
  let message = -1
  let begun = new Map<string, number>()
  for (const event of events) {
    if (event.type === 'assistant/message') {
      open = event.data.message.content.flatMap(part => (part.type === 'tool-call' ? [part.toolCallId] : []))
      expect(new Set(open).size).toBe(open.length)
      message = event.seq
      begun = new Map()
    } else if (event.type === 'tool/call') {
      expect(open).toContain(event.data.toolCallId)
      expect(begun.has(event.data.toolCallId)).toBe(false)
      begun.set(event.data.toolCallId, event.seq)
    } else if (event.type === 'tool/settled') {
      expect(begun.has(event.data.toolCallId)).toBe(true)
    } else if (event.type === 'tool/result') {
      expect(event.data.toolCallId).toBe(open.shift())
      expect(event.sourceEventSeqs).toEqual([begun.get(event.data.toolCallId) ?? message])
    } else if (event.type === 'step/end') expect(open).toEqual([])
  }
}
