import type { Session, SessionEvent, ToolOutput } from '@palimpsest/session'
import { type OpenSession, openSession } from '../open-session.js'
import { type Check, holds, same, type TestStore } from './check.js'
import {
  addAssistant,
  addCall,
  addResult,
  addSettled,
  addTurn,
  addUser,
  conversation,
  newSession,
  readLog,
  stored,
} from './fixtures.js'

/** A session that stopped in mid-turn is closed with the truth, durably, before it is handed out. */
export function checkRecovery(check: Check): void {
  const interrupted = (what: string, build: (session: Session) => void, expected: Expected[]) =>
    check(`recovery: ${what}`, store => recovers(store, build, expected))

  check('recovery: nothing open, nothing written', async ({ backend, reopen }) => {
    const session = await stored(backend, conversation())
    const { report, close } = await openSession(await reopen(), 'kit')
    same(report, { damage: [], repaired: [], readOnly: false }, 'report')
    await close()
    same((await readLog(backend)).events, session.events, 'events')
  })

  interrupted('a turn that had only begun is closed as interrupted', () => {}, [['turn/end']])

  interrupted('an open step is closed before its turn', session => addStep(session), [['step/end'], ['turn/end']])

  interrupted('an answer without calls gets no result', session => addAnswer(session, []), [['step/end'], ['turn/end']])

  interrupted('a call that never began was not started', session => addAnswer(session, ['a']), [
    ['tool/result', 'call-9-a', 'TOOL_NOT_STARTED', 'assistant/message'],
    ['step/end'],
    ['turn/end'],
  ])

  interrupted(
    'a call that began has an unknown outcome',
    session => {
      addAnswer(session, ['a'])
      addCall(session, 9, 1, 'a')
    },
    [['tool/result', 'call-9-a', 'TOOL_OUTCOME_UNKNOWN', 'tool/call'], ['step/end'], ['turn/end']],
  )

  interrupted(
    'a settled call gets its true result',
    session => {
      addAnswer(session, ['a'])
      addCall(session, 9, 1, 'a')
      addSettled(session, 9, 1, 'a', SETTLED)
    },
    [['tool/result', 'call-9-a', SETTLED, 'tool/call'], ['step/end'], ['turn/end']],
  )

  interrupted(
    'a settled fault is a true result too',
    session => {
      addAnswer(session, ['a'])
      addCall(session, 9, 1, 'a')
      const fault = { code: 'TOOL_FAILED', message: 'It broke.' }
      addSettled(session, 9, 1, 'a', { type: 'error-text', value: 'It broke.' }, fault)
    },
    [['tool/result', 'call-9-a', 'TOOL_FAILED', 'tool/call'], ['step/end'], ['turn/end']],
  )

  interrupted('a call that is no longer visible gets none', session => hideAnswer(session), [
    ['step/end'],
    ['turn/end'],
  ])

  interrupted(
    'a compaction that was under way is left alone',
    session => {
      addStep(session)
      const [start = 0, end = 0] = session.surface.seqs()
      session.append('compaction/start', { start, end, seqs: [start, end] })
    },
    [['step/end'], ['turn/end']],
  )

  interrupted('a call that the provider ran gets none', session => addAnswer(session, ['provider:search']), [
    ['step/end'],
    ['turn/end'],
  ])

  interrupted(
    'an answered call gets no second result',
    session => {
      addAnswer(session, ['a'])
      addResult(session, 9, 1, addCall(session, 9, 1, 'a'), 'a')
    },
    [['step/end'], ['turn/end']],
  )

  interrupted(
    'all kinds at once, in the order of the calls',
    session => {
      addAnswer(session, ['done', 'ran', 'provider:search', 'early', 'never'])
      addResult(session, 9, 1, addCall(session, 9, 1, 'done'), 'done')
      addCall(session, 9, 1, 'early')
      addCall(session, 9, 1, 'ran')
      addSettled(session, 9, 1, 'early', SETTLED)
    },
    [
      ['tool/result', 'call-9-ran', 'TOOL_OUTCOME_UNKNOWN', 'tool/call'],
      ['tool/result', 'call-9-early', SETTLED, 'tool/call'],
      ['tool/result', 'call-9-never', 'TOOL_NOT_STARTED', 'assistant/message'],
      ['step/end'],
      ['turn/end'],
    ],
  )

  check('recovery: a second opening finds nothing to repair', async ({ backend, reopen }) => {
    await storeInterrupted(backend, session => addAnswer(session, ['a']))
    const first = await openSession(backend, 'kit')
    await first.close()
    const second = await openSession(await reopen(), 'kit')
    same(second.report.repaired, [], 'repaired')
    same(second.session.events, first.session.events, 'events')
    await second.close()
  })

  check('recovery: an opening that dies in the repair can be repeated', async ({ backend, reopen }) => {
    await storeInterrupted(backend, session => addAnswer(session, ['a', 'b']))
    const first = await openSession(backend, 'kit')
    const { length } = first.session
    await first.close()
    await storeInterrupted(
      backend,
      session => addAnswer(session, ['a', 'b']),
      'torn',
      first.report.repaired.slice(0, 1),
    )
    const again = await openSession(await reopen(), 'torn')
    same(again.session.events, first.session.slice(0, length), 'events')
    await again.close()
  })

  check('recovery: the session goes on after the repair and reloads as it was', async ({ backend, reopen }) => {
    await storeInterrupted(backend, session => addAnswer(session, ['a']))
    const first = await openSession(backend, 'kit')
    addTurn(first.session, 10)
    await first.close()
    const second = await openSession(await reopen(), 'kit')
    same(second.session.events, first.session.events, 'events')
    same(second.session.deriveMessages(), first.session.deriveMessages(), 'messages')
    same(second.session.requestAt(second.session.length), first.session.requestAt(first.session.length), 'request')
    await second.close()
  })
}

