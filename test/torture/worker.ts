// A process that works on a store and says what it does. Bundled and started by crew.ts.
import { hold } from './roles/hold.js'
import { race } from './roles/race.js'
import { say } from './roles/say.js'
import { stop } from './roles/stop.js'
import { work } from './roles/work.js'
import type { Command } from './said.js'

const command = JSON.parse(process.argv[2]!) as Command
try {
  if (command.role === 'work') await work(command)
  else if (command.role === 'race') await race(command)
  else if (command.role === 'stop') await stop(command)
  else await hold(command)
} catch (error) {
  const { code, stack } = error as { code?: string; stack?: string }
  say({ failed: code ?? String(stack) })
}
process.exit(0)
