import type { Admission, Input } from '@palimpsest/host'
import type { Part, UserMessage } from '@palimpsest/session'
import { AgentError } from './errors.js'
import { requireContent, requireOrigin, requireParts } from './misuse.js'
import { sealData } from './seal.js'

/** One input on its way into the log. */
export interface Entry {
  readonly input: Input
  readonly message: UserMessage
  /** Settles `admitted`: the seq once it is durable, or why it never will be. */
  resolve(seq: number): void
  reject(error: unknown): void
}

/** What was sent and is not yet logged, in the order in which it came. */
export interface Inbox {
  add(entry: Entry): void
  /** Whether something waits that makes a turn: a send, or steering that found no step. */
  wakes(): boolean
  steers(): boolean
  takeTurn(): Entry[]
  takeStep(): Entry[]
  takeAll(): Entry[]
  putBack(entries: readonly Entry[]): void
}

export function createInbox(): Inbox {
  let waiting: Entry[] = []
  const take = (...kinds: Input['kind'][]) => {
    const taken = waiting.filter(({ input }) => kinds.includes(input.kind))
    waiting = waiting.filter(entry => !taken.includes(entry))
    return taken
  }
  const holds = (...kinds: Input['kind'][]) => waiting.some(({ input }) => kinds.includes(input.kind))
  return {
    add: entry => {
      waiting.push(entry)
    },
    wakes: () => holds('send', 'steer'),
    steers: () => holds('steer'),
    takeTurn: () => take('send', 'steer'),
    takeStep: () => take('steer', 'inject'),
    takeAll: () => take('send', 'steer', 'inject'),
    putBack: entries => {
      waiting = [...entries, ...waiting]
    },
  }
}

/**
 * A snapshot of what was given, on nobody's list yet. Throws `NOT_LOSSLESS_JSON`, or `EVENT_DATA_INVALID` for what is
 * neither text nor parts.
 */
export function createEntry(
  kind: Input['kind'],
  content: string | readonly Part[],
  origin: string | undefined,
): { entry: Entry; admission: Admission } {
  requireContent(content)
  requireOrigin(origin)
  const parts = typeof content === 'string' ? [{ type: 'text' as const, text: content }] : content
  const unsealed = { role: 'user' as const, content: parts as UserMessage['content'] }
  const { message } = sealData('context/message', { message: unsealed, origin: origin ?? '' })
  requireParts(message.content)
  const { promise: admitted, resolve, reject } = deferred<number>()
  // Whoever does not ask for the outcome has not failed.
  admitted.catch(() => {})
  const input: Input = Object.freeze({ kind, content: message.content, ...(origin === undefined ? {} : { origin }) })
  return { entry: { input, message, resolve, reject }, admission: { admitted } }
}

export function rejectDisposed(entry: Entry): void {
  entry.reject(new AgentError('AGENT_DISPOSED', 'expected a live agent, but it was disposed before this was admitted'))
}

// --- internal ---

function deferred<T>() {
  let resolve!: (value: T) => void
  let reject!: (error: unknown) => void
  const promise = new Promise<T>((yes, no) => {
    resolve = yes
    reject = no
  })
  return { promise, resolve, reject }
}