// --- internal ---

/** The codes of results that nobody gave. */
const MADE_UP = new Set(['TOOL_NOT_STARTED', 'TOOL_OUTCOME_UNKNOWN'])

const SETTLED: ToolOutput = { type: 'json', value: { found: ['early'] } }

/** Type; for a result also its call, its error code or true output, and the type of its only source. */
type Expected = [type: string, toolCallId?: string, outcome?: string | ToolOutput, source?: string]

async function recovers(
  { backend, reopen }: TestStore,
  build: (session: Session) => void,
  expected: Expected[],
): Promise<void> {
  const before = await storeInterrupted(backend, build)
  const other = await reopen()
  const opened = await openSession(other, 'kit')
  const { session, report } = opened
  same((await readLog(backend)).events, session.events, 'what is durable once it is open')
  same(session.slice(0, before.length), before.events, 'the events before the repair')
  same(session.slice(before.length), report.repaired, 'the repaired events')
  same(
    report.repaired.map(event => summary(session, event)),
    expected,
    'the repair',
  )
  const { time } = before.at(before.length - 1)!
  for (const event of report.repaired) checkClosing(opened, event, time)
  const end = session.at(session.length - 1)
  same(end?.data, { turn: 9, reason: { kind: 'interrupted' } }, 'the end of the turn')
  await opened.close()
}

function checkClosing({ session }: OpenSession, event: SessionEvent, time: number): void {
  same(event.time, time, `the time of ${event.type}, that of the last event`)
  holds(session.at(event.seq) === event, `expected the report to hold the session’s own event ${event.seq}`)
  if (event.type !== 'tool/result') return
  holds(session.surface.has(event.seq), `expected the result at ${event.seq} to be visible`)
  const isMadeUp = MADE_UP.has(event.data.error?.code ?? '')
  same(event.data.synthetic, isMadeUp ? true : undefined, 'synthetic')
  const output = event.data.message.content[0]?.output
  if (isMadeUp) same(output?.type, 'error-text', 'the type of an output that nobody gave')
}

function summary(session: Session, event: SessionEvent): Expected {
  if (event.type !== 'tool/result') return [event.type]
  const { toolCallId, error, message } = event.data
  const source = event.sourceEventSeqs?.map(seq => session.at(seq)?.type).join()
  return [event.type, toolCallId, error?.code ?? message.content[0]!.output, source ?? 'none']
}

/** A finished turn, and turn 9, stopped where `build` stops. */
async function storeInterrupted(
  backend: TestStore['backend'],
  build: (session: Session) => void,
  id = 'kit',
  more: readonly SessionEvent[] = [],
): Promise<Session> {
  const session = conversation(id, 1)
  session.append('turn/start', { turn: 9 })
  addUser(session, 'Do it', 9)
  build(session)
  return stored(backend, newSession(id, { createdAt: session.header.createdAt }, [...session.events, ...more]))
}

function addStep(session: Session): void {
  session.append('step/start', { turn: 9, step: 1 })
}

function addAnswer(session: Session, calls: readonly string[]): void {
  addStep(session)
  addAssistant(session, 9, 1, calls)
}

/** An answer with a call that began, and a summary over both that answer and the question. */
function hideAnswer(session: Session): void {
  addAnswer(session, ['a'])
  addCall(session, 9, 1, 'a')
  const [start = 0, end = 0] = session.surface.seqs().slice(-2)
  const content = [{ type: 'text' as const, text: 'In short.' }]
  const intent = { surfaceOp: { op: 'replace' as const, start, end }, sourceEventSeqs: [start, end] }
  session.append('user/message', { message: { role: 'user', content } }, intent)
}
