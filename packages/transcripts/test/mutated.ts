/** Numbers in [0, 1) that the seed decides. */
export function rng(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
}

/** The bytes of a file after one to four accidents: flipped bytes, cuts, joins, swapped or doubled stretches, zeros. */
export function mutated(bytes: Uint8Array, random: () => number): Uint8Array {
  let now: Buffer = Buffer.from(bytes)
  for (let n = 1 + Math.floor(random() * 4); n > 0 && now.length > 0; n--) {
    now = ACCIDENTS[Math.floor(random() * ACCIDENTS.length)]!(now, random)
  }
  return now
}

// --- internal ---

type Accident = (bytes: Buffer, random: () => number) => Buffer

const at = (bytes: Buffer, random: () => number) => Math.floor(random() * bytes.length)

/** A place where a line ends, or any where there are no lines. */
function lineEnd(bytes: Buffer, random: () => number): number {
  const end = bytes.indexOf(0x0a, at(bytes, random))
  return end < 0 ? at(bytes, random) : end
}

function stretch(bytes: Buffer, random: () => number): [number, number] {
  const ends = [lineEnd(bytes, random), lineEnd(bytes, random)].sort((a, b) => a - b)
  return [ends[0]!, ends[1]!]
}

const TOKENS = [
  'null',
  '-0',
  '1e999',
  '9007199254740993',
  '"\\ud800"',
  '"\\u0000"',
  '{}',
  '[]',
  '""',
  'true',
  '[[[[',
  '"__proto__":1,',
]

const ACCIDENTS: readonly Accident[] = [
  (bytes, random) => {
    const copy = Buffer.from(bytes)
    copy[at(bytes, random)]! ^= 1 << Math.floor(random() * 8)
    return copy
  },
  (bytes, random) => bytes.subarray(0, at(bytes, random)),
  (bytes, random) => bytes.subarray(at(bytes, random)),
  (bytes, random) => {
    const end = lineEnd(bytes, random)
    return Buffer.concat([bytes.subarray(0, end), bytes.subarray(end + 1)])
  },
  (bytes, random) => {
    const [from, to] = stretch(bytes, random)
    return Buffer.concat([bytes.subarray(0, from), bytes.subarray(to)])
  },
  (bytes, random) => {
    const [from, to] = stretch(bytes, random)
    return Buffer.concat([bytes.subarray(0, to), bytes.subarray(from)])
  },
  (bytes, random) => {
    const [from, to] = stretch(bytes, random)
    return Buffer.concat([bytes.subarray(to), bytes.subarray(0, from), bytes.subarray(from, to)])
  },
  (bytes, random) => {
    const from = at(bytes, random)
    return Buffer.concat([bytes.subarray(0, from), Buffer.alloc(1 + Math.floor(random() * 40)), bytes.subarray(from)])
  },
  // A value of another kind in the place of one.
  (bytes, random) => {
    const from = bytes.indexOf(0x3a, at(bytes, random))
    const to = from < 0 ? -1 : bytes.indexOf(0x2c, from)
    if (to < 0) return bytes
    const token = TOKENS[Math.floor(random() * TOKENS.length)]!
    return Buffer.concat([bytes.subarray(0, from + 1), Buffer.from(token), bytes.subarray(to)])
  },
]
