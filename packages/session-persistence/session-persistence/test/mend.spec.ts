import { Session, type SessionEvent } from '@palimpsest/session'
import { createMemoryBackend, createSession, type Damage, mendSession, planMend } from '@palimpsest/session-persistence'
import { describe, expect, it } from 'vitest'
import { over } from './backends.js'
import { randomSession, seededRandom, userText } from './random-log.js'

const append = { surfaceOp: 'append' as const }

type Fill = (session: Session) => void

/** What can be read of a log that has lost some events. */
function without(lost: readonly number[], fill: Fill, damage: Damage[] = []) {
  const session = Session.create({ id: 'old', header: { cwd: '/project' }, now: () => 5 })
  fill(session)
  const events = session.events.filter(({ seq }) => !lost.includes(seq))
  return { header: session.header, events, length: session.length, damage }
}

const mend = (lost: readonly number[], fill: Fill, damage?: Damage[]) => planMend('old', without(lost, fill, damage))!

/** Valid, and what is visible in it: the type and the texts. */
function surfaceOf(events: readonly SessionEvent[]): string[] {
  const session = Session.create({ seed: events })
  return session.deriveMessages().map(({ content }) => {
    const [part] = content as { text?: string; output?: { value: string }; toolName?: string }[]
    return part?.text ?? part?.output?.value ?? ''
  })
}

const say = (session: Session, text: string) => session.append('user/message', { message: userText(text) }, append).seq
const replace = (session: Session, text: string, start: number, end: number, sources: number[]) =>
  session.append(
    'user/message',
    { message: userText(text) },
    {
      surfaceOp: { op: 'replace', start, end },
      sourceEventSeqs: sources,
    },
  ).seq

/** `a b c d`, then `b c` replaced by `bc`. */
const edited: Fill = session => {
  for (const text of ['a', 'b', 'c', 'd']) say(session, text)
  replace(session, 'bc', 1, 2, [1, 2])
}

/** A turn with two calls and their results. */
const called: Fill = session => {
  session.append('turn/start', { turn: 1 }) // 0
  say(session, 'go') // 1
  session.append('step/start', { turn: 1, step: 1 }) // 2
  const calls = ['a', 'b'].map(toolCallId => ({ type: 'tool-call' as const, toolCallId, toolName: 'read', input: {} }))
  const message = { role: 'assistant' as const, content: calls }
  session.append('assistant/message', { turn: 1, step: 1, finishReason: 'tool-calls', message }, append) // 3
  for (const toolCallId of ['a', 'b']) {
    session.append('tool/call', { turn: 1, step: 1, toolCallId, toolName: 'read', arguments: '{}' }) // 4, 6
    const output = { type: 'text' as const, value: `result ${toolCallId}` }
    const content = [{ type: 'tool-result' as const, toolCallId, toolName: 'read', output }]
    session.append(
      'tool/result', // 5, 7
      { turn: 1, step: 1, toolCallId, message: { role: 'tool', content } },
      { ...append, sourceEventSeqs: [session.length - 1] },
    )
  }
  session.append('step/end', { turn: 1, step: 1 }) // 8
  session.append('turn/end', { turn: 1, reason: { kind: 'completed' } }) // 9
}

const typesOf = (events: readonly SessionEvent[]) => events.map(({ type }) => type)

