import { type CompactionError, compact, planCompaction, restore } from '@palimpsest/history'
import { Session } from '@palimpsest/session'
import { describe, expect, test } from 'vitest'
import { APPEND, result, round, textOf, user } from './samples.js'

function filled(rounds = 4): Session {
  const session = Session.create({ now: () => 0 })
  for (let n = 1; n <= rounds; n++) round(session, n)
  return session
}

const summarize = async () => 'they talked'
const codeOf = (work: Promise<unknown>) =>
  work.then(
    () => 'done',
    (error: CompactionError) => error.code,
  )
const failsOn = (beginning: string) => (text: string) => {
  if (text.startsWith(beginning)) throw new Error('cannot count')
  return text.length
}
const typesFrom = (session: Session, length: number) => session.slice(length).map(({ type }) => type)

describe('compact', () => {
  test('writes start, the replacement and end, and says what it saved', async () => {
    const session = filled()
    const length = session.length
    const before = session.deriveMessages()
    const report = await compact(session, { summarize })
    expect(typesFrom(session, length)).toEqual(['compaction/start', 'user/message', 'compaction/end'])
    expect(session.surface.seqs()).toEqual([report.node, 10, 11])
    expect(report).toMatchObject({
      startSeq: length,
      node: length + 1,
      endSeq: length + 2,
      shadowed: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
    })
    expect(report.tokensBefore - report.tokensAfter).toBe(report.tokensSaved)
    expect(report.tokensSaved).toBeGreaterThan(0)
    expect(report.cachedPrefix).toEqual({ messages: 0, tokens: 0, tokensBroken: report.tokensBefore })
    expect(session.at(report.endSeq)!.data).toEqual({
      start: length,
      node: report.node,
      tokensSaved: report.tokensSaved,
      cachedPrefix: report.cachedPrefix,
    })
    restore(session, report.node)
    expect(session.deriveMessages()).toEqual(before)
  })

  test('keeps what the user said and the files that were touched, through a second compaction too', async () => {
    const session = filled()
    const first = await compact(session, { summarize })
    expect(textOf(session, first.node)).toContain('question 3')
    expect(textOf(session, first.node)).toContain('src/file-1.ts')
    round(session, 5)
    round(session, 6)
    const second = await compact(session, { summarize })
    expect(second.shadowed).toContain(first.node)
    const text = textOf(session, second.node)
    for (const n of [1, 2, 3, 4, 5]) expect(text).toContain(`question ${n}`)
    for (const n of [1, 5]) expect(text).toContain(`src/file-${n}.ts`)
    expect(text.indexOf('question 5')).toBeLessThan(text.indexOf('question 1'))
  })

  test('names by seq what the quarter does not hold, and goes on naming it', async () => {
    const session = Session.create({ now: () => 0 })
    session.append('user/message', user('long '.repeat(2_000)), APPEND)
    for (let n = 1; n <= 3; n++) round(session, n, 400)
    const first = await compact(session, { summarize })
    expect(textOf(session, first.node)).toMatch(/recall by event: 0"/)
    round(session, 4, 4_000)
    round(session, 5, 4_000)
    const second = await compact(session, { summarize })
    expect(textOf(session, second.node)).toMatch(/recall by event: 0"/)
  })

  test('what arrives meanwhile stays', async () => {
    const session = filled()
    const { node } = await compact(session, {
      summarize: async () => {
        session.append('user/message', user('late'), APPEND)
        return 'short'
      },
    })
    expect(session.surface.seqs()).toEqual([node, 10, 11, 13])
  })

  const refusals: [string, string, (session: Session) => Promise<unknown>, string[]][] = [
    ['an empty session', 'COMPACTION_NOTHING_TO_DO', () => compact(Session.create(), { summarize }), []],
    ['half a pair', 'COMPACTION_RANGE_ILLEGAL', s => compact(s, { summarize, range: { start: 0, end: 1 } }), []],
    [
      'a range that is none',
      'COMPACTION_RANGE_ILLEGAL',
      s => compact(s, { summarize, range: { start: 5, end: 0 } }),
      [],
    ],
    ['an abort before', 'COMPACTION_ABORTED', s => compact(s, { summarize, signal: AbortSignal.abort() }), []],
    [
      'a summariser that throws',
      'COMPACTION_SUMMARY_FAILED',
      s => compact(s, { summarize: () => Promise.reject(new Error('no')) }),
      ['compaction/start', 'compaction/end'],
    ],
    [
      'a summariser that throws what cannot be shown',
      'COMPACTION_SUMMARY_FAILED',
      s => compact(s, { summarize: () => Promise.reject(Object.create(null)) }),
      ['compaction/start', 'compaction/end'],
    ],
    [
      'a tokenizer that cannot count what stays',
      'COMPACTION_SUMMARY_FAILED',
      s => compact(s, { summarize, countTokens: failsOn('result 4') }),
      ['compaction/start', 'compaction/end'],
    ],
    [
      'a summary that is none',
      'COMPACTION_SUMMARY_FAILED',
      s => compact(s, { summarize: async () => 5 as never }),
      ['compaction/start', 'compaction/end'],
    ],
    [
      'a blank summary',
      'COMPACTION_SUMMARY_VOID',
      s => compact(s, { summarize: async () => ' \n' }),
      ['compaction/start', 'compaction/end'],
    ],
    [
      'an empty list',
      'COMPACTION_SUMMARY_VOID',
      s => compact(s, { summarize: async () => [] }),
      ['compaction/start', 'compaction/end'],
    ],
    [
      'a longer summary',
      'COMPACTION_SUMMARY_NOT_SMALLER',
      s => compact(s, { summarize: async () => 'x'.repeat(99_999) }),
      ['compaction/start', 'compaction/end'],
    ],
  ]
  for (const [name, code, work, types] of refusals) {
    test(`refuses ${name}: ${code}`, async () => {
      const session = filled()
      const length = session.length
      const surface = session.surface.seqs()
      expect(await codeOf(work(session))).toBe(code)
      expect(session.surface.seqs()).toEqual(surface)
      expect(typesFrom(session, length)).toEqual(types)
      if (types.length > 0)
        expect(session.at(session.length - 1)!.data).toMatchObject({ start: length, error: { code } })
      expect(await codeOf(compact(session, { summarize }))).toBe('done')
    })
  }

  test('one at a time', async () => {
    const session = filled()
    let second: Promise<string> | undefined
    await compact(session, {
      summarize: async () => {
        second = codeOf(compact(session, { summarize }))
        return 'short'
      },
    })
    expect(await second).toBe('COMPACTION_BUSY')
  })

  test('an edit inside the range meanwhile is kept', async () => {
    const session = filled()
    const code = await codeOf(
      compact(session, {
        summarize: async () => {
          const intent = { surfaceOp: { op: 'replace', start: 2, end: 2 }, sourceEventSeqs: [2] } as const
          session.append('tool/result', result('c1', 'short'), intent)
          return 'short'
        },
      }),
    )
    expect(code).toBe('COMPACTION_RANGE_CHANGED')
    expect(session.surface.has(13)).toBe(true)
  })

  test('an abort does not wait for a summariser that ignores it', async () => {
    const session = filled()
    const controller = new AbortController()
    const work = compact(session, { summarize: () => new Promise(() => controller.abort()), signal: controller.signal })
    expect(await codeOf(work)).toBe('COMPACTION_ABORTED')
  })

  test('an abort by an observer of the start is heard', async () => {
    const session = filled()
    const controller = new AbortController()
    session.on(({ type }) => {
      if (type === 'compaction/start') controller.abort()
    })
    const work = compact(session, { summarize: () => new Promise(() => {}), signal: controller.signal })
    expect(await codeOf(work)).toBe('COMPACTION_ABORTED')
  })

  test('an orphaned start in a reopened log blocks nothing', async () => {
    const session = filled()
    session.append('compaction/start', { start: 0, end: 2, seqs: [0, 1, 2] })
    const reopened = Session.create({ header: session.header, seed: session.events })
    expect(reopened.surface.seqs()).toEqual(session.surface.seqs())
    expect(planCompaction(reopened)).toEqual(planCompaction(session))
    expect(await codeOf(compact(reopened, { summarize }))).toBe('done')
  })
})
