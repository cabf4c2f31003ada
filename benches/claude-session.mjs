// A synthetic session of Claude Code, of any size: prompts, answers spread over rows, tools with results stored twice,
// progress rows, now and then a compaction. The same size gives the same bytes.
import { closeSync, openSync, writeSync } from 'node:fs'

const SESSION = '11111111-0000-4000-8000-000000000001'
const MODEL = 'claude-opus-4-5'

/** Writes at least `bytes` bytes to `path`. */
export function writeClaudeSession(path, bytes) {
  const file = openSync(path, 'w')
  const session = new SyntheticSession()
  let written = 0
  let block = ''
  while (written < bytes) {
    block += session.turn()
    if (block.length < 1 << 20) continue
    written += writeSync(file, block)
    block = ''
  }
  closeSync(file)
}

// --- internal ---

class SyntheticSession {
  #rows = 0
  #turns = 0
  #parent = null
  #random = 1

  /** The rows of a turn with four steps. */
  turn() {
    this.#turns += 1
    const compaction = this.#turns % 60 === 0 ? this.#compaction() : ''
    return compaction + this.#user(words(this.#next(400))) + [1, 2, 3, 4].map(() => this.#step()).join('')
  }

  #step() {
    const id = `msg_${this.#rows}`
    const callId = `toolu_${this.#rows}`
    const input = { command: words(this.#next(200)), description: 'Look at it' }
    const output = code(this.#next(8000))
    return (
      this.#answer(id, { type: 'thinking', thinking: words(this.#next(900)), signature: 'c2ln'.repeat(90) }) +
      this.#answer(id, { type: 'text', text: `${words(this.#next(500))} – done` }) +
      this.#answer(id, { type: 'tool_use', id: callId, name: 'Bash', input }) +
      this.#row({ type: 'progress', data: { type: 'bash_progress', output: words(200) }, toolUseID: callId }) +
      this.#user([{ tool_use_id: callId, type: 'tool_result', content: output }], {
        toolUseResult: { stdout: output, stderr: '', interrupted: false },
      })
    )
  }

  #compaction() {
    const logicalParentUuid = this.#parent
    this.#parent = null
    const boundary = {
      type: 'system',
      subtype: 'compact_boundary',
      logicalParentUuid,
      compactMetadata: { trigger: 'auto' },
    }
    return this.#row(boundary) + this.#user([{ type: 'text', text: words(3000) }], { isCompactSummary: true })
  }

  #user(content, more = {}) {
    return this.#row({ type: 'user', message: { role: 'user', content }, ...more })
  }

  #answer(id, block) {
    const usage = {
      input_tokens: 9,
      cache_creation_input_tokens: 900,
      cache_read_input_tokens: 90000,
      output_tokens: 90,
    }
    const message = { id, type: 'message', role: 'assistant', model: MODEL, content: [block], stop_reason: null, usage }
    return this.#row({ type: 'assistant', message, requestId: `req_${id}` })
  }

  #row(members) {
    const uuid = `00000000-0000-4000-8000-${String(this.#rows++).padStart(12, '0')}`
    const timestamp = new Date(1_767_600_000_000 + this.#rows * 1000).toISOString()
    const row = {
      parentUuid: this.#parent,
      isSidechain: false,
      userType: 'external',
      cwd: '/project',
      sessionId: SESSION,
      version: '2.1.100',
      gitBranch: 'main',
      ...members,
      uuid,
      timestamp,
    }
    this.#parent = uuid
    return `${JSON.stringify(row)}\n`
  }

  /** Up to `most`, evenly. */
  #next(most) {
    this.#random = (Math.imul(this.#random, 1_103_515_245) + 12_345) >>> 0
    return 20 + (this.#random % most)
  }
}

function words(length) {
  return 'the quick brown fox looks at the logs and finds nothing that is wrong with them '
    .repeat(length / 80 + 1)
    .slice(0, length)
}

function code(length) {
  return 'export function fold(events) {\n\tconst text = "read" // every line\n\treturn events.map(each => each)\n}\n'
    .repeat(length / 100 + 1)
    .slice(0, length)
}
