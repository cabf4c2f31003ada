// Rows of the performance table that the shared bench has no workload for and that need no store.
// Every figure is the median of several repetitions.
import { Session } from '@palimpsest/session'
import { median, runRows } from './rows.mjs'
import { unwatched, watched } from './watched-turns.mjs'

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
  return { ours, floor }
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
  return { ours, floor }
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
  return { ours, floor }
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
  return { ours: measure(31, () => large.fork()), floor: measure(31, () => small.fork()) }
}

await runRows({
  'message + deriveMessages() at 10⁵': { unit: 'ms', measure: messagesAfterAppend },
  'replace one node + messages at 10⁵ nodes': { unit: 'ms', measure: messagesAfterReplace },
  'chunk + at / slice of the last ten at 10⁵': { unit: 'µs', measure: readTheLastTen },
  'fork: 10⁵ events against 12,000, equal surface': { unit: 'ms', measure: forkCost },
  'append an agent’s turns through a host, invariants attached': { unit: 'µs', measure: watched },
  '… invariants disposed': { unit: 'µs', measure: unwatched },
})
