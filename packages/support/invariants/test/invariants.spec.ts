import { type Agent, createHost } from '@palimpsest/host'
import * as all from '@palimpsest/invariants'
import { attachInvariants, checkLog, InvariantError, invariants, RELATIONS } from '@palimpsest/invariants'
import { closeInterruptedTurn, Session } from '@palimpsest/session'
import { describe, expect, test } from 'vitest'
import { APPEND, asks, begins, forged, lying, result, user, watched } from './samples.js'

const start = () => Session.create({ id: 's', now: () => 0 })

function wholeTurn(session: Session): void {
  session.append('turn/start', { turn: 1 })
  session.append('user/message', { turn: 1, ...user('go') }, APPEND)
  session.append('step/start', { turn: 1, step: 1 })
  session.append('request/header', { model: 'm', settings: {} })
  const chunk = session.append('assistant/chunk', {
    turn: 1,
    step: 1,
    chunk: { type: 'text-delta', id: '0', text: 'a' },
  })
  session.append('assistant/message', asks('a', 'b'), { ...APPEND, sourceEventSeqs: [chunk.seq] })
  const call = session.append('tool/call', begins('a'))
  session.append('tool/result', result('a'), { ...APPEND, sourceEventSeqs: [call.seq] })
  session.append('tool/result', result('b'), { ...APPEND, sourceEventSeqs: [chunk.seq + 1] })
  session.append('step/end', { turn: 1, step: 1 })
  session.append('turn/end', { turn: 1, reason: { kind: 'completed' } })
}

describe('the list', () => {
  test('holds each relation once, and each is exported by itself', () => {
    expect(RELATIONS.map(({ name }) => name)).toEqual([
      'seqs-dense',
      'turns-nest',
      'calls-pair',
      'status-legal',
      'scope-isolated',
      'request-rebuilds',
      'surface-folds',
      'provenance-holds',
    ])
    for (const relation of RELATIONS) {
      expect(Object.values(all)).toContain(relation)
      expect(relation.description).not.toBe('')
    }
  })
})

describe('a right session', () => {
  test('breaks nothing, attached before, in mid-turn, or after, and its log is the same bytes', async () => {
    const { host, errors, dispose } = await watched()
    const session = start()
    host.adopt(session)
    wholeTurn(session)
    const bare = start()
    wholeTurn(bare)
    expect(JSON.stringify(session.events)).toBe(JSON.stringify(bare.events))
    await dispose()
    for (let length = 0; length <= bare.length; length++) {
      const again = await watched()
      const half = Session.create({ header: bare.header, seed: bare.events.slice(0, length), now: () => 0 })
      again.host.adopt(half)
      for (const { type, data, sourceEventSeqs, surfaceOp } of bare.events.slice(length)) {
        const append = half.append.bind(half) as (...args: unknown[]) => unknown
        append(type, data, ...(surfaceOp ? [{ surfaceOp, ...(sourceEventSeqs && { sourceEventSeqs }) }] : []))
      }
      expect(again.errors).toEqual([])
    }
    expect(errors).toEqual([])
    expect(checkLog(bare)).toEqual([])
  })

  test('edits break nothing', async () => {
    const { host, errors } = await watched()
    const session = start()
    host.adopt(session)
    for (let i = 0; i < 100; i++) session.append('user/message', user(`m${i}`), APPEND)
    const sources = Array.from({ length: 50 }, (_, i) => i)
    const intent = { surfaceOp: { op: 'replace', start: 0, end: 49 }, sourceEventSeqs: sources } as const
    const { seq } = session.append('user/message', user('sum'), intent)
    session.append('surface/restore', {}, { surfaceOp: { op: 'restore', node: seq }, sourceEventSeqs: [seq] })
    session.append('user/message', user('last'), APPEND)
    expect(errors).toEqual([])
  })

  test('an answer may rest on what an importer kept of another format', () => {
    const answer = { ...asks(), message: { role: 'assistant', content: [{ type: 'text', text: 'a' }] } }
    const seed = [
      forged(0, 'turn/start', { turn: 1 }),
      forged(1, 'step/start', { turn: 1, step: 1 }),
      forged(2, 'import/other.chunk', { turn: 1, step: 1 }, { ignorable: true }),
      forged(3, 'assistant/message', answer, { ...APPEND, sourceEventSeqs: [2] }),
    ]
    expect(checkLog(Session.create({ seed }))).toEqual([])
  })

  test('what is disposed hears nothing more', async () => {
    const { host, errors, dispose } = await watched()
    await dispose()
    const session = start()
    host.adopt(session)
    session.append('turn/end', { turn: 5, reason: { kind: 'completed' } })
    expect(errors).toEqual([])
  })
})

