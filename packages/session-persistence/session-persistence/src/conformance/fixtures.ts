import { type Fault, Session, type SessionEvent, type SessionHeader, type ToolOutput } from '@palimpsest/session'
import type { Lease, SessionBackend, SessionSummary, StoredLog } from '../port.js'
import { holds } from './check.js'

/** 2023-11-14, and a millisecond more with each event: the kit knows every time. */
export const START = 1_700_000_000_000

export function newSession(
  id = 'kit',
  header: Partial<SessionHeader> = {},
  seed: readonly SessionEvent[] = [],
): Session {
  let time = START
  return Session.create({ id, header, seed, now: () => time++ })
}

export function addUser(session: Session, text: string, turn = 1): SessionEvent {
  const message = { role: 'user' as const, content: [{ type: 'text' as const, text }] }
  return session.append('user/message', { turn, message }, { surfaceOp: 'append' })
}

/** The assistant's answer with one call for each name; `provider:` before a name: run by the provider. */
export function addAssistant(
  session: Session,
  turn: number,
  step: number,
  calls: readonly string[] = [],
): SessionEvent {
  const chunk = session.append('assistant/chunk', { turn, step, chunk: { type: 'text-delta', id: '0', text: 'So.' } })
  const parts = calls.map(name => {
    const [toolName = name, isProvider] = name.startsWith('provider:') ? [name.slice(9), true] : [name]
    const part = {
      type: 'tool-call' as const,
      toolCallId: `call-${turn}-${toolName}`,
      toolName,
      input: { of: toolName },
    }
    return isProvider ? { ...part, providerExecuted: true } : part
  })
  return session.append(
    'assistant/message',
    {
      turn,
      step,
      message: { role: 'assistant', content: [{ type: 'text', text: 'So.' }, ...parts] },
      finishReason: calls.length > 0 ? 'tool-calls' : 'stop',
      usage: { inputTokens: 12, outputTokens: 3 },
    },
    { surfaceOp: 'append', sourceEventSeqs: [chunk.seq] },
  )
}

export function addCall(session: Session, turn: number, step: number, toolName: string): SessionEvent {
  const data = { turn, step, toolCallId: `call-${turn}-${toolName}`, toolName, arguments: `{"of":"${toolName}"}` }
  return session.append('tool/call', data)
}

export function addSettled(
  session: Session,
  turn: number,
  step: number,
  toolName: string,
  output: ToolOutput,
  error?: Fault,
): SessionEvent {
  const data = { turn, step, toolCallId: `call-${turn}-${toolName}`, output }
  return session.append('tool/settled', error === undefined ? data : { ...data, error })
}

export function addResult(
  session: Session,
  turn: number,
  step: number,
  call: SessionEvent,
  toolName: string,
): SessionEvent {
  const toolCallId = `call-${turn}-${toolName}`
  const output = { type: 'text' as const, value: `${toolName} did it` }
  const message = { role: 'tool' as const, content: [{ type: 'tool-result' as const, toolCallId, toolName, output }] }
  const intent = { surfaceOp: 'append' as const, sourceEventSeqs: [call.seq] }
  return session.append('tool/result', { turn, step, toolCallId, message }, intent)
}

/** A whole turn: a question, a tool call with its result, an answer. */
export function addTurn(session: Session, turn: number, text = `Question ${turn}`): void {
  session.append('turn/start', { turn })
  addUser(session, text, turn)
  session.append('step/start', { turn, step: 1 })
  session.append('request/header', {
    model: `model-${turn}`,
    settings: { temperature: turn / 10 },
    system: 'Be brief.',
  })
  addAssistant(session, turn, 1, ['look'])
  addResult(session, turn, 1, addCall(session, turn, 1, 'look'), 'look')
  session.append('step/end', { turn, step: 1 })
  session.append('step/start', { turn, step: 2 })
  addAssistant(session, turn, 2)
  session.append('step/end', { turn, step: 2 })
  session.append('turn/end', { turn, reason: { kind: 'completed' } })
}

export function conversation(id = 'kit', turns = 2): Session {
  const session = newSession(id)
  for (let turn = 1; turn <= turns; turn++) addTurn(session, turn)
  return session
}

/** A conversation with a replacement over a replacement, one of the two undone again, and a later turn. */
export function editedConversation(id = 'kit'): Session {
  const session = conversation(id, 3)
  const [first = 0, second = 0] = session.surface.seqs()
  const inner = replaceRange(session, first, second, 'The beginning, in short.')
  const third = session.surface.seqs()[2] ?? 0
  const outer = replaceRange(session, inner.seq, third, 'All of the beginning, shorter still.')
  const node = outer.seq
  session.append(
    'surface/restore',
    { reason: 'too short' },
    { surfaceOp: { op: 'restore', node }, sourceEventSeqs: [node] },
  )
  addTurn(session, 4)
  return session
}

/** Stores the session's events from `from` on in batches of `size`. */
export async function write(
  backend: SessionBackend,
  lease: Lease,
  session: Session,
  from = 0,
  size = 1000,
): Promise<void> {
  for (let at = from; at < session.length; at += size) {
    await backend.append(lease, session.header, session.slice(at, at + size))
  }
}

/** Stores a whole session and frees its lease again. */
export async function stored(backend: SessionBackend, session: Session): Promise<Session> {
  const lease = await backend.acquire(session.id)
  await backend.append(lease, session.header, session.slice())
  await lease.release()
  return session
}

export async function readLog(
  backend: SessionBackend,
  id = 'kit',
  range?: { from?: number; to?: number },
): Promise<StoredLog> {
  const log = await backend.read(id, range)
  holds(log !== undefined, `read("${id}"): expected a stored session, found none`)
  return log
}

export async function listAll(backend: SessionBackend): Promise<SessionSummary[]> {
  const summaries: SessionSummary[] = []
  for await (const summary of backend.list()) summaries.push(summary)
  return summaries.sort((a, b) => (a.id < b.id ? -1 : 1))
}

// --- internal ---

function replaceRange(session: Session, start: number, end: number, text: string): SessionEvent {
  const seqs = session.surface.seqs()
  const sourceEventSeqs = seqs.slice(seqs.indexOf(start), seqs.indexOf(end) + 1).sort((a, b) => a - b)
  const message = { role: 'user' as const, content: [{ type: 'text' as const, text }] }
  return session.append('user/message', { message }, { surfaceOp: { op: 'replace', start, end }, sourceEventSeqs })
}
