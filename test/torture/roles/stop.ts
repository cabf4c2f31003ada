import { once } from 'node:events'
import type { SessionBackend } from '@palimpsest/session-persistence'
import { createByHand, forkByHand, type Hand, openByHand } from '../hand.js'
import type { Command, Said, StopCommand, StopOperation } from '../said.js'
import { seeded } from '../seeded.js'
import { openStore } from '../stores.js'
import { appendTurn } from '../turns.js'
import { codeOf, say } from './say.js'

/**
 * For each n, one session `s<n>`: stops before the n-th call of the operation, says how it ended once it
 * goes on, and on a line of standard input tries to write once more. One more line leads to the next n.
 */
export async function stop({ operation, store, place, ...faults }: Command & StopCommand): Promise<void> {
  const stopper = new Stopper()
  const backend = openStore(store, place, { ...faults, beforeCall: () => stopper.beforeCall() })
  const { prepare, act } = OPERATIONS[operation]
  for (let n = 1; ; n++) {
    const id = `s${n}`
    const prepared = await prepare(backend, id)
    stopper.arm(n, id)
    let acted: Hand | undefined
    let acknowledged: Said['acknowledged']
    const code = await codeOf(
      (async () => {
        acted = await act(backend, id, prepared)
        acknowledged = await acted?.acknowledge()
      })(),
    )
    if (!stopper.disarm()) return say({ finished: n - 1 })
    say({ outcome: { ...(code !== undefined && { code }), ...(acknowledged !== undefined && { acknowledged }) } })
    await once(process.stdin, 'data')
    say({ outcome: await lastWord(acted ?? prepared) })
    // All sessions of a dense store share one write lock: it must not stop again while others still work.
    await once(process.stdin, 'data')
  }
}

// --- internal ---

interface Operation {
  /** Gives the hand that `act` works with, if it needs one. */
  prepare(backend: SessionBackend, id: string): Promise<Hand | undefined>
  /** Gives the hand whose events are to be acknowledged. */
  act(backend: SessionBackend, id: string, prepared: Hand | undefined): Promise<Hand | undefined>
}

const OPERATIONS: Record<StopOperation, Operation> = {
  append: { prepare: written, act: async (_, __, hand) => write(hand!, 0) },
  pack: { prepare: written, act: async (_, __, hand) => write(hand!, 80) },
  create: { prepare: nothing, act: async (backend, id) => write(await createByHand(backend, id), 2) },
  takeover: { prepare: written, act: async (backend, id) => write(await openByHand(backend, id, true), 2) },
  fork: {
    prepare: async (backend, id) => void (await (await written(backend, `${id}p`)).close()),
    act: async (backend, id) => write(await forkByHand(backend, `${id}p`, id, 5), 2),
  },
  remove: {
    prepare: async (backend, id) => void (await (await written(backend, id)).close()),
    act: async (backend, id) => void (await backend.remove(id)),
  },
}

async function nothing(): Promise<undefined> {}

async function written(backend: SessionBackend, id: string): Promise<Hand> {
  const hand = write(await createByHand(backend, id), 4)
  await hand.acknowledge()
  return hand
}

function write(hand: Hand, chunks: number): Hand {
  for (const _ of appendTurn(hand.session, seeded(chunks), chunks));
  return hand
}

async function lastWord(hand: Hand | undefined): Promise<NonNullable<Said['outcome']>> {
  if (hand === undefined) return {}
  const code = await codeOf(write(hand, 1).flush())
  await codeOf(hand.close())
  return code === undefined ? {} : { code }
}

/** A signal may stop other threads first: this one waits for it. */
const SIGNAL_MS = 50
const NEVER = new Int32Array(new SharedArrayBuffer(4))

class Stopper {
  #left = 0
  #id = ''

  arm(n: number, id: string): void {
    this.#left = n
    this.#id = id
  }

  /** Whether it has stopped since it was armed. */
  disarm(): boolean {
    const hasStopped = this.#left === 0
    this.#left = 0
    return hasStopped
  }

  beforeCall(): void {
    if (this.#left === 0) return
    this.#left -= 1
    if (this.#left > 0) return
    say({ stopping: this.#id })
    process.kill(process.pid, 'SIGSTOP')
    Atomics.wait(NEVER, 0, 0, SIGNAL_MS)
  }
}
