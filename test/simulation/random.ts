/** A small seeded generator (sfc32): the only source of chance in a simulation. */
export class Random {
  #a: number
  #b = 0x9e3779b9
  #c = 0x243f6a88
  #counter = 1

  constructor(seed: number) {
    this.#a = seed >>> 0
    for (let i = 0; i < 12; i++) this.bits()
  }

  bits(): number {
    const out = (this.#a + this.#b + this.#counter++) | 0
    this.#a = this.#b ^ (this.#b >>> 9)
    this.#b = (this.#c + (this.#c << 3)) | 0
    this.#c = (((this.#c << 21) | (this.#c >>> 11)) + out) | 0
    return out >>> 0
  }

  /** A whole number from 0, below `count`. */
  below(count: number): number {
    return Math.floor((this.bits() / 2 ** 32) * count)
  }

  /** True once in `times`. */
  onceIn(times: number): boolean {
    return this.below(times) === 0
  }

  pick<T>(items: readonly T[]): T {
    return items[this.below(items.length)]!
  }

  /** One of the keys, each as likely as its weight says. */
  weighted<K extends string>(weights: Readonly<Record<K, number>>): K {
    const entries = Object.entries(weights) as [K, number][]
    let at = this.below(entries.reduce((sum, [, weight]) => sum + weight, 0))
    for (const [key, weight] of entries) {
      at -= weight
      if (at < 0) return key
    }
    throw new Error('expected a weight above 0, found none')
  }
}