describe('planMend', () => {
  it('puts one log/lost in the place of each hole, with its bytes, and keeps the header but for what was its own', () => {
    const damage = [
      { code: 'LOG_HOLE', where: { seq: 1 }, bytes: 120, kept: 'aside' },
      { code: 'RECORD_DAMAGED', where: { seq: 3 }, bytes: 7, kept: null },
    ]
    const plan = mend([1, 3], edited, damage)
    expect(plan.header).toEqual({ cwd: '/project', importedFrom: { format: 'palimpsest', id: 'old' } })
    expect(plan.holes).toEqual([
      { from: 1, to: 2, bytes: 120, kept: 'aside' },
      { from: 3, to: 4, bytes: 7, kept: null },
    ])
    expect(plan.events.filter(({ type }) => type === 'log/lost').map(({ data }) => data)).toEqual(plan.holes)
    expect(plan.events.slice(0, 1)).toEqual(without([], edited).events.slice(0, 1))
  })

  it('finds nothing to mend in a whole log, nor in one with a bad tail only', () => {
    expect(mend([], edited)).toBeUndefined()
    const torn = { code: 'RECORD_TORN', where: { seq: 5 }, bytes: 9, kept: null }
    expect(mend([], edited, [torn])).toBeUndefined()
  })

  it('rewrites a log whose bad bytes stand between good records, although no event is lost', () => {
    const plan = mend([], edited, [{ code: 'SEQ_REPEATED', where: { seq: 3 }, bytes: 9, kept: null }])
    expect(plan.events).toEqual(without([], edited).events)
    expect(plan.holes).toEqual([])
  })

  it('makes a header where the old one is lost', () => {
    const log = without([], edited)
    const lost = { code: 'HEADER_DAMAGED', where: { line: 1, offset: 0 }, bytes: 70, kept: null }
    const plan = planMend('old', { events: log.events, length: log.length, damage: [lost] })!
    expect(plan.header).toEqual({ importedFrom: { format: 'palimpsest', id: 'old' } })
    expect(plan.events).toEqual(log.events)
  })

  it.each<[string, number[], string[]]>([
    ['keeps the edit over what is left of its range: the start is lost', [1], ['a', 'bc', 'd']],
    ['keeps the edit over what is left of its range: the end is lost', [2], ['a', 'bc', 'd']],
    ['makes an append of an edit whose range is lost', [1, 2], ['a', 'd', 'bc']],
    ['shows what a lost edit had shadowed', [4], ['a', 'b', 'c', 'd']],
    ['goes on from nothing', [0, 1, 2, 3], ['bc']],
  ])('%s', (_, lost, visible) => {
    const { events, holes } = mend(lost, edited)
    expect(surfaceOf(events)).toEqual(visible)
    const losses = new Set(events.filter(({ type }) => type === 'log/lost').map(({ seq }) => seq))
    const edit = events.findLast(({ type }) => type === 'user/message')!
    const isCut = lost.some(seq => seq === 1 || seq === 2)
    expect(edit.sourceEventSeqs?.some(seq => losses.has(seq)) ?? false).toBe(isCut)
    expect(holes.length).toBe(losses.size)
  })

  it('shadows what stands between two known ends only because the edit over it is lost', () => {
    const { events } = mend([4], session => {
      edited(session)
      replace(session, 'all', 0, 3, [0, 4, 3])
    })
    expect(surfaceOf(events)).toEqual(['all'])
  })

  it('undoes an edit again, and leaves out an undone one whose range is lost, and the undoing', () => {
    const undone: Fill = session => {
      edited(session)
      session.append('surface/restore', {}, { surfaceOp: { op: 'restore', node: 4 }, sourceEventSeqs: [4] })
    }
    expect(surfaceOf(mend([0], undone).events)).toEqual(['b', 'c', 'd'])
    const gone = mend([1, 2], undone)
    expect(surfaceOf(gone.events)).toEqual(['a', 'd'])
    expect(gone.leftOut).toEqual([4, 5])
    expect(mend([4], undone).leftOut).toEqual([5])
  })

  it('names moved seqs in the traces of an edit', () => {
    const { events } = mend([1, 2], session => {
      for (const text of ['a', 'b', 'c', 'd', 'e']) say(session, text)
      session.append('compaction/start', { start: 3, end: 4, seqs: [3, 4] }) // 5
      const node = replace(session, 'de', 3, 4, [3, 4]) // 6
      session.append('compaction/end', { start: 5, node })
    })
    const [start, end] = ['compaction/start', 'compaction/end'].map(type => events.find(event => event.type === type)!)
    expect(start!.data).toEqual({ start: 2, end: 3, seqs: [2, 3] })
    expect(end!.data).toEqual({ start: start!.seq, node: start!.seq + 1 })
  })

  it('says of a call whose result is lost that nobody knows its outcome, in the order of the calls', () => {
    const { events } = mend([5], called)
    expect(typesOf(events).slice(3)).toEqual([
      'assistant/message', // 3
      'tool/call', // 4
      'log/lost', // 5
      'tool/result', // 6
      'tool/call',
      'tool/result',
      'step/end',
      'turn/end',
    ])
    expect(events[6]).toMatchObject({
      data: { toolCallId: 'a', synthetic: true, error: { code: 'TOOL_OUTCOME_UNKNOWN' } },
      sourceEventSeqs: [4, 5],
    })
    expect(events[8]).toMatchObject({ data: { toolCallId: 'b' }, sourceEventSeqs: [7] })
  })

  it('adds no result where the true one is behind the hole, and takes a settled one for true', () => {
    expect(typesOf(mend([4], called).events).filter(type => type === 'tool/result')).toHaveLength(2)
    const settled = mend([5], session => {
      session.append('turn/start', { turn: 1 })
      session.append('step/start', { turn: 1, step: 1 })
      const part = { type: 'tool-call' as const, toolCallId: 'a', toolName: 'read', input: {} }
      const message = { role: 'assistant' as const, content: [part] }
      session.append('assistant/message', { turn: 1, step: 1, finishReason: 'tool-calls', message }, append)
      session.append('tool/call', { turn: 1, step: 1, toolCallId: 'a', toolName: 'read', arguments: '{}' })
      const output = { type: 'text' as const, value: 'true' }
      session.append('tool/settled', { turn: 1, step: 1, toolCallId: 'a', output })
      session.append('step/end', { turn: 1, step: 1 }) // 5
      session.append('turn/end', { turn: 1, reason: { kind: 'completed' } })
    })
    expect(settled.events[6]!.data).not.toHaveProperty('synthetic')
    expect(surfaceOf(settled.events)).toEqual(['', 'true'])
  })

  it('puts a rewritten result in the place of the lost one', () => {
    const { events } = mend([5], session => {
      called(session)
      const content = [
        {
          type: 'tool-result' as const,
          toolCallId: 'a',
          toolName: 'read',
          output: { type: 'text' as const, value: 'short' },
        },
      ]
      session.append(
        'tool/result',
        { turn: 1, step: 1, toolCallId: 'a', message: { role: 'tool', content } },
        { surfaceOp: { op: 'replace', start: 5, end: 5 }, sourceEventSeqs: [5] },
      )
    })
    expect(surfaceOf(events)).toEqual(['go', '', 'short', 'result b'])
  })

  it('answers the calls of an open turn whose start is lost', () => {
    const { header, events, damage } = without([0], called)
    const plan = planMend('old', { header, events: events.slice(0, 5), length: 6, damage })!
    const types = [
      'log/lost',
      'user/message',
      'step/start',
      'assistant/message',
      'tool/call',
      'tool/result',
      'tool/result',
    ]
    expect(typesOf(plan.events)).toEqual(types)
    expect(plan.events.at(-1)).toMatchObject({
      data: { toolCallId: 'b', synthetic: true, error: { code: 'TOOL_OUTCOME_UNKNOWN' } },
      sourceEventSeqs: [3, 0],
    })
  })

  it('closes the turn at the end', () => {
    const { events } = mend([8], session => called(session))
    expect(typesOf(events).slice(8)).toEqual(['log/lost', 'turn/end'])
    const open = mend([1], session => {
      session.append('turn/start', { turn: 1 })
      say(session, 'go')
      session.append('step/start', { turn: 1, step: 1 })
    })
    expect(typesOf(open.events)).toEqual(['turn/start', 'log/lost', 'step/start', 'step/end', 'turn/end'])
  })

  it('keeps events of types that it does not know as they were', () => {
    const log = without([1], edited)
    const foreign = { seq: 5, time: 9, type: 'future/fact', data: { deep: [1] } } as never as SessionEvent
    const plan = planMend('old', { ...log, events: [...log.events, foreign], length: 6 })!
    expect(plan.unknown).toEqual(['future/fact'])
    expect(plan.events.at(-1)).toEqual({ ...foreign, seq: plan.events.length - 1 })
  })

  it('takes an event that the kernel refuses for lost, where it stands', () => {
    const log = without([], edited)
    const odd = log.events.map(event => (event.seq === 2 ? { ...event, surfaceOp: undefined } : event))
    const plan = planMend('old', { ...log, events: odd as SessionEvent[] })!
    expect(plan.holes).toMatchObject([{ from: 2, to: 3, kept: null }])
    expect(surfaceOf(plan.events)).toEqual(['a', 'bc', 'd'])
  })

  it('marks a log that has no marks at all', () => {
    const log = without([], session => {
      say(session, 'a')
      session.append('turn/start', { turn: 1 })
      say(session, 'b')
    })
    const unmarked = log.events.map(({ surfaceOp: _, ...event }) => event as SessionEvent)
    const plan = planMend('old', { ...log, events: unmarked })!
    expect([plan.holes, plan.leftOut, surfaceOf(plan.events)]).toEqual([[], [], ['a', 'b']])
  })

  it.each<[what: string, changed: object]>([
    ['a time that is none', { time: Number.POSITIVE_INFINITY }],
    ['a time that JSON loses', { time: -0 }],
    ['data that JSON loses', { data: { message: userText('b'), turn: -0 } }],
    ['a member that nobody knows', { note: 1 }],
    ['a mark that is none', { surfaceOp: null }],
    ['sources that are none', { sourceEventSeqs: 'a' }],
    ['ignorable: false', { ignorable: false }],
  ])('takes an event with %s for lost', (_, changed) => {
    const log = without([], edited)
    const odd = log.events.map(event => (event.seq === 1 ? { ...event, ...changed } : event)) as SessionEvent[]
    const plan = planMend('old', { ...log, events: odd })!
    expect(plan.holes).toMatchObject([{ from: 1, to: 2, kept: null }])
    expect(surfaceOf(plan.events)).toEqual(['a', 'bc', 'd'])
    const behind = planMend('old', { ...log, events: odd.slice(1) })!
    expect([behind.holes[0], behind.leftOut]).toMatchObject([{ from: 0, to: 1 }, [1]])
  })

  it('takes a result that no session can hold for lost, and what was settled with it', () => {
    const log = without([], called)
    const odd = log.events.map(event =>
      event.type === 'tool/result' ? { ...event, data: { ...event.data, message: null } } : event,
    ) as SessionEvent[]
    const plan = planMend('old', { ...log, events: odd })!
    expect(surfaceOf(plan.events).filter(text => text.includes('outcome is unknown'))).toHaveLength(2)
  })

  it('gives a valid log with all that is readable and nothing invented, whatever is lost of whatever log', () => {
    for (let seed = 1; seed <= 400; seed++) {
      const random = seededRandom(seed)
      const session = randomSession(random)
      const lost = session.events.map(({ seq }) => seq).filter(() => random(10) === 0)
      const events = session.events.filter(({ seq }) => !lost.includes(seq))
      const plan = planMend('random', { header: session.header, events, length: session.length, damage: [] })
      if (lost.length === 0) expect(plan, `seed ${seed}`).toBeUndefined()
      else check(session, lost, events, plan!, seed)
    }
  })
})

