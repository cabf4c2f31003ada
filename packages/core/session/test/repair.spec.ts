import { closeInterruptedTurn, type Message, Session, type SessionEvent } from '@palimpsest/session'
import { describe, expect, test } from 'vitest'
import {
  APPEND,
  assistant,
  call,
  replaces,
  requestHeader,
  reread,
  restores,
  result,
  say,
  settled,
  tickingClock,
  user,
} from './samples.js'

type Write = (session: Session) => void

const INTERRUPTED = { kind: 'interrupted' }

/** A turn around `body`, behind an earlier turn that is closed. */
function logOf(body: Write): readonly SessionEvent[] {
  const session = Session.create({ now: tickingClock() })
  session.append('request/header', requestHeader())
  session.append('turn/start', { turn: 1 })
  session.append('user/message', user('earlier'), APPEND)
  step(session, 1, 1, 'Done before.', ['c1'], () => answer(session, 'c1', 1, 1))
  session.append('turn/end', { turn: 1, reason: { kind: 'completed' } })
  session.append('turn/start', { turn: 2 })
  session.append('user/message', user('now'), APPEND)
  body(session)
  session.append('turn/end', { turn: 2, reason: { kind: 'completed' } })
  return session.events
}

function step(session: Session, turn: number, n: number, text: string, calls: string[], body: () => void = () => {}) {
  session.append('step/start', { turn, step: n })
  const chunk = { type: 'text-delta' as const, id: '0', text }
  const { seq } = session.append('assistant/chunk', { turn, step: n, chunk })
  session.append('assistant/message', assistant(text, calls, n, turn), { surfaceOp: 'append', sourceEventSeqs: [seq] })
  body()
  session.append('step/end', { turn, step: n })
}

function answer(session: Session, id: string, n = 1, turn = 2): void {
  const { seq } = session.append('tool/call', call(id, n, turn))
  session.append('tool/result', result(id, `result of ${id}`, n, turn), { surfaceOp: 'append', sourceEventSeqs: [seq] })
}

/** Three calls side by side; the last is ready first. */
function parallel(session: Session, n = 1): void {
  step(session, 2, n, 'Three at once.', ['a', 'b', 'c'], () => {
    const seqs = ['a', 'b', 'c'].map(id => session.append('tool/call', call(id, n, 2)).seq)
    session.append('tool/settled', settled('c', 'c was quick', n, 2))
    session.append('tool/settled', settled('b', 'b too', n, 2))
    for (const [i, id] of ['a', 'b', 'c'].entries()) {
      const intent = { surfaceOp: 'append' as const, sourceEventSeqs: [seqs[i]!] }
      session.append('tool/result', result(id, `${id} was told`, n, 2), intent)
    }
  })
}

const LOGS: Record<string, readonly SessionEvent[]> = {
  'a turn without a step': logOf(() => {}),
  'one answer': logOf(session => step(session, 2, 1, 'Hello.', [])),
  'calls one after another': logOf(session => {
    step(session, 2, 1, 'Two.', ['a', 'b'], () => {
      for (const id of ['a', 'b']) answer(session, id)
    })
    step(session, 2, 2, 'Done.', [])
  }),
  'calls side by side': logOf(parallel),
  'the same call ids again in every step': logOf(session => {
    for (const n of [1, 2, 3]) step(session, 2, n, 'Again.', ['c1'], () => answer(session, 'c1', n))
  }),
  'steering between the steps': logOf(session => {
    step(session, 2, 1, 'One.', ['a'], () => answer(session, 'a'))
    session.append('steering/message', { turn: 2, ...user('faster') }, APPEND)
    step(session, 2, 2, 'Two.', [])
  }),
  'a pruned result and a summary inside the turn': logOf(session => {
    step(session, 2, 1, 'One.', ['a'], () => answer(session, 'a'))
    const { last } = session.surface
    session.append('tool/result', result('a', 'short', 1, 2), replaces(last!, last!, [last!]))
    const seqs = session.surface.seqs().slice(-3)
    session.append('user/message', { turn: 2, ...user('sum') }, replaces(seqs[0]!, seqs[2]!, seqs))
    parallel(session, 2)
  }),
}

