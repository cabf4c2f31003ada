import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Session } from '@palimpsest/session'
import { beforeAll, describe, expect, test } from 'vitest'
import { countRecalled, pairFaults } from '../scripts/prune/faults.mjs'
import { pruneRecordings } from '../scripts/prune/prune-recordings.mjs'
import { replayEvents } from '../scripts/prune/replay-events.mjs'
import { sumRows } from '../scripts/prune/table.mjs'

// Recorded conversations of real agents lie beside the repository, where they are at hand.
const corpus = join(dirname(dirname(fileURLToPath(import.meta.url))), '..', 'shared', 'corpus')
const atHand = existsSync(corpus)
if (!atHand) console.log(`SKIPPED: no recorded conversations at ${join('..', 'shared', 'corpus')}`)

describe.runIf(atHand)('the automatic pruning, on recorded conversations that are mostly tool results', () => {
  type Measured = Awaited<ReturnType<typeof pruneRecordings>>
  let rows: Measured['rows']
  let left: Measured['left']
  let total: ReturnType<typeof sumRows>
  beforeAll(async () => {
    const measured = await pruneRecordings(corpus)
    ;({ rows, left } = measured)
    total = sumRows(rows)
  }, 300_000)

  test('takes half of the tokens off late requests', () => {
    expect(rows.length).toBeGreaterThan(40)
    expect(new Set(rows.map(({ format }) => format)).size).toBeGreaterThan(5)
    expect(1 - total.after / total.late).toBeGreaterThan(0.5)
    expect(total.best).toBeGreaterThanOrEqual(total.late - total.after)
  })

  test('breaks the cached prefix at most once for each 50,000 tokens appended, begun ones too', () => {
    expect(total.breaks).toBeGreaterThan(rows.length / 2)
    for (const { name, breaks, appended } of rows) {
      expect(breaks, name).toBeLessThanOrEqual(Math.ceil(appended / 50_000))
    }
  })

  test('splits no pair, changes nothing but the words of results, and every one of them can be read back', () => {
    for (const { name, faults, pruned, recalled } of rows)
      expect({ name, faults, recalled }).toEqual({ name, faults: 0, recalled: pruned })
    expect(total.pruned).toBeGreaterThan(300)
  })

  test('what is left out has no results, or mostly other text', () => {
    expect(Object.keys(left).sort()).toEqual(['mostly other text', 'no request', 'no tool results'])
  })
})

describe('the measure itself', () => {
  test('sees a pair that an edit splits', async () => {
    const recording = recordLook()
    const plain = await replayEvents(recording)
    const split = await replayEvents(recording, async (session: Session) => {
      const [first, asked] = session.surface.seqs()
      if (asked === undefined || session.surface.size > 3) return
      session.append('user/message', message('user', [{ type: 'text', text: 'short' }]), over(first!, asked))
    })
    expect(pairFaults(plain, plain)).toBe(0)
    expect(pairFaults(plain, split)).toBeGreaterThan(0)
  })

  test('sees a stand-in that names another event, and follows one that names its own', async () => {
    const recording = recordLook()
    const standIn = (name: (seq: number) => number) => async (session: Session) => {
      const seq = session.surface.last!
      if (session.at(seq)!.type !== 'tool/result') return
      const node = session.append('tool/result', result(`recall seq ${name(seq)}`), over(seq, seq)).seq
      const cachedPrefix = { messages: 0, tokens: 0, tokensBroken: 0 }
      session.append('prune/applied', { nodes: [node], tokensSaved: 0, cachedPrefix })
    }
    const right = await replayEvents(
      recording,
      standIn(seq => seq),
    )
    const wrong = await replayEvents(
      recording,
      standIn(() => 0),
    )
    expect(countRecalled(right, recording.events)).toEqual({ pruned: 1, recalled: 1 })
    expect(countRecalled(wrong, recording.events)).toEqual({ pruned: 1, recalled: 0 })
  })
})

// --- internal ---

function recordLook() {
  const append = { surfaceOp: 'append' } as const
  const session = Session.create({ now: () => 0 })
  const call = { type: 'tool-call', toolCallId: 'c', toolName: 'look', input: {} } as const
  session.append('turn/start', { turn: 1 })
  session.append('user/message', message('user', [{ type: 'text', text: 'look' }]), append)
  session.append('step/start', { turn: 1, step: 1 })
  session.append(
    'assistant/message',
    { turn: 1, step: 1, finishReason: 'tool-calls', ...message('assistant', [call]) },
    append,
  )
  session.append('tool/call', { turn: 1, step: 1, toolCallId: 'c', toolName: 'look', arguments: '{}' })
  session.append('tool/result', result('seen '.repeat(1_000)), append)
  session.append('step/end', { turn: 1, step: 1 })
  session.append('step/start', { turn: 1, step: 2 })
  const answer = message('assistant', [{ type: 'text' as const, text: 'seen' }])
  session.append('assistant/message', { turn: 1, step: 2, finishReason: 'stop', ...answer }, append)
  return { header: {}, events: session.events }
}

function message<R extends 'user' | 'assistant', const P>(role: R, content: P[]) {
  return { message: { role, content } }
}

function result(value: string) {
  const content = [
    { type: 'tool-result' as const, toolCallId: 'c', toolName: 'look', output: { type: 'text' as const, value } },
  ]
  return { turn: 1, step: 1, toolCallId: 'c', message: { role: 'tool' as const, content } }
}

function over(start: number, end: number) {
  return {
    surfaceOp: { op: 'replace' as const, start, end },
    sourceEventSeqs: [start, end].filter((seq, i, all) => all.indexOf(seq) === i),
  }
}
