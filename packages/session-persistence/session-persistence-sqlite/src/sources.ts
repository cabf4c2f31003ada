/** The sources of event `seq` as JSON text; of 32 or more that follow each other only the first and the last: `[0,[2,300]]`. */
export function encodeSources(seqs: readonly number[], seq: number): string {
  // No session holds such a list, and no run of it could be told from one without end.
  if (seqs.length < SHORTEST_RUN || seqs.length > seq || !seqs.every(source => source >= 0 && source < seq)) {
    return JSON.stringify(seqs)
  }
  const list: (number | [number, number])[] = []
  for (let i = 0; i < seqs.length; ) {
    let end = i + 1
    while (end < seqs.length && seqs[end] === seqs[end - 1]! + 1) end++
    if (end - i >= SHORTEST_RUN) list.push([seqs[i]!, seqs[end - 1]!])
    else for (let k = i; k < end; k++) list.push(seqs[k]!)
    i = end
  }
  return JSON.stringify(list)
}

/** The sources of event `seq`. Throws on what is no JSON, and on runs of what cannot be sources: they could be without end. */
export function decodeSources(text: string, seq: number): unknown {
  const list: unknown = JSON.parse(text)
  if (!Array.isArray(list) || !list.some(Array.isArray)) return list
  const count = list.reduce((sum: number, entry) => sum + (Array.isArray(entry) ? lengthOf(entry, seq) : 1), 0)
  if (!(count <= seq)) throw new Error(`expected the sources of event ${seq}, found ${text}`)
  const seqs = new Array<unknown>(count)
  let at = 0
  for (const entry of list) {
    if (Array.isArray(entry)) at = fillRun(seqs, at, entry[0], entry[1])
    else seqs[at++] = entry
  }
  return seqs
}

// --- internal ---

const SHORTEST_RUN = 32

/** NaN of what is no run of seqs below `seq`. */
function lengthOf([first, last]: unknown[], seq: number): number {
  const isRun = Number.isSafeInteger(first) && Number.isSafeInteger(last)
  const [from, to] = [first as number, last as number]
  return isRun && from >= 0 && from < to && to < seq ? to - from + 1 : Number.NaN
}

/** There may be as many as events in a log. */
function fillRun(seqs: unknown[], at: number, first: number, last: number): number {
  for (let source = first; source <= last; source++) seqs[at++] = source
  return at
}