describe.each(Object.entries(LOGS))('cut anywhere: %s', (_, log) => {
  const cuts = Array.from({ length: log.length + 1 }, (_, length) => log.slice(0, length))

  test('the result has no open turn, is accepted as a seed, and needs no further closing', () => {
    for (const events of cuts) {
      const closed = [...events, ...closeInterruptedTurn(events)]
      const session = Session.create({ seed: closed })
      expect(session.length).toBe(closed.length)
      expect(closeInterruptedTurn(closed)).toEqual([])
      expect(count(closed, 'turn/start')).toBe(count(closed, 'turn/end'))
      expect(count(closed, 'step/start')).toBe(count(closed, 'step/end'))
      expect(closed.slice(0, events.length)).toEqual(events)
    }
  })

  test('a closed or absent turn is left alone, an open one ends as interrupted', () => {
    for (const events of cuts) {
      const closing = closeInterruptedTurn(events)
      const open = count(events, 'turn/start') > count(events, 'turn/end')
      expect(closing.length > 0).toBe(open)
      if (open) expect(closing.at(-1)).toMatchObject({ type: 'turn/end', data: { reason: { kind: 'interrupted' } } })
      const order = closing.map(event => event.type)
      expect(order).toEqual([
        ...order.filter(type => type === 'tool/result'),
        ...order.filter(type => type === 'step/end'),
        ...order.filter(type => type === 'turn/end'),
      ])
    }
  })

  test('every visible call has exactly one result, in the order of the calls', () => {
    for (const events of cuts) {
      const session = Session.create({ seed: [...events, ...closeInterruptedTurn(events)] })
      const { asked, answered } = callsAndResults(session.deriveMessages())
      expect(answered).toEqual(asked)
    }
  })

  test('it is deterministic, without a clock, and changes nothing it is given', () => {
    for (const events of cuts) {
      const before = JSON.stringify(events)
      const closing = closeInterruptedTurn(events)
      expect(closeInterruptedTurn(events)).toStrictEqual(closing)
      expect(JSON.stringify(closeInterruptedTurn(reread(events)))).toBe(JSON.stringify(closing))
      expect(JSON.stringify(events)).toBe(before)
      expect(closing.map(event => event.time)).toEqual(closing.map(() => events.at(-1)!.time))
      expect(closing.map(event => event.seq)).toEqual(closing.map((_, i) => events.length + i))
    }
  })

  test('the suffix from the last turn/start gives the same', () => {
    for (const events of cuts) {
      const start = events.findLastIndex(event => event.type === 'turn/start')
      if (start >= 0) expect(closeInterruptedTurn(events.slice(start))).toStrictEqual(closeInterruptedTurn(events))
    }
  })

  test('a result says what is true of its call', () => {
    for (const events of cuts) {
      for (const event of closeInterruptedTurn(events)) {
        if (event.type !== 'tool/result') continue
        const { toolCallId, step, turn, synthetic, error, message } = event.data
        const its = (type: string) =>
          events.findLast(
            ({ type: t, data }) =>
              t === type && (data as { toolCallId?: string }).toolCallId === toolCallId && sameStep(data, turn, step),
          )
        const began = its('tool/call')
        const done = its('tool/settled') as SessionEvent<'tool/settled'> | undefined
        const asking = events.findLast(({ type, data }) => type === 'assistant/message' && sameStep(data, turn, step))
        expect(event.surfaceOp).toBe('append')
        expect(event.sourceEventSeqs).toEqual([(began ?? asking)!.seq])
        const [part] = message.content
        expect(part).toMatchObject({ type: 'tool-result', toolCallId, toolName: 'look' })
        if (done) {
          expect(part?.output).toEqual(done.data.output)
          expect(event.data).not.toHaveProperty('synthetic')
          expect(event.data).not.toHaveProperty('error')
        } else {
          expect(synthetic).toBe(true)
          expect(error?.code).toBe(began ? 'TOOL_OUTCOME_UNKNOWN' : 'TOOL_NOT_STARTED')
          expect(part?.output.type).toBe('error-text')
        }
      }
    }
  })
})

