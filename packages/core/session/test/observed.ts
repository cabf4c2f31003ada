import { type Session, SessionError } from '@palimpsest/session'
import { expect } from 'vitest'

/** Everything that a session shows, so that "nothing changed" can be said of the whole. */
export function observe(session: Session) {
  const { surface, length, header } = session
  const seqs = Array.from({ length }, (_, seq) => seq)
  return {
    header,
    length,
    events: session.events,
    surface: {
      size: surface.size,
      first: surface.first,
      last: surface.last,
      generation: surface.generation,
      seqs: surface.seqs(),
      nodes: [-1, ...seqs, length].map(seq => [surface.has(seq), surface.coveredBy(seq), surface.shadowed(seq)]),
    },
    messages: session.deriveMessages(),
    request: session.requestAt(length),
    prefixes: [...seqs, length].map(n => [session.surfaceAt(n), session.messagesAt(n), session.requestAt(n)]),
  }
}

/** The refusal that `body` throws; anything else fails the test. */
export function refusal(body: () => unknown): SessionError {
  let thrown: unknown
  try {
    body()
  } catch (error) {
    thrown = error
  }
  expect(thrown).toBeInstanceOf(SessionError)
  return thrown as SessionError
}

/** `body` is refused with `code`, says each of `words`, and changes nothing that `session` shows. */
export function expectRefused(session: Session, body: () => unknown, code: string, ...words: string[]): void {
  const before = observe(session)
  const messages = session.deriveMessages()
  let told = 0
  const off = session.on(() => told++)
  const error = refusal(body)
  off()
  expect(error.code).toBe(code)
  for (const word of words) expect(error.message).toContain(word)
  expect(told).toBe(0)
  expect(observe(session)).toStrictEqual(before)
  expect(session.deriveMessages()).toBe(messages)
}

export function isDeeplyFrozen(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return true
  return Object.isFrozen(value) && Reflect.ownKeys(value).every(key => isDeeplyFrozen(Reflect.get(value, key)))
}
