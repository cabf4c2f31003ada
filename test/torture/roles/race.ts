import type { SessionBackend } from '@palimpsest/session-persistence'
import { type Hand, openByHand } from '../hand.js'
import type { Command, RaceCommand } from '../said.js'
import { below, type Random, seeded } from '../seeded.js'
import { openStore } from '../stores.js'
import { appendTurn } from '../turns.js'
import { say } from './say.js'

/** What may happen to one of many that want the same session at once. */
const BEATEN: readonly unknown[] = ['SESSION_FENCED', 'SESSION_LOCKED', 'STORE_BUSY']
const LONGEST_REIGN_TURNS = 12

/** Takes over, writes for a while or until it is fenced, and takes over again. */
export async function race({ store, place, seed, id, takeovers, ...faults }: Command & RaceCommand): Promise<void> {
  const backend = openStore(store, place, faults)
  const random = seeded(seed)
  for (let reigns = 0; reigns < takeovers; ) if (await reign(backend, id, random)) reigns += 1
  await backend.close()
}

// --- internal ---

/** Whether it came to power at all. */
async function reign(backend: SessionBackend, id: string, random: Random): Promise<boolean> {
  let hand: Hand | undefined
  try {
    hand = await openByHand(backend, id, true)
    for (let turns = 1 + below(random, LONGEST_REIGN_TURNS); turns > 0; turns--) {
      for (const _ of appendTurn(hand.session, random, below(random, 12))) {
        if (random() < 0.5) say({ acknowledged: await hand.acknowledge() })
      }
      say({ acknowledged: await hand.acknowledge() })
    }
    await hand.close()
  } catch (error) {
    if (!BEATEN.includes((error as { code?: string }).code)) throw error
    if (hand !== undefined) say({ fenced: hand.epoch })
    await hand?.close().catch(() => {})
  }
  return hand !== undefined
}
