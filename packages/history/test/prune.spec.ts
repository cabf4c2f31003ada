import { explain, prune, RecallError, recall, recallTool, restore } from '@palimpsest/history'
import { Session } from '@palimpsest/session'
import { describe, expect, test } from 'vitest'
import { APPEND, result, round, textOf, user } from './samples.js'

function filled(rounds = 6): Session {
  const session = Session.create({ now: () => 0 })
  for (let n = 1; n <= rounds; n++) round(session, n)
  return session
}

describe('prune', () => {
  test('replaces old, large results by stand-ins that name call, size and seq', () => {
    const session = filled()
    const before = session.deriveMessages()
    const report = prune(session)
    expect(report.pruned.map(({ seq }) => seq)).toEqual([2, 5, 8])
    for (const { seq, node, toolCallId, tokensBefore, tokensAfter } of report.pruned) {
      const standIn = session.at(node)!
      expect(standIn.sourceEventSeqs).toEqual([seq])
      expect(standIn.data).toMatchObject({ turn: 1, step: 1, toolCallId })
      expect(textOf(session, node)).toContain(String(seq))
      expect(textOf(session, node)).toContain('look')
      expect(tokensAfter).toBeLessThan(tokensBefore)
      expect(recall(session, seq)).toBe(recallOriginal(session, seq))
    }
    expect(report.tokensSaved).toBe(report.tokensBefore - report.tokensAfter)
    expect(report.cachedPrefix.messages).toBe(2)
    const { tokensSaved, cachedPrefix } = report
    const last = session.at(session.length - 1)!
    expect([last.type, last.data]).toEqual([
      'prune/applied',
      { nodes: report.pruned.map(({ node }) => node), tokensSaved, cachedPrefix },
    ])
    for (const { node } of report.pruned) restore(session, node)
    expect(session.deriveMessages()).toEqual(before)
  })

  test('writes nothing where nothing is to be pruned', () => {
    const session = filled(3)
    const { length } = session
    expect(prune(session).pruned).toEqual([])
    expect(session.length).toBe(length)
  })

  test('leaves alone what is recent, small, a stand-in, or was restored', () => {
    const session = filled()
    expect(prune(session, { keepRecent: 6 }).pruned).toEqual([])
    expect(prune(session, { minTokens: 5_000 }).pruned).toEqual([])
    const { pruned } = prune(session, { keepRecent: 0 })
    expect(pruned).toHaveLength(6)
    expect(prune(session, { keepRecent: 0 }).pruned).toEqual([])
    restore(session, pruned[0]!.node)
    expect(prune(session, { keepRecent: 0 }).pruned).toEqual([])
    expect(explain(session, pruned[0]!.seq)).toEqual({ state: 'visible' })
    const reopened = Session.create({ header: session.header, seed: session.events })
    expect(prune(reopened, { keepRecent: 0 }).pruned).toEqual([])
  })

  test('keeps an error, and a stand-in is never longer than what it stands for', () => {
    const session = Session.create({ now: () => 0 })
    session.append(
      'tool/result',
      { ...result('c', 'x'.repeat(3_000)), error: { code: 'TOOL_FAILED', message: 'm' } },
      APPEND,
    )
    session.append('tool/result', result('d', 'tiny'), APPEND)
    const { pruned } = prune(session, { keepRecent: 0, minTokens: 0 })
    expect(pruned.map(({ seq }) => seq)).toEqual([0])
    expect(session.at(pruned[0]!.node)!.data).toMatchObject({ error: { code: 'TOOL_FAILED', message: 'm' } })
  })

  test('a result that tells of an error by its output alone stays one', () => {
    const session = Session.create({ now: () => 0 })
    const output = { type: 'error-json' as const, value: { why: 'x'.repeat(3_000) } }
    const message = { role: 'tool' as const, content: [{ ...result('c').message.content[0]!, output }] }
    session.append('tool/result', { ...result('c'), message }, APPEND)
    const { node } = prune(session, { keepRecent: 0 }).pruned[0]!
    expect(session.at(node)!.data).toMatchObject({ message: { content: [{ output: { type: 'error-text' } }] } })
  })

  test('leaves alone what is not one result of a named call', () => {
    const session = Session.create({ now: () => 0 })
    const [part] = result('c', 'x'.repeat(3_000)).message.content
    const { toolName: _, ...nameless } = part!
    for (const content of [[part, part], [part, { type: 'text', text: 'and this' }], [nameless], [null], []]) {
      session.append('tool/result', { ...result('c'), message: { role: 'tool', content: content as never } }, APPEND)
    }
    expect(prune(session, { keepRecent: 0 }).pruned).toEqual([])
    expect(session.length).toBe(5)
  })

  test('a tokenizer that throws leaves the log as it was, here and in a restore', () => {
    const countTokens = (text: string) => {
      if (text === 'bad') throw new Error('cannot count')
      return text.length
    }
    const session = filled()
    const { node } = prune(session, { keepRecent: 5 }).pruned[0]!
    session.append('user/message', user('bad'), APPEND)
    const { length } = session
    expect(() => prune(session, { countTokens })).toThrow('cannot count')
    expect(() => restore(session, node, { countTokens })).toThrow('cannot count')
    expect(session.length).toBe(length)
  })

  test('refuses counts that are none', () => {
    expect(() => prune(filled(), { keepRecent: -1 })).toThrow(RangeError)
    expect(() => prune(filled(), { minTokens: 0.5 })).toThrow(RangeError)
  })
})

