// Rows of the performance table that the shared bench has no workload for. Prints one JSON object a row:
// { label, unit, values: { ours, floor } }. Every figure is the median of several repetitions.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Session } from '@palimpsest/session'
import { createSession, openSession } from '@palimpsest/session-persistence'
import { createJsonlBackend } from '@palimpsest/session-persistence-jsonl'

const cpuMs = () => {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}
const median = values => values.sort((a, b) => a - b)[values.length >> 1]
const measure = (repetitions, body) => {
  const times = []
  for (let i = 0; i < repetitions; i++) {
    globalThis.gc?.()
    const start = performance.now()
    body()
    times.push(performance.now() - start)
  }
  return median(times)
}
const row = (label, unit, values) => console.log(JSON.stringify({ label, unit, values }))
const userMessage = text => ({ message: { role: 'user', content: [{ type: 'text', text }] } })
const chunk = i => ({ turn: 1, step: 1, chunk: { type: 'text-delta', id: '0', text: ` word${i}` } })
const appendUser = (session, i) => session.append('user/message', userMessage(`message ${i}`), { surfaceOp: 'append' })

const surface = 100_000

function messagesAfterAppend() {
  const session = Session.create()
  for (let i = 0; i < surface; i++) appendUser(session, i)
  const plain = session.deriveMessages()
  const ours = measure(41, () => {
    appendUser(session, 0)
    session.deriveMessages()
  })
  const floor = measure(41, () => Object.freeze([...plain]))
  row('message + deriveMessages() at 10⁵', 'ms', { ours, floor })
}

function messagesAfterReplace() {
  const session = Session.create()
  for (let i = 0; i < surface; i++) appendUser(session, i)
  const plain = session.deriveMessages()
  const seqs = Array.from({ length: surface }, (_, i) => i)
  let at = 17
  const ours = measure(41, () => {
    at = (at * 7919) % surface
    const node = seqs[at]
    const intent = { surfaceOp: { op: 'replace', start: node, end: node }, sourceEventSeqs: [node] }
    seqs[at] = session.append('user/message', userMessage('again'), intent).seq
    session.deriveMessages()
  })
  const floor = measure(41, () => Object.freeze([...plain]))
  row('replace one node + messages at 10⁵ nodes', 'ms', { ours, floor })
}

function readTheLastTen() {
  const session = Session.create()
  const log = []
  for (let i = 0; i < surface; i++) {
    session.append('assistant/chunk', chunk(i))
    log.push({ seq: i, time: 0, type: 'assistant/chunk', data: chunk(i) })
  }
  const many = body =>
    measure(11, () => {
      for (let i = 0; i < 2000; i++) body(i)
    }) / 2
  const ours = many(i => {
    session.append('assistant/chunk', chunk(i))
    session.slice(session.length - 10)
    session.at(session.length - 1)
  })
  const floor = many(i => {
    log.push({ seq: log.length, time: Date.now(), type: 'assistant/chunk', data: JSON.parse(JSON.stringify(chunk(i))) })
    log.slice(-10)
  })
  row('chunk + at / slice of the last ten at 10⁵', 'µs', { ours, floor })
}

function forkCost() {
  const build = chunks => {
    const session = Session.create()
    for (let i = 0; i < 2000; i++) {
      appendUser(session, i)
      for (let k = 0; k < chunks; k++) session.append('assistant/chunk', chunk(k))
    }
    return session
  }
  const small = build(5)
  const large = build(49)
  row('fork: 10⁵ events against 12,000, equal surface', 'ms', {
    ours: measure(31, () => large.fork()),
    floor: measure(31, () => small.fork()),
  })
}

/** Writes `chunks` chunks among 1,000 surface events and says what opening up to the messages costs in a cold backend. */
async function coldStart(directory, chunks) {
  const id = `cold-${chunks}`
  const writer = createJsonlBackend({ directory })
  const open = await createSession(writer, { id })
  for (let i = 0; i < 1000; i++) {
    appendUser(open.session, i)
    for (let k = 0; k < chunks / 1000; k++) open.session.append('assistant/chunk', chunk(k))
    await open.flush()
  }
  await open.close()
  await writer.close()
  const times = []
  for (let i = 0; i < 7; i++) {
    const backend = createJsonlBackend({ directory })
    const start = cpuMs()
    const again = await openSession(backend, id)
    again.session.deriveMessages()
    times.push(cpuMs() - start)
    await again.close()
    await backend.close()
  }
  return median(times)
}

async function coldStarts() {
  const directory = mkdtempSync(join(tmpdir(), 'palimpsest-bench-'))
  try {
    const floor = await coldStart(directory, 100_000)
    const ours = await coldStart(directory, 1_000_000)
    row('cold start to messages, 10⁶ events against 10⁵, equal surface', 'ms', { ours, floor })
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

messagesAfterAppend()
messagesAfterReplace()
readTheLastTen()
forkCost()
if (!process.argv.includes('--quick')) await coldStarts()
