// An OpenAI-compatible server on loopback that holds one recording. It answers a request only if the
// request is the recorded history, and it knows when the agent is to die.
import { deepStrictEqual } from 'node:assert/strict'
import { createServer } from 'node:http'

/** What wakes a resumed agent in the middle of a turn. It is in the log, and visible for one request. */
export const WAKE = '(The process was restarted. Go on where you stopped.)'

/**
 * `kill` is undefined or `{ at: 'stream', row, piece }` or `{ at: 'tool', row, when }`; `onKill` is called at that
 * point, once. `requests` lists the rows that requests asked for, in order; `wakes`
 * counts those that ended with the wake; `problems` what was not as recorded.
 */
export async function startRecordedServer(recording, { random, kill, onKill }) {
  const state = { recording, random, kill, onKill, requests: [], wakes: 0, problems: [] }
  const server = createServer((request, response) => {
    answer(state, request, response).catch(error => {
      state.problems.push(error.message)
      response.destroy()
    })
  })
  await new Promise(resolve => server.listen(0, '127.0.0.1', resolve))
  const close = () => new Promise(resolve => server.close(resolve).closeAllConnections())
  return { url: `http://127.0.0.1:${server.address().port}`, state, close }
}

/** Every point at which the agent can be killed: after each piece of each answer, in and after each tool. */
export function chooseKill(recording, random) {
  const answers = indexes(recording.rows, 'assistant')
  const tools = indexes(recording.rows, 'tool')
  const pick = list => list[Math.floor(random() * list.length)]
  if (tools.length > 0 && random() < 0.5) {
    return { at: 'tool', row: pick(tools), when: random() < 0.7 ? 'running' : 'answered' }
  }
  return { at: 'stream', row: pick(answers), piece: Math.floor(random() * 12) }
}

/** The rows that are asked for, in order. */
export function expectedRequests(recording) {
  const asked = indexes(recording.rows, 'assistant')
  // A recording that ends with a question or a result asks once more, and there is no answer.
  return recording.rows.at(-1).role === 'assistant' ? asked : [...asked, recording.rows.length]
}

// --- internal ---

function indexes(rows, role) {
  return rows.flatMap((row, index) => (row.role === role ? [index] : []))
}

async function answer(state, request, response) {
  const body = JSON.parse(await textOf(request))
  if (request.url === '/tool') return answerTool(state, body, response)
  const row = rowAskedFor(state, body)
  state.requests.push(row)
  if (row === state.recording.rows.length) return endOfRecording(response)
  await streamRow(state, row, response)
}

/** The index of the row that the request asks for; throws where its messages are not the recorded history. */
function rowAskedFor(state, body) {
  const { recording } = state
  const [system, ...sent] = body.messages
  expectSame({ role: 'system', content: recording.system }, system, 'the system row')
  const woken = sent.at(-1)?.content === WAKE
  if (woken) state.wakes++
  if (woken) sent.pop()
  for (const [index, row] of sent.entries()) expectSame(recording.rows[index], row, `row ${index}`)
  const names = (body.tools ?? []).map(tool => tool.function.name)
  expectSame(recording.tools, names, 'the names of the tools')
  const next = recording.rows[sent.length]
  if (next !== undefined && next.role !== 'assistant')
    throw new Error(`row ${sent.length} was asked for, but it is a ${next.role} row`)
  return sent.length
}

function expectSame(expected, found, what) {
  try {
    deepStrictEqual(found, expected)
  } catch (error) {
    throw new Error(`${what} is not as recorded: ${error.message}`)
  }
}

async function streamRow(state, index, response) {
  const row = state.recording.rows[index]
  const pieces = [...deltasOf(row, state.random)]
  const dies = state.kill?.at === 'stream' && state.kill.row === index
  const killAt = dies ? Math.min(state.kill.piece, pieces.length) : undefined
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  for (let piece = 0; piece <= pieces.length; piece++) {
    if (piece === killAt) return die(state)
    if (piece < pieces.length) await write(response, pieces[piece])
  }
  response.end('data: [DONE]\n\n')
}

/** The row as a provider streams it: text and arguments in pieces of any length, also within a character. */
function* deltasOf(row, random) {
  yield { role: 'assistant' }
  for (const content of cut(row.content ?? '', random)) yield { content }
  for (const [index, call] of (row.tool_calls ?? []).entries()) {
    const { name, arguments: text } = call.function
    yield { tool_calls: [{ index, id: call.id, type: 'function', function: { name, arguments: '' } }] }
    for (const piece of cut(text, random)) yield { tool_calls: [{ index, function: { arguments: piece } }] }
  }
  yield { finish: row.tool_calls ? 'tool_calls' : 'stop' }
}

function* cut(text, random) {
  for (let from = 0; from < text.length; ) {
    const to = from + 1 + Math.floor(random() * Math.max(16, text.length / 6))
    yield text.slice(from, to)
    from = to
  }
}

function write(response, { finish = null, ...delta }) {
  const chunk = {
    id: 'recorded',
    object: 'chat.completion.chunk',
    created: 0,
    model: 'recorded',
    choices: [{ index: 0, delta, finish_reason: finish }],
  }
  return new Promise(resolve => response.write(`data: ${JSON.stringify(chunk)}\n\n`, resolve))
}

function answerTool(state, { row, toolCallId, toolName, text }, response) {
  const { rows } = state.recording
  const call = rows.slice(0, row).findLast(each => each.tool_calls?.some(({ id }) => id === toolCallId))
  const asked = call?.tool_calls.find(({ id }) => id === toolCallId).function
  expectSame(
    { role: 'tool', id: toolCallId },
    { role: rows[row]?.role, id: rows[row]?.tool_call_id },
    `row ${row}, a result`,
  )
  expectSame(asked, { name: toolName, arguments: text }, `the call of row ${row}`)
  const { at, when, row: killRow } = state.kill ?? {}
  const dies = at === 'tool' && killRow === row
  if (dies && when === 'running') return die(state)
  response.end(JSON.stringify(rows[row].content), () => {
    if (dies) die(state)
  })
}

/** The agent dies; the answer that it was waiting for never comes. */
function die(state) {
  const { onKill } = state
  state.kill = undefined
  onKill()
}

function endOfRecording(response) {
  response.writeHead(400, { 'content-type': 'application/json' })
  response.end(JSON.stringify({ error: { message: 'the recording ends here', type: 'end_of_recording' } }))
}

async function textOf(request) {
  const pieces = []
  for await (const piece of request) pieces.push(piece)
  return Buffer.concat(pieces).toString()
}
