import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { SessionEvent } from '@palimpsest/session'
import { createJsonlBackend } from '@palimpsest/session-persistence-jsonl'
import { Command } from 'commander'
import { action, type Context } from '../context.js'
import { escapeLine, shorten } from '../escape.js'
import { usageError } from '../failure.js'
import { watchInterrupts } from '../run/interrupts.js'
import { writeProject } from './project.js'
import { type EditReport, type Place, readEvents, replaceAndRestore, runToTheEnd, runUntilKilled } from './stages.js'

/** `palimpsest demo`: the whole promise in seconds, offline, with nothing faked. */
export function demoCommand(): Command {
  return new Command('demo')
    .description('Show an agent that is killed in mid-tool and goes on from the truth; offline, in a temporary folder')
    .action(action(runDemo))
}

// --- internal ---

async function runDemo({ out, storeFlag }: Context): Promise<undefined> {
  if (storeFlag !== '') {
    throw usageError(
      '--store: expected none, as the demo runs in a temporary folder of its own and prints where; leave it out',
    )
  }
  // The way out by `exit` takes the agent along.
  const interrupts = watchInterrupts(() => process.exit(interrupts.exitCode), process.exit)
  const folder = mkdtempSync(join(tmpdir(), 'palimpsest-demo-'))
  const directory = join(folder, 'sessions')
  const place: Place = {
    project: join(folder, 'project'),
    directory,
    id: 'demo',
    backend: createJsonlBackend({ directory }),
  }
  const { bold, dim } = out.colors
  const title = (text: string) => out.line(`\n${bold(text)}`)

  writeProject(place.project)
  title('1. An agent mends a small failing program, with real tools and a real log')
  const killed = await runUntilKilled(place)
  const first = await readEvents(place)
  showConversation(out, first)

  title(`2. Process ${killed} was killed with SIGKILL while a tool ran. This is where the log ends`)
  showEvents(out, first.slice(-2))

  const second = await runToTheEnd(place)
  const events = await readEvents(place)
  title(`3. Process ${second} opened the log. It closed the turn with the truth, before anything else`)
  const repaired = events.slice(first.length).filter(event => event.seq <= endOfRepair(events, first.length))
  showEvents(out, repaired)
  out.line(dim('\n   … and the agent checks before it tries again:\n'))
  showConversation(out, events.slice(first.length + repaired.length))

  title('4. A range replaced by a summary, and restored: two more facts, nothing rewritten')
  const edit = await replaceAndRestore(place)
  showEdit(out, edit)

  const file = join(directory, 'demo.jsonl')
  title('What is left')
  out.line(`   ${(await readEvents(place)).length} events, one a line: ${escapeLine(file)}`)
  showNextCommands(out, directory, edit.node)
  if (out.isJson) out.json({ directory, file, id: place.id, killed, second, repaired, edit })
  await place.backend.close()
  interrupts.stop()
  if (!edit.isSame) throw new Error('expected the restored surface to be byte-equal, found a difference')
  return undefined
}

function endOfRepair(events: readonly SessionEvent[], from: number): number {
  return events.findIndex(({ seq, type }) => seq >= from && type === 'turn/end')
}

/** What was said and done, one line a message. */
function showConversation(out: Context['out'], events: readonly SessionEvent[]): void {
  const { cyan, dim, green } = out.colors
  for (const event of events) {
    if (event.type === 'user/message') out.line(`   ${green('user ')} ${firstText(event.data.message.content)}`)
    if (event.type === 'assistant/message') out.line(`   ${cyan('agent')} ${firstText(event.data.message.content)}`)
    if (event.type === 'tool/call')
      out.line(`   ${dim(`  → ${event.data.toolName} ${oneLine(event.data.arguments, 80)}`)}`)
    if (event.type === 'tool/result') out.line(`   ${dim(`  ← ${oneLine(outputText(event), 80)}`)}`)
  }
}

function showEvents(out: Context['out'], events: readonly SessionEvent[]): void {
  const { bold, dim } = out.colors
  for (const event of events) {
    const sources = event.sourceEventSeqs === undefined ? '' : dim(` from ${event.sourceEventSeqs}`)
    const { error } = event.data as { error?: { code: string } }
    const detail = error?.code ?? oneLine(JSON.stringify(event.data), 72)
    out.line(
      `   ${String(event.seq).padStart(4)}  ${event.type.padEnd(18)} ${error ? bold(detail) : dim(detail)}${sources}`,
    )
  }
}

function showEdit(out: Context['out'], { range, node, messages, characters, isSame }: EditReport): void {
  out.line(`   before    ${messages.before} messages, ${characters.before} characters`)
  out.line(
    `   replaced  ${messages.replaced} messages, ${characters.replaced} characters: event ${node} stands for ${range.join('…')}`,
  )
  out.line(`   restored  ${messages.restored} messages, byte for byte the same: ${isSame ? 'yes' : 'NO'}`)
}

function showNextCommands(out: Context['out'], directory: string, node: number): void {
  const main = relative(process.cwd(), fileURLToPath(new URL('../main.js', import.meta.url)))
  const { dim } = out.colors
  const commands: [string, string][] = [
    ['log demo', 'every event'],
    ['show demo', 'what the model sees now'],
    ['at demo 1.5', 'the exact request of turn 1, step 5'],
    [`explain demo ${node}`, 'where that summary is now, and why'],
    ['doctor demo', 'checks the stored session'],
  ]
  out.line('\n   Try next:')
  for (const [command, says] of commands) {
    out.line(`   node ${main} ${command} --store ${directory}   ${dim(`# ${says}`)}`)
  }
}

function firstText(content: readonly { type: string }[]): string {
  const part = content.find(({ type }) => type === 'text') as { text: string } | undefined
  return escapeLine(part?.text ?? '')
}

function outputText({ data }: SessionEvent<'tool/result'>): string {
  const output = data.message.content[0]?.output
  return output !== undefined && 'value' in output && typeof output.value === 'string'
    ? output.value
    : JSON.stringify(output)
}

function oneLine(text: string, length: number): string {
  return shorten(text.trim().replaceAll(/\s+/g, ' '), length)
}