describe('mendSession', () => {
  it('writes a new session once, finds nothing in it, and leaves the old one alone', async () => {
    const base = createMemoryBackend()
    const log = without([1], edited)
    const backend = over(base, { read: async (id, range) => (id === 'old' ? log : base.read(id, range)) })
    const mended = await mendSession(backend, 'old', { id: 'new' })
    expect(mended).toMatchObject({ id: 'new', length: 5, leftOut: [], unknown: [] })
    expect((await base.read('new'))!.header).toMatchObject({ id: 'new', importedFrom: { id: 'old' } })
    expect(await mendSession(base, 'new')).toBeUndefined()
    await expect(mendSession(backend, 'old', { id: 'new' })).rejects.toMatchObject({ code: 'SESSION_EXISTS' })
    await expect(mendSession(base, 'nobody')).rejects.toMatchObject({ code: 'SESSION_NOT_FOUND' })
    await expect(mendSession(base, '../x')).rejects.toMatchObject({ code: 'SESSION_ID_INVALID' })
  })

  it('looks through a store that can be scanned by its scan', async () => {
    const base = createMemoryBackend()
    await (await createSession(base, { id: 'taken' })).close()
    const { events, ...rest } = without([2], edited)
    const backend = over(base, {})
    backend.scan = async (_, onEvents) => {
      for (const event of events) await onEvents([event])
      return rest
    }
    expect(await mendSession(backend, 'taken')).toMatchObject({ holes: [{ from: 2, to: 3 }] })
  })
})

