import { type WatchItem, watchSession } from '@palimpsest/session-persistence'
import { Command } from 'commander'
import { action, type Context } from '../context.js'
import type { ExitCode } from '../exit-codes.js'
import type { Output } from '../output.js'
import { watchInterrupts } from '../run/interrupts.js'
import { resolveId } from '../session-id.js'
import { damageLine } from '../view/damage.js'
import { eventLine } from '../view/event.js'
import { withExamples } from './examples.js'
import { parseCount } from './parse-count.js'

export function watchCommand(): Command {
  const command = new Command('watch')
    .description('Print the events as log does, and then go on with what is written, until Ctrl-C')
    .argument('[id]', 'a session id, its unique beginning, or "last"', 'last')
    .option('--from <seq>', 'from this seq on', parseCount)
    .action(action(watch))
  return withExamples(
    command,
    'watch',
    'watch 3f2a --from 120',
    'watch last --json | jq -r \'select(.type == "tool/call")\'',
  )
}

// --- internal ---

async function watch(context: Context, given: string, { from = 0 }: { from?: number }): Promise<ExitCode | undefined> {
  const { out } = context
  const backend = await context.existingStore()
  const id = await resolveId(backend, given)
  const stop = new AbortController()
  const interrupts = watchInterrupts(
    () => stop.abort(),
    exitCode => process.exit(exitCode),
  )
  try {
    for await (const item of watchSession(backend!, id, { from, signal: stop.signal })) {
      print(out, id, item)
      await out.caughtUp()
    }
    return interrupts.exitCode
  } finally {
    interrupts.stop()
  }
}

function print(out: Output, id: string, item: WatchItem): void {
  if (item.kind === 'damage') out.note(`${id}: ${damageLine(item.damage)}`)
  else if (item.kind === 'live' && out.isJson) out.json({ live: true, length: item.length })
  else if (item.kind === 'live') out.line(out.colors.dim('— live —'))
  else if (out.isJson) out.json(item.event)
  else out.line(eventLine(item.event, out.colors))
}
