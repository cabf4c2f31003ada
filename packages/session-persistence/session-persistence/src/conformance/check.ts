import type { SessionBackend } from '../port.js'

/** A backend over data of its own, and the way to look at that data as another process would. */
export interface TestStore {
  readonly backend: SessionBackend
  reopen(): Promise<SessionBackend>
}

/** Registers one check of the kit. */
export type Check = (what: string, body: (store: TestStore) => Promise<void>) => void

class ConformanceError extends Error {
  override readonly name = 'ConformanceError'
}

/** Byte for byte the same JSON. */
export function same(actual: unknown, expected: unknown, what: string): void {
  const [found, wanted] = [JSON.stringify(actual), JSON.stringify(expected)]
  if (found !== wanted)
    throw new ConformanceError(`${what}: expected ${excerpt(wanted, found)}, found ${excerpt(found, wanted)}`)
}

export function holds(condition: boolean, what: string): asserts condition {
  if (!condition) throw new ConformanceError(what)
}

/** The promise rejects with one of the codes, in an error that has a message. */
export async function refuses(
  promise: Promise<unknown>,
  codes: string | readonly string[],
  what: string,
): Promise<Error> {
  const wanted = typeof codes === 'string' ? [codes] : codes
  const error = await failureOf(promise, what)
  const { code, message } = error as Error & { code?: unknown }
  if (!wanted.includes(String(code))) {
    throw new ConformanceError(`${what}: expected ${wanted.join(' or ')}, found ${String(code)} (${message})`, {
      cause: error,
    })
  }
  holds(message !== '', `${what}: expected a message beside the code ${String(code)}, found none`)
  return error
}

/** The very error a promise rejects with. */
export async function failureOf(promise: Promise<unknown>, what: string): Promise<Error> {
  try {
    await promise
  } catch (error) {
    holds(error instanceof Error, `${what}: expected an Error, found ${String(error)}`)
    return error
  }
  throw new ConformanceError(`${what}: expected a refusal, found none`)
}

// --- internal ---

/** The neighbourhood of the first difference. */
function excerpt(text: string | undefined, other: string | undefined): string {
  if (text === undefined) return 'undefined'
  let at = 0
  while (at < text.length && text[at] === other?.[at]) at++
  const from = Math.max(0, at - 40)
  return `${from > 0 ? '…' : ''}${text.slice(from, at + 80)}${at + 80 < text.length ? '…' : ''}`
}
