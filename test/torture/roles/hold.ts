import { createInterface } from 'node:readline'
import { createByHand, openByHand } from '../hand.js'
import type { Command, HoldCommand } from '../said.js'
import { seeded } from '../seeded.js'
import { openStore } from '../stores.js'
import { appendTurn } from '../turns.js'
import { say } from './say.js'

/** One turn for each line on standard input, until that ends. */
export async function hold(command: Command & HoldCommand): Promise<void> {
  const { id, store, place, takeover = false } = command
  const backend = openStore(store, place, command)
  const isStored = (await backend.read(id, { from: 0, to: 0 })) !== undefined
  const hand = isStored ? await openByHand(backend, id, takeover) : await createByHand(backend, id)
  const random = seeded(hand.epoch)
  say({ acknowledged: await hand.acknowledge() })
  for await (const _ of createInterface({ input: process.stdin })) {
    for (const _ of appendTurn(hand.session, random, 3));
    say({ acknowledged: await hand.acknowledge() })
  }
  await hand.close()
  await backend.close()
}
