import type { JsonValue, Message, ModelRequest } from '@palimpsest/session'

/** What became of one message, or of one member of the request beside them. */
export type MessageChange =
  | { kind: 'same'; message: Message; a: number; b: number }
  | { kind: 'removed'; message: Message; a: number }
  | { kind: 'added'; message: Message; b: number }

export interface RequestDiff {
  /** Members beside the messages that differ. */
  readonly members: readonly { readonly name: string; readonly a?: JsonValue; readonly b?: JsonValue }[]
  readonly messages: readonly MessageChange[]
  /** Position of the first message that is not the same in both; `undefined` where all are. */
  readonly divergence: number | undefined
}

/** Message by message, by their bytes: what both have in order is the same, the rest was removed or added. */
export function diffRequests(a: ModelRequest, b: ModelRequest): RequestDiff {
  const messages = alignMessages(a.messages, b.messages)
  const divergence = messages.findIndex(({ kind }) => kind !== 'same')
  return { members: diffMembers(a, b), messages, divergence: divergence === -1 ? undefined : divergence }
}

// --- internal ---

const MEMBERS = ['model', 'settings', 'system', 'tools', 'rules'] as const

function diffMembers(a: ModelRequest, b: ModelRequest): RequestDiff['members'] {
  const differs = MEMBERS.filter(name => JSON.stringify(a[name]) !== JSON.stringify(b[name]))
  return differs.map(name => ({
    name,
    ...(a[name] !== undefined && { a: a[name] as JsonValue }),
    ...(b[name] !== undefined && { b: b[name] as JsonValue }),
  }))
}

/** The common beginning and end are most of two requests of one session; what lies between is aligned. */
function alignMessages(a: readonly Message[], b: readonly Message[]): MessageChange[] {
  const [left, right] = [a.map(message => JSON.stringify(message)), b.map(message => JSON.stringify(message))]
  const least = Math.min(a.length, b.length)
  let head = 0
  while (head < least && left[head] === right[head]) head++
  let tail = 0
  while (tail < least - head && left[a.length - 1 - tail] === right[b.length - 1 - tail]) tail++
  const same = (i: number, j: number): MessageChange => ({ kind: 'same', message: a[i]!, a: i, b: j })
  const pairs = commonPairs(left.slice(head, a.length - tail), right.slice(head, b.length - tail))
  const changes: MessageChange[] = Array.from({ length: head }, (_, i) => same(i, i))
  let [i, j] = [head, head]
  for (const [p, q] of [
    ...pairs.map(([p, q]) => [p + head, q + head] as const),
    [a.length - tail, b.length - tail] as const,
  ]) {
    for (; i < p; i++) changes.push({ kind: 'removed', message: a[i]!, a: i })
    for (; j < q; j++) changes.push({ kind: 'added', message: b[j]!, b: j })
    if (p < a.length - tail) changes.push(same(i++, j++))
  }
  for (let n = 0; n < tail; n++) changes.push(same(i + n, j + n))
  return changes
}

interface Pair {
  readonly i: number
  readonly j: number
  readonly before: Pair | undefined
}

/**
 * Positions of a longest common subsequence, after Hunt and Szymanski: what it costs are the equal pairs, so that two
 * long conversations that have little in common are compared as fast as they are read.
 */
function commonPairs(a: readonly string[], b: readonly string[]): [number, number][] {
  const places = new Map<string, number[]>(b.map(text => [text, []]))
  b.forEach((text, j) => {
    places.get(text)!.push(j)
  })
  /** The pair that ends a common subsequence of each length, in `b` as early as can be, and its place there. */
  const ends: Pair[] = []
  const endPlaces: number[] = []
  for (const [i, text] of a.entries()) {
    for (const j of nearest(places.get(text) ?? [], i).toReversed()) {
      const length = countBelow(endPlaces, j)
      endPlaces[length] = j
      ends[length] = { i, j, before: ends[length - 1] }
    }
  }
  const pairs: [number, number][] = []
  for (let pair = ends.at(-1); pair !== undefined; pair = pair.before) pairs.push([pair.i, pair.j])
  return pairs.reverse()
}

/** Of a text that is said over and over any of its near places will do: else n of them would make n² pairs. */
function nearest(places: readonly number[], i: number): readonly number[] {
  if (places.length <= MOST_PLACES) return places
  const middle = countBelow(places, i)
  return places.slice(Math.max(0, middle - MOST_PLACES / 2), middle + MOST_PLACES / 2)
}

const MOST_PLACES = 64

/** How many of rising numbers are below one. */
function countBelow(rising: readonly number[], limit: number): number {
  let [low, high] = [0, rising.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (rising[middle]! < limit) low = middle + 1
    else high = middle
  }
  return low
}