/** What is appended after a sound beginning, and the one relation that it breaks. */
const BREAKS: [string, string, (session: Session) => void][] = [
  ['turns-nest', 'a turn that skips a number', s => s.append('turn/start', { turn: 2 })],
  ['turns-nest', 'an end without a turn', s => s.append('turn/end', { turn: 1, reason: { kind: 'completed' } })],
  ['turns-nest', 'a step outside a turn', s => s.append('step/start', { turn: 1, step: 1 })],
  ['turns-nest', 'a turn in a turn', s => [1, 2].map(turn => s.append('turn/start', { turn }))],
  [
    'turns-nest',
    'a step that skips a number',
    s => [s.append('turn/start', { turn: 1 }), s.append('step/start', { turn: 1, step: 2 })],
  ],
  [
    'turns-nest',
    'an end with an open step',
    s => [
      s.append('turn/start', { turn: 1 }),
      s.append('step/start', { turn: 1, step: 1 }),
      s.append('turn/end', { turn: 1, reason: { kind: 'completed' } }),
    ],
  ],
  [
    'turns-nest',
    'a message of another turn',
    s => [s.append('turn/start', { turn: 1 }), s.append('steering/message', { turn: 3, ...user('x') }, APPEND)],
  ],
  [
    'calls-pair',
    'a call without a result',
    s => [inStep(s), s.append('assistant/message', asks('a'), APPEND), s.append('step/end', { turn: 1, step: 1 })],
  ],
  ['calls-pair', 'a result that nobody asked for', s => [inStep(s), s.append('tool/result', result('a'), APPEND)]],
  [
    'calls-pair',
    'two results',
    s => [
      inStep(s),
      s.append('assistant/message', asks('a'), APPEND),
      ...[1, 2].map(() => s.append('tool/result', result('a'), APPEND)),
    ],
  ],
  [
    'calls-pair',
    'a call that begins twice',
    s => [
      inStep(s),
      s.append('assistant/message', asks('a'), APPEND),
      ...[1, 2].map(() => s.append('tool/call', begins('a'))),
    ],
  ],
  ['calls-pair', 'a call that nobody asked for', s => [inStep(s), s.append('tool/call', begins('a'))]],
  [
    'calls-pair',
    'a settled call that never began',
    s => [
      inStep(s),
      s.append('assistant/message', asks('a'), APPEND),
      s.append('tool/settled', { turn: 1, step: 1, toolCallId: 'a', output: { type: 'text', value: 'x' } }),
    ],
  ],
  [
    'provenance-holds',
    'an answer made of a message',
    s => [inStep(s), s.append('assistant/message', asks(), { ...APPEND, sourceEventSeqs: [0] })],
  ],
  [
    'provenance-holds',
    'a result of another call',
    s => [
      inStep(s),
      s.append('assistant/message', asks('a'), APPEND),
      s.append('tool/result', result('a'), { ...APPEND, sourceEventSeqs: [0] }),
    ],
  ],
]

function inStep(session: Session): void {
  session.append('turn/start', { turn: 1 })
  session.append('step/start', { turn: 1, step: 1 })
}

