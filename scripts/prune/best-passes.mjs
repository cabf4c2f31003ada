// What pruning could save at best, by somebody who knows the whole recording in advance.
import { prune } from '@palimpsest/history'

/**
 * The most tokens that `passes` passes can take off the requests `from` and later, at the best moments. A pass before
 * request t takes all that `prune` takes there; request r saves what of it would still be visible.
 */
export function bestSaving(session, requests, from, passes) {
  const late = requests.slice(from)
  const saving = late.map(({ length }, t) => savingOf(session, length, late.slice(t)))
  // best[t]: from a pass before request t on, with the passes that are left.
  let best = late.map(() => 0).concat(0)
  for (let left = passes; left > 0; left--) best = late.map((_, t) => bestFrom(saving, best, t)).concat(0)
  return Math.max(0, ...best)
}

// --- internal ---

/** Of each of the requests, what a pass at `length` would have saved it. */
function savingOf(session, length, requests) {
  const { pruned } = prune(session.fork({ length }))
  return requests.map(request => {
    const visible = new Set(session.surfaceAt(request.length))
    return pruned.reduce(
      (sum, { seq, tokensBefore, tokensAfter }) => sum + (visible.has(seq) ? tokensBefore - tokensAfter : 0),
      0,
    )
  })
}

function bestFrom(saving, best, t) {
  let sum = 0
  let most = 0
  for (let next = t + 1; next <= saving.length; next++) {
    sum += saving[t][next - 1 - t]
    most = Math.max(most, sum + best[next])
  }
  return most
}