// --- internal ---

function check(old: Session, lost: readonly number[], events: readonly SessionEvent[], plan: Plan, seed: number): void {
  const told = `seed ${seed}, lost ${lost}`
  const mended = Session.create({ seed: plan.events })
  expect(
    plan.holes.flatMap(({ from, to }) => Array.from({ length: to - from }, (_, i) => from + i)),
    told,
  ).toEqual(lost)
  // Everything that is readable, in its order, and between it only what says what is lost.
  const added: SessionEvent[] = []
  const wanted = events.filter(({ seq }) => !plan.leftOut.includes(seq))
  let next = 0
  for (const event of plan.events) {
    if (next < wanted.length && isSame(event, wanted[next]!)) next++
    else added.push(event)
  }
  expect(next, told).toBe(wanted.length)
  for (const event of added) expect([...ADDED, 'step/end', 'turn/end'], told).toContain(event.type)
  const results = added.filter(event => event.type === 'tool/result')
  for (const { data } of results) expect(isTruthful(data, old), told).toBe(true)
  expect(planMend('again', { events: plan.events, length: plan.events.length, damage: [] }), told).toBeUndefined()
  // What the model saw and can be read it sees, unless it saw it only since an edit was undone that nobody knows to be.
  if (lost.some(seq => old.at(seq)!.type === 'surface/restore')) return
  const visible = new Set(mended.surface.seqs().map(seq => JSON.stringify(plan.events[seq]!.data)))
  for (const seq of old.surface.seqs()) {
    if (!lost.includes(seq)) expect(visible, told).toContain(JSON.stringify(old.at(seq)!.data))
  }
}

type Plan = NonNullable<ReturnType<typeof planMend>>

const ADDED = ['log/lost', 'tool/result']

function isSame(a: SessionEvent, b: SessionEvent): boolean {
  const isTrace = a.type === 'compaction/start'
  return a.type === b.type && a.time === b.time && (isTrace || JSON.stringify(a.data) === JSON.stringify(b.data))
}

/** Nobody's result, said to be so; or the one that was settled. */
function isTruthful(data: SessionEvent<'tool/result'>['data'], old: Session): boolean {
  if (data.synthetic) return ['TOOL_OUTCOME_UNKNOWN', 'TOOL_NOT_STARTED'].includes(data.error!.code)
  const [part] = data.message.content
  const output = JSON.stringify((part as { output: unknown }).output)
  return old.events.some(event => event.type === 'tool/settled' && JSON.stringify(event.data.output) === output)
}
