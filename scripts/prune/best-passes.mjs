// What pruning could save at best, by somebody who knows the whole recording in advance.
import { prune } from '@palimpsest/history'

/**
 * The most tokens that `passes` passes can take off the requests `from` and later, at the best moments. A pass before
 * request t takes all that `prune` takes there; request r saves what of it would still be visible.
 */
export function bestSaving(session, requests, from, passes) {
  const late = requests.slice(from)
  const visible = late.map(({ length }) => new Set(session.surfaceAt(length)))
  const saving = late.map(({ length }, t) => savingOf(session, length, visible.slice(t)))
  // best[t]: from a pass before request t on, with the passes that are left.
  let best = late.map(() => 0).concat(0)
  for (let left = passes; left > 0; left--) best = late.map((_, t) => bestFrom(saving, best, t)).concat(0)
  return Math.max(0, ...best)
}

// --- internal ---

/** What a pass at `length` would have saved each request, by what is visible to it. */
function savingOf(session, length, visible) {
  const { pruned } = prune(session.fork({ length }))
  return visible.map(seqs =>
    pruned.reduce(
      (sum, { seq, tokensBefore, tokensAfter }) => sum + (seqs.has(seq) ? tokensBefore - tokensAfter : 0),
      0,
    ),
  )
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