describe('recall', () => {
  test('reads back any event; the tool also a range', () => {
    const session = filled(2)
    expect(recall(session, 0)).toBe('question 1')
    const tool = recallTool(session)
    expect(tool.name).toBe('recall')
    expect(tool.execute({ seq: 2 })).toMatch(/^result 1/)
    expect(tool.execute({ seq: 0, to: 1 })).toContain('src/file-1.ts')
  })

  test('reads back what is of no known shape as its JSON', () => {
    const session = Session.create({ now: () => 0 })
    const content = [{ type: 'text', text: 7 }, { type: 'other', a: 1 }, null] as never
    session.append('user/message', { message: { role: 'user', content } }, APPEND)
    const outputs = ['bare', { type: 'other', a: 1 }, { type: 'json', value: 'x' }]
    for (const output of outputs as never[]) {
      const [part] = result('c').message.content
      session.append(
        'tool/result',
        { ...result('c'), message: { role: 'tool', content: [{ ...part!, output }] } },
        APPEND,
      )
    }
    const texts = session.events.map(({ seq }) => recall(session, seq))
    expect(texts).toEqual(['7\n{"type":"other","a":1}\nnull', '"bare"', '{"type":"other","a":1}', '"x"'])
  })

  test('refuses a seq that is not in the log', () => {
    const session = filled(1)
    for (const seq of [-1, 3, 0.5, Number.NaN]) expect(() => recall(session, seq)).toThrow(RecallError)
    expect(() => recallTool(session).execute({ seq: 2, to: 1 })).toThrow(RecallError)
    expect(() => recallTool(session).execute({ seq: 2, to: 9 })).toThrow(
      expect.objectContaining({ code: 'RECALL_UNKNOWN' }),
    )
  })
})

describe('explain', () => {
  test('tells visible, shadowed, undone and never', () => {
    const session = Session.create({ now: () => 0 })
    session.append('turn/start', { turn: 1 })
    session.append('user/message', user('a'), APPEND)
    const over = { surfaceOp: { op: 'replace', start: 1, end: 1 }, sourceEventSeqs: [1] } as const
    session.append('user/message', user('b'), over)
    expect(explain(session, 0)).toEqual({ state: 'never' })
    expect(explain(session, 1)).toEqual({ state: 'shadowed', by: 2, since: 2 })
    expect(explain(session, 2)).toEqual({ state: 'visible' })
    restore(session, 2, { reason: 'mistake' })
    expect(explain(session, 1)).toEqual({ state: 'visible' })
    expect(explain(session, 2)).toEqual({ state: 'undone', by: 3 })
    expect(session.at(3)!.data).toEqual({ reason: 'mistake' })
    expect(() => explain(session, 9)).toThrow(RangeError)
    expect(() => restore(session, 1)).toThrow(expect.objectContaining({ code: 'SURFACE_RESTORE_INVALID' }))
  })
})

function recallOriginal(session: Session, seq: number): string {
  const { message } = session.at(seq)!.data as { message: { content: { output: { value: string } }[] } }
  return message.content[0]!.output.value
}
