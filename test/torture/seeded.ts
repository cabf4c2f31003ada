/** A small seeded generator (mulberry32) of numbers in [0, 1), so that a failing run can be repeated. */
export type Random = () => number

export function seeded(seed: number): Random {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let x = Math.imul(state ^ (state >>> 15), 1 | state)
    x = (x + Math.imul(x ^ (x >>> 7), 61 | x)) ^ x
    return ((x ^ (x >>> 14)) >>> 0) / 2 ** 32
  }
}

/** A whole number below `end`. */
export function below(random: Random, end: number): number {
  return Math.floor(random() * end)
}

export function pick<T>(random: Random, list: readonly T[]): T {
  return list[below(random, list.length)]!
}
