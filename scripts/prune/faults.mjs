// What pruning may never do: split a pair, change anything but the words of a result, lose a text.
import { isDeepStrictEqual } from 'node:util'
import { recallTool } from '@palimpsest/history'
import { checkLog } from '@palimpsest/invariants'
import { check, TARGETS } from '@palimpsest/provider-rules'

/** Faults that the recording has not: relations broken, pairing that a provider would refuse, requests of another shape. */
export function pairFaults(plain, pruned) {
  const broken = isDeepStrictEqual(brokenRelations(pruned.session), brokenRelations(plain.session)) ? 0 : 1
  const refused = TARGETS.filter(
    target => !isDeepStrictEqual(refusals(plain.requests, target), refusals(pruned.requests, target)),
  )
  const reshaped = pruned.requests.filter(({ messages }, i) => !isSameShape(messages, plain.requests[i].messages))
  return broken + refused.length + reshaped.length
}

/** How many results were pruned, and how many of them the model reads back, byte for byte, by what their stand-in says. */
export function countRecalled({ session, seqs }, events) {
  const recorded = new Map(events.map(({ seq, data }) => [seqs.get(seq), data]))
  const { execute } = recallTool(session)
  const nodes = session.events.flatMap(({ type, data }) => (type === 'prune/applied' ? data.nodes : []))
  const recalled = nodes.filter(node => {
    const [seq] = session.at(node).sourceEventSeqs
    const [, named] = /recall seq (\d+)/.exec(outputOf(session.at(node).data).value) ?? []
    const data = recorded.get(seq)
    return isDeepStrictEqual(session.at(seq).data, data) && execute({ seq: Number(named) }) === wordsOf(outputOf(data))
  })
  return { pruned: nodes.length, recalled: recalled.length }
}

// --- internal ---

const PAIRING = ['call.unanswered', 'call.duplicate-id', 'result.orphan', 'result.duplicate', 'order.result-late']

function brokenRelations(session) {
  return checkLog(session).map(({ relation }) => relation)
}

function refusals(requests, target) {
  const { messages } = requests.at(-1)
  return check({ messages }, target)
    .filter(({ code }) => PAIRING.includes(code))
    .map(({ code, message, part }) => ({ code, message, part }))
}

function isSameShape(messages, others) {
  return messages.length === others.length && messages.every((message, i) => shapeOf(message) === shapeOf(others[i]))
}

const shapes = new WeakMap()

/** All of a message but the output of its results. Messages never change. */
function shapeOf(message) {
  const shape = shapes.get(message) ?? JSON.stringify(message.role === 'tool' ? message.content.map(idsOf) : message)
  shapes.set(message, shape)
  return shape
}

function idsOf({ type, toolCallId, toolName }) {
  return { type, toolCallId, toolName }
}

function outputOf({ message }) {
  return message.content.find(({ type }) => type === 'tool-result').output
}

function wordsOf({ type, value }) {
  if (type === 'text' || type === 'error-text') return value
  if (type !== 'content') return JSON.stringify(value)
  return value.map(item => (item.type === 'text' ? item.text : `[${item.type}]`)).join('\n')
}
