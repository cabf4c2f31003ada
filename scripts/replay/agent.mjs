// The agent's process: node agent.mjs CORPUS NAME STORE URL. It goes on from whatever the store holds,
// to the end of the recording, and prints what it repaired and what it holds at the end.
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { createAgent, defineTool } from '@palimpsest/agent-loop'
import { createHost } from '@palimpsest/host'
import { aiSdkModel, rawFetch } from '@palimpsest/model-ai-sdk'
import { createSession, openSession } from '@palimpsest/session-persistence'
import { createJsonlBackend } from '@palimpsest/session-persistence-jsonl'
import { WAKE } from './recorded-server.mjs'
import { readRecording, rowOfMessage } from './recording.mjs'

const [corpus, name, directory, url] = process.argv.slice(2)
const recording = readRecording(corpus, name)
const backend = createJsonlBackend({ directory })
const open = await openOrCreate('replay')
const { session } = open
const repaired = open.report.repaired.map(({ seq, type, sourceEventSeqs, data }) => ({
  seq,
  type,
  sources: sourceEventSeqs?.map(source => session.at(source).type),
  code: data.error?.code,
  reason: data.reason?.kind,
}))

await verifyUnknownResults()
const host = createHost()
await host.use({
  name: 'forget-wake',
  setup: ctx =>
    ctx.around('model/request', (_value, next) => {
      forgetWake()
      return next()
    }),
})
const provider = createOpenAICompatible({ name: 'recorded', baseURL: `${url}/v1`, fetch: rawFetch() })
const agent = createAgent({
  session: open,
  host,
  model: aiSdkModel(provider('recorded')),
  system: recording.system,
  tools: recording.tools.map(toolName =>
    defineTool({
      name: toolName,
      inputSchema: { type: 'object' },
      execute: (_input, { toolCallId }) => recordedResult(rows().length, lastCall(toolCallId)),
    }),
  ),
})

while (rows().length < recording.rows.length) {
  const before = rows().length
  if (recording.rows[before].role === 'user') for (const text of usersFrom(before)) agent.send(text)
  else agent.send(WAKE)
  await agent.idle()
  forgetWake()
  if (rows().length <= before) throw new Error(`no progress after row ${before}: ${JSON.stringify(lastTurnEnd())}`)
}
await agent.dispose()
await open.flush()
const live = { length: session.length, messages: session.deriveMessages(), request: session.requestAt(session.length) }
await open.close()
await backend.close()
process.stdout.write(JSON.stringify({ repaired, rows: rows(), live: JSON.stringify(live) }))

// --- internal ---

async function openOrCreate(id) {
  try {
    return await openSession(backend, id)
  } catch (error) {
    if (error.code !== 'SESSION_NOT_FOUND') throw error
    return createSession(backend, { id })
  }
}

/** The surface as rows of the recording, without the word that woke a resumed agent. */
function rows() {
  return session
    .deriveMessages()
    .map(rowOfMessage)
    .filter(row => row.content !== WAKE)
}

function usersFrom(row) {
  const rest = recording.rows.slice(row)
  const end = rest.findIndex(({ role }) => role !== 'user')
  return rest.slice(0, end < 0 ? undefined : end).map(({ content }) => content)
}

/**
 * A result that recovery had to write says that the outcome is unknown. Here it can be verified, as one
 * should: the true result then replaces it, and the log keeps both.
 */
async function verifyUnknownResults() {
  for (const [position, seq] of session.surface.seqs().entries()) {
    const { data } = session.at(seq)
    if (!data.synthetic) continue
    const [part] = data.message.content
    const value = await recordedResult(position, callInMessage(position, data.toolCallId))
    const message = { ...data.message, content: [{ ...part, output: { type: 'text', value } }] }
    const { turn, step, toolCallId } = data
    const intent = { surfaceOp: { op: 'replace', start: seq, end: seq }, sourceEventSeqs: [seq] }
    session.append('tool/result', { turn, step, toolCallId, message }, intent)
  }
  await open.flush()
}

/** Once the answer is there, the word that asked for it is shadowed together with it, by the answer alone. */
function forgetWake() {
  const seqs = session.surface.seqs()
  const position = seqs.findIndex(seq => session.at(seq).data.message.content[0]?.text === WAKE)
  const answer = session.at(seqs[position + 1] ?? -1)
  if (position < 0 || answer?.type !== 'assistant/message') return
  const range = { op: 'replace', start: seqs[position], end: answer.seq }
  session.append('assistant/message', answer.data, { surfaceOp: range, sourceEventSeqs: [seqs[position], answer.seq] })
}

async function recordedResult(row, call) {
  const response = await fetch(`${url}/tool`, { method: 'POST', body: JSON.stringify({ row, ...call }) })
  return response.json()
}

/** Call ids repeat within a conversation: the call is the last one of its id. */
function lastCall(toolCallId) {
  for (let seq = session.length - 1; seq >= 0; seq--) {
    const { type, data } = session.at(seq)
    if (type === 'tool/call' && data.toolCallId === toolCallId) {
      return { toolCallId, toolName: data.toolName, text: data.arguments }
    }
  }
  throw new Error(`no tool/call of ${toolCallId} was logged before the tool began`)
}

function callInMessage(position, toolCallId) {
  const calls = rows()
    .slice(0, position)
    .flatMap(row => row.tool_calls ?? [])
  const { name: toolName, arguments: text } = calls.findLast(({ id }) => id === toolCallId).function
  return { toolCallId, toolName, text }
}

function lastTurnEnd() {
  return session.events.findLast(({ type }) => type === 'turn/end')?.data
}
