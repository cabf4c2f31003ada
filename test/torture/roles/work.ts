import { once } from 'node:events'
import { mendSession, type SessionBackend } from '@palimpsest/session-persistence'
import { createByHand, forkByHand, type Hand, openByHand } from '../hand.js'
import type { Command, Target, WorkCommand } from '../said.js'
import { below, type Random, seeded } from '../seeded.js'
import { openStore } from '../stores.js'
import { appendTurn, digestOf } from '../turns.js'
import { codeOf, say } from './say.js'

/** A session that has grown this long is left, so that a round costs the same in a long run. */
const LONG_EVENTS = 600
const TARGET_SHARE = 0.8

/** Never resolves: whoever started it ends it. */
export async function work(command: Command & WorkCommand): Promise<never> {
  if (command.isWaiting) await once(process.stdin, 'data')
  const labour = new Labour(command)
  await labour.begin()
  for (;;) await labour.go()
}

// --- internal ---

class Labour {
  readonly #command: Command & WorkCommand
  readonly #random: Random
  #backend: SessionBackend
  #hand!: Hand
  #made = 0

  constructor(command: Command & WorkCommand) {
    this.#command = command
    this.#random = seeded(command.seed)
    this.#backend = openStore(command.store, command.place, command)
  }

  async begin(): Promise<void> {
    const { main } = this.#command
    const isStored = (await this.#backend.read(main, { from: 0, to: 0 })) !== undefined
    if (!isStored) say({ making: main })
    this.#hand = isStored ? await openByHand(this.#backend, main) : await createByHand(this.#backend, main)
    await acknowledge(this.#hand)
  }

  async go(): Promise<void> {
    const target = this.#random() < TARGET_SHARE ? this.#command.target : 'append'
    say({ doing: target })
    await this.#operations[target]()
    if (this.#hand.session.length > LONG_EVENTS) await this.#leave()
  }

  readonly #operations: Record<Target, () => Promise<void>> = {
    append: () => this.#turn(this.#hand, below(this.#random, 8)),
    pack: () => this.#turn(this.#hand, 40 + below(this.#random, 80)),
    fork: () => this.#fork(),
    mend: () => this.#mend(),
    takeover: () => this.#takeover(),
    remove: () => this.#remove(),
  }

  async #turn(hand: Hand, chunks: number): Promise<void> {
    for (const _ of appendTurn(hand.session, this.#random, chunks)) if (this.#random() < 0.5) await acknowledge(hand)
    await acknowledge(hand)
  }

  async #fork(): Promise<void> {
    const { id: parent, length } = this.#hand.session
    const id = this.#name('f')
    await acknowledge(this.#hand)
    const shared = below(this.#random, length + 1)
    say({ making: id })
    const child = await forkByHand(this.#backend, parent, id, shared)
    say({ forked: { id, parent, length: shared } })
    await acknowledge(child)
    await this.#turn(child, 3)
    await child.close()
  }

  async #mend(): Promise<void> {
    const id = this.#name('x')
    say({ making: id })
    await mendSession(this.#backend, this.#command.damaged, { id })
    const { events, length } = (await this.#backend.read(id))!
    say({ acknowledged: { id, from: 0, to: length, digest: digestOf(events), epoch: 0 } })
  }

  /** From another backend of the same process, which is another owner all the same. */
  async #takeover(): Promise<void> {
    const [old, before] = [this.#hand, this.#backend]
    this.#backend = openStore(this.#command.store, this.#command.place)
    this.#hand = await openByHand(this.#backend, old.session.id, true)
    await acknowledge(this.#hand)
    for (const _ of appendTurn(old.session, this.#random, 1));
    const code = await codeOf(old.flush())
    if (code !== 'SESSION_FENCED') throw new Error(`expected the owner before to be fenced, found ${code}`)
    await codeOf(old.close())
    await before.close()
    await this.#turn(this.#hand, 2)
  }

  async #remove(): Promise<void> {
    const id = 'r'
    if ((await this.#backend.read(id, { from: 0, to: 0 })) === undefined) {
      say({ making: id })
      const hand = await createByHand(this.#backend, id)
      await this.#turn(hand, below(this.#random, 20))
      await hand.close()
    }
    say({ removing: id })
    await this.#backend.remove(id)
    say({ removed: id })
  }

  async #leave(): Promise<void> {
    await this.#hand.close()
    const id = this.#name('m')
    say({ making: id })
    this.#hand = await createByHand(this.#backend, id)
    await acknowledge(this.#hand)
  }

  #name(kind: string): string {
    this.#made += 1
    return `${kind}${this.#command.seed}_${this.#made}`
  }
}

async function acknowledge(hand: Hand): Promise<void> {
  say({ acknowledged: await hand.acknowledge() })
}