describe('closeInterruptedTurn', () => {
  /** The closing events of an open turn that holds what `body` writes. */
  const close = (body: Write): SessionEvent[] => {
    const session = Session.create({ now: tickingClock() })
    session.append('turn/start', { turn: 1 })
    session.append('user/message', user(), APPEND) // 1
    body(session)
    const closing = closeInterruptedTurn(session.events)
    Session.create({ seed: [...session.events, ...closing] })
    return closing
  }
  const kinds = (events: SessionEvent[]) =>
    events.map(({ type, data }) => {
      const { toolCallId, error } = data as { toolCallId?: string; error?: { code: string } }
      return type === 'tool/result' ? `${toolCallId} ${error?.code ?? 'true'}` : type
    })

  test('of nothing is nothing', () => {
    expect(closeInterruptedTurn([])).toEqual([])
    expect(closeInterruptedTurn(say(Session.create(), 3).events)).toEqual([])
  })

  test('gives each call what is known of it, in the order of the calls', () => {
    const closing = close(session => {
      session.append('step/start', { turn: 1, step: 1 })
      session.append('assistant/message', assistant('', ['a', 'b', 'c', 'd']), APPEND)
      for (const id of ['a', 'b', 'c']) session.append('tool/call', call(id))
      session.append('tool/settled', settled('c', 'c is done'))
      session.append('tool/result', result('a'), { surfaceOp: 'append', sourceEventSeqs: [4] })
    })
    expect(kinds(closing)).toEqual(['b TOOL_OUTCOME_UNKNOWN', 'c true', 'd TOOL_NOT_STARTED', 'step/end', 'turn/end'])
    expect(closing.map(event => event.sourceEventSeqs)).toEqual([[5], [6], [3], undefined, undefined])
    const unknown = closing[0] as SessionEvent<'tool/result'>
    expect(unknown.data.error?.message).toMatch(/verify/i)
    expect(closing.slice(-2).map(event => event.data)).toEqual([
      { turn: 1, step: 1 },
      { turn: 1, reason: { kind: 'interrupted' } },
    ])
  })

  test('keeps the error of a settled call, which is a true result all the same', () => {
    const error = { code: 'TOOL_FAILED', message: 'no such file' }
    const [event] = close(session => {
      session.append('step/start', { turn: 1, step: 1 })
      session.append('assistant/message', assistant('', ['a']), APPEND)
      session.append('tool/call', call('a'))
      const output = { type: 'error-text' as const, value: 'no such file' }
      session.append('tool/settled', { ...settled('a', ''), output, error })
    })
    expect(event?.data).toMatchObject({ error, message: { content: [{ output: { value: 'no such file' } }] } })
    expect(event?.data).not.toHaveProperty('synthetic')
  })

  test('gives none to calls that the provider ran itself', () => {
    const closing = close(session => {
      session.append('step/start', { turn: 1, step: 1 })
      const data = assistant('', ['own', 'search'])
      const [, search] = data.message.content
      Object.assign(search!, { providerExecuted: true })
      session.append('assistant/message', data, APPEND)
    })
    expect(kinds(closing)).toEqual(['own TOOL_NOT_STARTED', 'step/end', 'turn/end'])
  })

  const shadowed: Write = session => {
    session.append('step/start', { turn: 1, step: 1 })
    session.append('assistant/message', assistant('', ['a']), APPEND) // 3
    session.append('tool/call', call('a'))
    session.append('user/message', user('sum'), replaces(1, 3, [1, 3])) // 5
  }

  test('gives none to calls that are no longer visible, and again where a restore shows them', () => {
    expect(kinds(close(shadowed))).toEqual(['step/end', 'turn/end'])
    const restored = close(session => {
      shadowed(session)
      session.append('surface/restore', {}, restores(5))
    })
    expect(kinds(restored)).toEqual(['a TOOL_OUTCOME_UNKNOWN', 'step/end', 'turn/end'])
  })

  test('gives none to calls shadowed by a replacement that reaches back before the turn', () => {
    const session = say(Session.create(), 2)
    session.append('turn/start', { turn: 1 })
    session.append('assistant/message', assistant('', ['a']), APPEND) // 3
    session.append('assistant/message', assistant('', ['b'], 2), APPEND) // 4
    session.append('user/message', user('sum'), replaces(1, 3, [1, 3]))
    for (const events of [session.events, session.slice(2)]) {
      expect(kinds(closeInterruptedTurn(events))).toEqual(['b TOOL_NOT_STARTED', 'turn/end'])
    }
    session.append('surface/restore', {}, restores(5))
    for (const events of [session.events, session.slice(2)]) {
      expect(kinds(closeInterruptedTurn(events))).toEqual(['a TOOL_NOT_STARTED', 'b TOOL_NOT_STARTED', 'turn/end'])
    }
  })

  test('gives one to a call that a rewritten answer still asks for', () => {
    const closing = close(session => {
      session.append('step/start', { turn: 1, step: 1 })
      session.append('assistant/message', assistant('long', ['a', 'b', 'c']), APPEND) // 3
      session.append('tool/call', call('a')) // 4
      session.append('assistant/message', assistant('short', ['a', 'b']), replaces(3, 3, [3])) // 5
    })
    expect(kinds(closing)).toEqual(['a TOOL_OUTCOME_UNKNOWN', 'b TOOL_NOT_STARTED', 'step/end', 'turn/end'])
    expect(closing.map(event => event.sourceEventSeqs?.[0])).toEqual([4, 5, undefined, undefined])
  })

  test('a call id that comes again belongs to the youngest open call', () => {
    const closing = close(session => {
      for (const step of [1, 2]) {
        session.append('step/start', { turn: 1, step })
        session.append('assistant/message', assistant('', ['a'], step), APPEND)
        const { seq } = session.append('tool/call', call('a', step))
        if (step === 2) break
        session.append('tool/result', result('a'), { surfaceOp: 'append', sourceEventSeqs: [seq] })
        session.append('step/end', { turn: 1, step })
      }
    })
    expect(kinds(closing)).toEqual(['a TOOL_OUTCOME_UNKNOWN', 'step/end', 'turn/end'])
    expect(closing[0]).toMatchObject({ data: { step: 2 }, sourceEventSeqs: [9] })
  })

  test('of two open calls of one id, what began is the younger', () => {
    const closing = close(session => {
      session.append('assistant/message', assistant('', ['a']), APPEND) // 2
      session.append('assistant/message', assistant('', ['a'], 2), APPEND) // 3
      session.append('tool/call', call('a', 2)) // 4
    })
    expect(kinds(closing)).toEqual(['a TOOL_NOT_STARTED', 'a TOOL_OUTCOME_UNKNOWN', 'turn/end'])
    expect(closing.map(event => event.sourceEventSeqs?.[0])).toEqual([2, 4, undefined])
  })

  test('rewriting an old result does not answer a new call of the same id', () => {
    const closing = close(session => {
      session.append('assistant/message', assistant('', ['a']), APPEND) // 2
      session.append('tool/result', result('a'), APPEND) // 3
      session.append('assistant/message', assistant('', ['a'], 2), APPEND) // 4
      session.append('tool/result', result('a', 'short'), replaces(3, 3, [3]))
    })
    expect(kinds(closing)).toEqual(['a TOOL_NOT_STARTED', 'turn/end'])
    expect(closing[0]?.sourceEventSeqs).toEqual([4])
  })

  test('a result that was rewritten stays an answer', () => {
    const closing = close(session => {
      session.append('assistant/message', assistant('', ['a']), APPEND) // 2
      session.append('tool/result', result('a'), APPEND) // 3
      session.append('tool/result', result('a', 'short'), replaces(3, 3, [3]))
    })
    expect(kinds(closing)).toEqual(['turn/end'])
  })

  test('leaves an open compaction alone', () => {
    const closing = close(session => session.append('compaction/start', { start: 1, end: 1, seqs: [1] }))
    expect(kinds(closing)).toEqual(['turn/end'])
  })

  test.each<[name: string, events: [type: string, data: object][], closing: object[]]>([
    [
      'a turn and a step without numbers',
      [
        ['turn/start', {}],
        ['step/start', {}],
      ],
      [{}, { reason: INTERRUPTED }],
    ],
    [
      'parts that are none, and a call without an id',
      [
        ['turn/start', { turn: 1 }],
        ['assistant/message', odd(null, 1, 'x', [], {}, { type: 'tool-call' }, { type: 'tool-call', toolCallId: 7 })],
      ],
      [{ turn: 1, reason: INTERRUPTED }],
    ],
    [
      'a message without a step, whose call has no name and settled without an output',
      [
        ['turn/start', { turn: 1 }],
        ['assistant/message', odd({ type: 'tool-call', toolCallId: 'a' })],
        ['tool/call', { toolCallId: 'a' }],
        ['tool/settled', { toolCallId: 'a' }],
      ],
      [
        expect.objectContaining({ toolCallId: 'a', error: expect.objectContaining({ code: 'TOOL_OUTCOME_UNKNOWN' }) }),
        { turn: 1, reason: INTERRUPTED },
      ],
    ],
  ])('closes what the kernel admits: %s', (_, events, closing) => {
    const seed = events.map(([type, data], seq) => {
      return { seq, time: 1, type, data, ...(type === 'assistant/message' && APPEND) } as SessionEvent
    })
    const added = closeInterruptedTurn(Session.create({ seed }).events)
    expect(added.map(({ data }) => data)).toEqual(closing)
    expect(closeInterruptedTurn(Session.create({ seed: [...seed, ...added] }).events)).toEqual([])
  })

  test('leaves the surface as it was but for the results', () => {
    const session = Session.create({ seed: LOGS['calls side by side']!.slice(0, 15) })
    const before = session.surface.seqs()
    const closing = closeInterruptedTurn(session.events)
    const closed = Session.create({ seed: [...session.events, ...closing] })
    const results = closing.filter(event => event.type === 'tool/result').map(event => event.seq)
    expect(closed.surface.seqs()).toEqual([...before, ...results])
  })
})

// --- internal ---

/** An answer that says nothing about itself but these parts. */
function odd(...content: unknown[]): object {
  return { message: { role: 'assistant', content } }
}

function count(events: readonly SessionEvent[], type: string): number {
  return events.filter(event => event.type === type).length
}

function sameStep(data: object, turn: number, step: number): boolean {
  const found = data as { turn?: number; step?: number }
  return found.turn === turn && found.step === step
}

/** Ids of the calls that the model sees, and of their results, in the order of each. */
function callsAndResults(messages: readonly Message[]): { asked: string[]; answered: string[] } {
  const parts = messages.flatMap(({ role, content }) => content.map(part => ({ role, part })))
  return {
    asked: parts.flatMap(({ role, part }) =>
      role === 'assistant' && part.type === 'tool-call' ? [part.toolCallId] : [],
    ),
    answered: parts.flatMap(({ role, part }) =>
      role === 'tool' && part.type === 'tool-result' ? [part.toolCallId] : [],
    ),
  }
}
