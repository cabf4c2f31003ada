// The recorded conversations, brought to the rows that an OpenAI-compatible request holds.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const FOLDERS = ['openai-chat', 'swe-agent', 'mini-swe-agent']

/** Paths of the recordings below `corpus`, relative, sorted; none where there is no corpus. */
export function listRecordings(corpus) {
  const folders = FOLDERS.filter(folder => existsSync(join(corpus, folder)))
  return folders.flatMap(folder =>
    readdirSync(join(corpus, folder))
      .sort()
      .map(name => `${folder}/${name}`),
  )
}

/**
 * `system` is the leading system row, `rows` all that follows it, `tools` the names of the tools that
 * were called. The declared normalisations, and nothing else, stand between a row and the file:
 *
 * 1. The system row is the agent's system text: the request begins with it again.
 * 2. What the recorder kept for itself is dropped: `agent`, `message_type`, `is_demo`, `thought`, `action`, a
 *    tool row's `name`, and `tool_calls: null`. They were never part of a request.
 * 3. SWE-agent writes a tool row's one call id as `tool_call_ids: [id]`: it is `tool_call_id`.
 * 4. An assistant row with calls and without text has `content: null`, never `''`: the SDK writes one form for both.
 */
export function readRecording(corpus, name) {
  const document = JSON.parse(readFileSync(join(corpus, name), 'utf8'))
  const [first, ...rest] = document.traj ?? document.history ?? document
  if (first.role !== 'system') throw new Error(`${name}: expected a system row first, found ${first.role}`)
  const rows = rest.map(row => canonicalRow(row, name))
  const tools = [...new Set(rows.flatMap(row => row.tool_calls ?? []).map(call => call.function.name))]
  return { name, system: first.content, rows, tools }
}

/** The row that stands for a message of a session. */
export function rowOfMessage(message) {
  const texts = message.content.filter(part => part.type === 'text').map(part => part.text)
  if (message.role === 'user') return { role: 'user', content: texts.join('') }
  if (message.role === 'tool') {
    const [result] = message.content
    return { role: 'tool', tool_call_id: result.toolCallId, content: result.output.value }
  }
  const calls = message.content.filter(part => part.type === 'tool-call')
  const tool_calls = calls.map(({ toolCallId, toolName, input, rawInput }) =>
    canonicalCall({ id: toolCallId, function: { name: toolName, arguments: rawInput ?? JSON.stringify(input) } }),
  )
  return canonicalRow({ role: 'assistant', content: texts.join(''), tool_calls }, 'message')
}

// --- internal ---

/** One form for rows that mean the same; a row that is of no known form throws. */
function canonicalRow(row, where) {
  if (row.role === 'user' && typeof row.content === 'string') return { role: 'user', content: row.content }
  if (row.role === 'tool' && typeof row.content === 'string') {
    const ids = row.tool_call_ids ?? [row.tool_call_id]
    if (ids.length !== 1 || typeof ids[0] !== 'string') throw new Error(`${where}: a tool row needs one call id`)
    return { role: 'tool', tool_call_id: ids[0], content: row.content }
  }
  if (row.role === 'assistant') {
    const calls = row.tool_calls ?? []
    if (calls.length === 0) return { role: 'assistant', content: row.content ?? '' }
    return { role: 'assistant', content: row.content || null, tool_calls: calls.map(canonicalCall) }
  }
  throw new Error(`${where}: a row of no known form: ${JSON.stringify(row).slice(0, 200)}`)
}

function canonicalCall(call) {
  const { name, arguments: text } = call.function
  return { id: call.id, type: 'function', function: { name, arguments: text } }
}
