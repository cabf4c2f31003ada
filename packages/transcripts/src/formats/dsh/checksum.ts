/** The checksum of a Zstandard frame's content: the low half of XXH64 with seed 0. Source: RFC 8878, section 3.1.1. */
export function checksumOf(bytes: Uint8Array): number {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  const { hash, at } = bytes.length >= 32 ? foldStripes(view) : { hash: P5, at: 0 }
  return Number(avalanche(foldTail(view, at, word(hash + BigInt(bytes.length)))) & 0xffffffffn)
}

// --- internal ---

const P1 = 0x9e3779b185ebca87n
const P2 = 0xc2b2ae3d27d4eb4fn
const P3 = 0x165667b19e3779f9n
const P4 = 0x85ebca77c2b2ae63n
const P5 = 0x27d4eb2f165667c5n

function word(value: bigint): bigint {
  return BigInt.asUintN(64, value)
}

function rotate(value: bigint, by: bigint): bigint {
  return word(value << by) | (value >> (64n - by))
}

function round(lane: bigint, input: bigint): bigint {
  return word(rotate(word(lane + input * P2), 31n) * P1)
}

/** Four lanes over stripes of 32 bytes. */
function foldStripes(view: DataView): { hash: bigint; at: number } {
  let [a, b, c, d] = [word(P1 + P2), P2, 0n, word(-P1)]
  let at = 0
  for (; at + 32 <= view.byteLength; at += 32) {
    a = round(a, view.getBigUint64(at, true))
    b = round(b, view.getBigUint64(at + 8, true))
    c = round(c, view.getBigUint64(at + 16, true))
    d = round(d, view.getBigUint64(at + 24, true))
  }
  let hash = word(rotate(a, 1n) + rotate(b, 7n) + rotate(c, 12n) + rotate(d, 18n))
  for (const lane of [a, b, c, d]) hash = word((hash ^ round(0n, lane)) * P1 + P4)
  return { hash, at }
}

function foldTail(view: DataView, from: number, start: bigint): bigint {
  let [hash, at] = [start, from]
  for (; at + 8 <= view.byteLength; at += 8) {
    hash = word(rotate(hash ^ round(0n, view.getBigUint64(at, true)), 27n) * P1 + P4)
  }
  if (at + 4 <= view.byteLength) {
    hash = word(rotate(hash ^ word(BigInt(view.getUint32(at, true)) * P1), 23n) * P2 + P3)
    at += 4
  }
  for (; at < view.byteLength; at++) hash = word(rotate(hash ^ word(BigInt(view.getUint8(at)) * P5), 11n) * P1)
  return hash
}

function avalanche(value: bigint): bigint {
  let hash = value
  hash = word((hash ^ (hash >> 33n)) * P2)
  hash = word((hash ^ (hash >> 29n)) * P3)
  return hash ^ (hash >> 32n)
}