/** Closes what is open as far as the log says, and goes on with a turn of which nothing is wrong. */
function soundTurnAfter(session: Session): void {
  const edge = session.events.findLast(({ type }) => /^(turn|step)\//.test(type))?.type
  const closing = edge === 'step/end' ? [] : closeInterruptedTurn(session.events)
  const isStray = closing.length === 0 && edge?.startsWith('step/')
  for (const { type, data, sourceEventSeqs, surfaceOp } of closing) {
    const append = session.append.bind(session) as (...args: unknown[]) => unknown
    append(type, data, ...(surfaceOp ? [{ surfaceOp, ...(sourceEventSeqs && { sourceEventSeqs }) }] : []))
  }
  if (isStray && edge === 'step/start') session.append('step/end', { turn: 1, step: 1 })
  if (isStray) session.append('turn/end', { turn: 1, reason: { kind: 'completed' } })
  const last = session.events.findLast(({ type }) => type === 'turn/start' || type === 'turn/end')
  const turn = (last!.data as { turn: number }).turn + 1
  session.append('turn/start', { turn })
  session.append('user/message', { turn, ...user('go') }, APPEND)
  session.append('step/start', { turn, step: 1 })
  session.append('assistant/message', { ...asks('z'), turn }, APPEND)
  const { seq } = session.append('tool/call', { ...begins('z'), turn })
  session.append('tool/result', { ...result('z'), turn }, { ...APPEND, sourceEventSeqs: [seq] })
  session.append('step/end', { turn, step: 1 })
  session.append('turn/end', { turn, reason: { kind: 'completed' } })
}

describe('a broken log', () => {
  for (const [relation, name, act] of BREAKS) {
    test(`${relation}: ${name}, live, on attach, and in a stored log; judged afresh from there`, async () => {
      const { host, errors } = await watched()
      const session = start()
      host.adopt(session)
      act(session)
      expect(errors).toEqual([expect.any(InvariantError)])
      const [error] = errors as InvariantError[]
      expect(error).toMatchObject({ relation, sessionId: 's', name: 'InvariantError' })
      for (const seq of error!.seqs) expect(session.at(seq)).toBeDefined()
      expect(error!.seqs.length).toBeGreaterThan(0)

      const late: unknown[] = []
      const second = createHost({ onError: each => late.push(each) })
      second.adopt(session)
      await second.use(invariants)
      expect(late).toEqual([error])
      session.append('user/message', user('on'), APPEND)
      expect([errors.length, late.length]).toEqual([1, 1])
      expect(checkLog(session)).toEqual([error])
      soundTurnAfter(session)
      expect([errors.length, late.length, checkLog(session).length]).toEqual([1, 1, 1])
    })
  }
})

describe('a broken host', () => {
  test('seqs-dense: a gap and a repetition', async () => {
    const { host, broken } = await watched()
    const session = start()
    session.append('user/message', user('a'), APPEND)
    const gap = forged(3, 'request/header', { model: 'm', settings: {} })
    const fake = lying(session, { at: (seq: number) => (seq === 3 ? gap : session.at(seq)) })
    host.adopt(fake)
    host.emit('session/event', gap, fake)
    host.emit('session/event', gap, fake)
    expect(broken()).toEqual(['seqs-dense', 'seqs-dense'])
  })

  test('seqs-dense: a repetition of what was there before the plugin', async () => {
    const session = start()
    session.append('request/header', { model: 'm', settings: {} })
    const errors: unknown[] = []
    const host = createHost({ onError: error => errors.push(error) })
    host.adopt(session)
    await attachInvariants(host)
    host.emit('session/event', session.at(0)!, session)
    expect(errors).toMatchObject([{ relation: 'seqs-dense', seqs: [0] }])
  })

  test('surface-folds: a surface that lies', async () => {
    const { host, broken } = await watched()
    const session = start()
    const { surface } = session
    const fake = lying(session, { surface: { ...surface, seqs: () => [5], size: 1, last: 5 } })
    host.adopt(fake)
    session.append('user/message', user('a'), APPEND)
    expect(broken()).toContain('surface-folds')
  })

  test('surface-folds: a large surface whose middle lies, at the next end of a turn and at the next edit, once', async () => {
    for (const edits of [false, true]) {
      const { host, broken } = await watched()
      const session = start()
      let seqs = (real: readonly number[]) => real
      const { surface } = session
      const view = {
        get size() {
          return surface.size
        },
        get last() {
          return surface.last
        },
        seqs: () => seqs(surface.seqs()),
      }
      const fake = lying(session, { surface: view })
      host.adopt(fake)
      session.append('turn/start', { turn: 1 })
      for (let i = 0; i < 100; i++) session.append('user/message', user(`m${i}`), APPEND)
      seqs = real => [real[1]!, real[0]!, ...real.slice(2)]
      expect(broken()).toEqual([])
      const intent = { surfaceOp: { op: 'replace', start: 100, end: 100 }, sourceEventSeqs: [100] } as const
      if (edits) session.append('user/message', user('sum'), intent)
      session.append('turn/end', { turn: 1, reason: { kind: 'completed' } })
      expect(broken()).toEqual(['surface-folds'])
      session.append('user/message', user('on'), {
        surfaceOp: { op: 'replace', start: 50, end: 50 },
        sourceEventSeqs: [50],
      })
      expect(broken()).toEqual(['surface-folds'])
    }
  })

  test('surface-folds: markers that do not fold', async () => {
    const { host, broken } = await watched()
    const session = start()
    session.append('user/message', user('a'), APPEND)
    const bad = forged(1, 'user/message', user('b'), {
      surfaceOp: { op: 'replace', start: 7, end: 7 },
      sourceEventSeqs: [0],
    })
    const fake = lying(session, { length: 2, at: (seq: number) => (seq === 1 ? bad : session.at(seq)) })
    host.adopt(fake)
    expect(broken()).toEqual(['surface-folds'])
  })

  test('request-rebuilds: a request that was changed on its way', async () => {
    const { host, broken, errors } = await watched()
    const session = start()
    wholeTurn(session)
    const request = session.requestAt(session.length)!
    const at = { session, length: session.length }
    const agent = agentOf(session)
    host.emit('model/request', request, at, agent)
    host.emit('model/request', structuredClone(request), at, agent)
    expect(errors).toEqual([])
    host.emit('model/request', { ...request, model: 'other' }, at, agent)
    host.emit('model/request', request, { session, length: 3 }, agent)
    host.emit('model/request', request, { session, length: 99 }, agent)
    expect(broken()).toEqual(['request-rebuilds', 'request-rebuilds', 'request-rebuilds'])
  })

  test('status-legal: every illegal move', async () => {
    for (const [moves, count] of [
      [['running', 'idle', 'running', 'disposed'], 0],
      [['disposed'], 0],
      [['idle'], 1],
      [['running', 'running'], 1],
      [['disposed', 'running'], 1],
      [['disposed', 'disposed'], 1],
      [['running', 'disposed', 'idle'], 1],
    ] as const) {
      const { host, broken } = await watched()
      const agent = agentOf(start())
      host.emit('agent/created', agent)
      for (const status of moves) host.emit('agent/status', status, agent)
      expect(broken()).toEqual(Array(count).fill('status-legal'))
    }
  })

  test('scope-isolated: an event told of a session that does not hold it', async () => {
    const { host, broken } = await watched()
    const [mine, other] = [start(), Session.create({ id: 't', now: () => 0 })]
    const event = other.append('user/message', user('a'), APPEND)
    host.emit('session/event', event, mine)
    expect(broken()).toEqual(['scope-isolated'])
  })

  test('attachInvariants is host.use of the plugin', async () => {
    const host = createHost()
    const { dispose } = await attachInvariants(host)
    await dispose()
    expect(invariants.name).toBe('invariants')
  })
})

function agentOf(session: Session): Agent {
  return { id: 'a', session, status: 'idle' } as unknown as Agent
}
