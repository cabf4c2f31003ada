import { sep } from 'node:path'

/** The names of a store's files. An id holds no dot, so the text before the first one is the id. */
export class Paths {
  readonly #prefix: string

  /** `directory` is absolute. */
  constructor(directory: string) {
    this.#prefix = directory.endsWith(sep) ? directory : directory + sep
  }

  at(name: string): string {
    return this.#prefix + name
  }

  log(id: string): string {
    return this.at(`${id}.jsonl`)
  }

  index(id: string): string {
    return this.at(`${id}.index`)
  }

  /** The `depth`-th file below a fork's own: its parent's log, then that one's parent's, … */
  base(id: string, depth: number): string {
    return this.at(depth === 1 ? `${id}.base` : `${id}.base.${depth}`)
  }

  baseIndex(id: string, depth: number): string {
    return `${this.base(id, depth)}.index`
  }

  lock(id: string, epoch: number): string {
    return this.at(`${id}.lock.${epoch}`)
  }

  torn(id: string, offset: number, count: number): string {
    return this.at(`${id}.torn-${offset}-${count}`)
  }

  /** A file in the making; whoever holds a later epoch removes it, and so stops its maker. */
  temporary(id: string, epoch: number): string {
    temporaries += 1
    return this.at(`${id}.tmp-${epoch}-${process.pid}-${temporaries}`)
  }
}

export function idOf(name: string): string {
  return name.slice(0, name.indexOf('.'))
}

/** The last epoch that a name can hold: above it nobody would find the next one. */
export const LAST_EPOCH = 10 ** 15 - 1

/** The epoch of a lock's name, else `undefined`. */
export function lockEpoch(name: string): number | undefined {
  const digits = /^[^.]+\.lock\.([1-9][0-9]{0,14})$/.exec(name)?.[1]
  return digits === undefined ? undefined : Number(digits)
}

/** The epoch whose work a temporary file is, else `undefined`. */
export function temporaryEpoch(name: string): number | undefined {
  const digits = /^[^.]+\.tmp-([0-9]+)-/.exec(name)?.[1]
  return digits === undefined ? undefined : Number(digits)
}

// --- internal ---

let temporaries = 0
