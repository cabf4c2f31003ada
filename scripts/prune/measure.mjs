// One recorded conversation, with and without the automatic pruning.
import { estimateTokens, messageTokens, requestTokens, toolResultPrune } from '@palimpsest/history'
import { createHost } from '@palimpsest/host'
import { bestSaving } from './best-passes.mjs'
import { countRecalled, pairFaults } from './faults.mjs'
import { replayEvents } from './replay-events.mjs'

/** The policy's budget: one break of the cached prefix for each so many tokens appended, begun ones too. */
const EVERY_TOKENS = 50_000

/** The part of a late request that is results, from which on a recording counts as tool-heavy. */
const HEAVY = 0.5

/**
 * What late requests (the last quarter) take without pruning: `{ requests, appended, late: { from, tokens, results } }`,
 * and why the recording is left out, if it is: `left`.
 */
export async function measurePlain(recording) {
  const replayed = await replayEvents(recording)
  const { session, requests } = replayed
  const from = Math.floor((requests.length * 3) / 4)
  const late = requests.slice(from)
  const tokens = requestsTokens(session, late)
  const results = sum(late, ({ messages }) => messagesTokens(messages.filter(({ role }) => role === 'tool')))
  const appended = messagesTokens(recording.events.filter(isAppended).map(({ data }) => data.message))
  return { ...replayed, appended, late: { from, tokens, results }, left: whyLeft(requests, tokens, results) }
}

/** The same with the default policy, through the plugin, and what it costs. */
export async function measurePruned(recording, plain) {
  const host = createHost()
  await host.use(toolResultPrune())
  const pruned = await replayEvents(recording, session => requestOn(host, session))
  const { from } = plain.late
  const allowed = Math.ceil(plain.appended / EVERY_TOKENS)
  return {
    after: requestsTokens(pruned.session, pruned.requests.slice(from)),
    best: bestSaving(plain.session, plain.requests, from, allowed),
    passes: pruned.session.events.filter(({ type }) => type === 'prune/applied').length,
    // A recording's own compactions break the prefix too, and are not ours.
    breaks: countBreaks(pruned.requests) - countBreaks(plain.requests),
    allowed,
    faults: pairFaults(plain, pruned),
    ...countRecalled(pruned, recording.events),
  }
}

// --- internal ---

function whyLeft(requests, tokens, results) {
  if (requests.length === 0) return 'no request'
  if (results === 0) return 'no tool results'
  return results < HEAVY * tokens ? 'mostly other text' : undefined
}

/** What the loop does before each attempt; nothing is sent. */
async function requestOn(host, session) {
  const { signal } = new AbortController()
  const agent = { id: 'recorded', session }
  await host.intercept('model/request', { agent, session, turn: 1, step: 1, signal }, agent, async () => ({}))
}

/** Requests whose leading messages are not the whole request before. */
function countBreaks(requests) {
  const isBroken = ({ messages }, index) =>
    index > 0 && !requests[index - 1].messages.every((message, i) => isSame(message, messages[i]))
  return requests.filter(isBroken).length
}

/** One event gives one message object for ever; an edit may put an equal one in its place. */
function isSame(message, other) {
  return message === other || JSON.stringify(message) === JSON.stringify(other)
}

const isAppended = ({ surfaceOp }) => surfaceOp === 'append'
const requestsTokens = (session, requests) =>
  sum(requests, ({ length }) => requestTokens(session, estimateTokens, length))
const messagesTokens = messages => sum(messages, message => messageTokens(message, estimateTokens))
const sum = (list, of) => list.reduce((total, each) => total + of(each), 0)
