/** Numbers for names, from 0, so that a row holds four bytes in place of a string. */
export class Names {
  readonly #numbers = new Map<string, number>()

  get size(): number {
    return this.#numbers.size
  }

  /** -1 for no name. */
  of(name: string | undefined): number {
    if (name === undefined) return -1
    const known = this.#numbers.get(name)
    if (known !== undefined) return known
    this.#numbers.set(name, this.#numbers.size)
    return this.#numbers.size - 1
  }

  /** -1 for a name that was never given. */
  find(name: string): number {
    return this.#numbers.get(name) ?? -1
  }

  /** The name of a number. Looks at all of them. */
  name(number: number): string | undefined {
    for (const [name, each] of this.#numbers) if (each === number) return name
    return undefined
  }
}
