// What it costs that a host's plugin proves the invariants: turns as an agent writes them, appended to an adopted
// session with the plugin, without it, and behind one that was disposed. CPU per event, in µs.
import { createHost } from '@palimpsest/host'
import { attachInvariants } from '@palimpsest/invariants'
import { Session } from '@palimpsest/session'
import { cpuMs, median } from './rows.mjs'

const ROUNDS = 61
const TURNS_A_ROUND = 5

/** The same turns `attached` (ours) and on a host that never heard of the plugin (floor). */
export const watched = () => against(async host => void (await attachInvariants(host)))

/** The same behind a plugin that is gone. */
export const unwatched = () =>
  against(async host => {
    const { dispose } = await attachInvariants(host)
    await dispose()
  })

// --- internal ---

/** Two agents that live through the same turns side by side, so that what the machine does meanwhile hits both. */
async function against(prepare) {
  const [ours, floor] = [await createSubject(prepare), await createSubject(async () => {})]
  const times = { ours: [], floor: [] }
  for (let round = 0; round < ROUNDS; round++) {
    times.floor.push(cpuPerEvent(floor))
    times.ours.push(cpuPerEvent(ours))
  }
  return { ours: median(times.ours), floor: median(times.floor) }
}

async function createSubject(prepare) {
  const host = createHost()
  await prepare(host)
  const session = Session.create()
  host.adopt(session)
  const agent = { id: 'agent', session, status: 'idle' }
  host.emit('agent/created', agent)
  return { host, agent, turns: 0 }
}

function cpuPerEvent(subject) {
  const { host, agent } = subject
  const { length } = agent.session
  const start = cpuMs()
  for (let i = 0; i < TURNS_A_ROUND; i++) appendTurn(host, agent, ++subject.turns)
  return ((cpuMs() - start) * 1000) / (agent.session.length - length)
}

/** Three steps with two calls each, and one that answers. */
function appendTurn(host, agent, turn) {
  const { session } = agent
  host.emit('agent/status', 'running', agent)
  session.append('turn/start', { turn })
  session.append('user/message', { turn, message: { role: 'user', content: text('Do this. ', 20) } }, APPEND)
  for (let step = 1; step <= 4; step++) appendStep(host, agent, turn, step, step < 4 ? [`${step}a`, `${step}b`] : [])
  session.append('turn/end', { turn, reason: { kind: 'completed' } })
  host.emit('agent/status', 'idle', agent)
}

function appendStep(host, agent, turn, step, calls) {
  const { session } = agent
  session.append('step/start', { turn, step })
  if (turn === 1 && step === 1) session.append('request/header', { model: 'm', settings: {}, system: 'Be short.' })
  const { length } = session
  host.emit('model/request', session.requestAt(length), { session, length }, agent)
  const chunks = Array.from({ length: 40 }, (_, i) => ({ type: 'text-delta', id: '0', text: ` word${i}` }))
  const sourceEventSeqs = chunks.map(chunk => session.append('assistant/chunk', { turn, step, chunk }).seq)
  const asks = calls.map(toolCallId => ({ type: 'tool-call', toolCallId, toolName: 'read', input: { path: 'a/b.ts' } }))
  const message = { role: 'assistant', content: [...text(' word', 40), ...asks] }
  session.append('assistant/message', { turn, step, message, finishReason: 'stop' }, { ...APPEND, sourceEventSeqs })
  for (const toolCallId of calls) appendCall(session, { turn, step, toolCallId })
  session.append('step/end', { turn, step })
}

function appendCall(session, place) {
  const { seq } = session.append('tool/call', { ...place, toolName: 'read', arguments: '{"path":"a/b.ts"}' })
  const output = { type: 'text', value: 'const line = 1\n'.repeat(140) }
  const part = { type: 'tool-result', toolCallId: place.toolCallId, toolName: 'read', output }
  const message = { role: 'tool', content: [part] }
  session.append('tool/result', { ...place, message }, { ...APPEND, sourceEventSeqs: [seq] })
}

const APPEND = { surfaceOp: 'append' }
const text = (words, times) => [{ type: 'text', text: words.repeat(times) }]
