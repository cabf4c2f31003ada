import type { SessionEvent } from '@palimpsest/session'
import type { SessionBackend, SessionSummary } from '@palimpsest/session-persistence'
import { Command } from 'commander'
import { action, type Context } from '../context.js'
import { escapeLine, shorten } from '../escape.js'
import { EXIT, type ExitCode } from '../exit-codes.js'
import { describeFailure } from '../failure.js'
import { listAll } from '../session-id.js'
import { age, bytes } from '../view/figures.js'
import { table } from '../view/table.js'
import { commandTitle, plainTitle } from '../view/title.js'
import { withExamples } from './examples.js'
import { listBytes } from './ls-bytes.js'

export function lsCommand(): Command {
  const command = new Command('ls')
    .description('List the sessions of the store, the newest first: title, age, turns, events, size, state')
    .option('--bytes', 'tell where the bytes are, of each session and in total, instead')
    .action(action(list))
  return withExamples(command, 'ls', "ls --json | jq -r '.[].id'", 'ls --store ./sessions', 'ls --bytes')
}

// --- internal ---

/** `turns` and `openTurn` are unknown where the log cannot be read. */
interface Row extends Omit<SessionSummary, 'lastTurn'> {
  turns?: number
  openTurn?: boolean
}

async function list(context: Context, { bytes: isBytes = false }: { bytes?: boolean }): Promise<ExitCode> {
  const { out, place } = context
  const backend = await context.existingStore()
  const summaries = await listAll(backend, { turns: !isBytes })
  if (isBytes) await listBytes(context, backend, summaries)
  else if (out.isJson) out.json(await inspectAll(backend, summaries))
  else if (summaries.length > 0) print(await withTypedTitles(backend!, await inspectAll(backend, summaries)), context)
  if (summaries.length === 0) out.line(`No sessions in ${escapeLine(place)}. Start one: palimpsest run "task"`)
  return EXIT.ok
}

async function inspectAll(backend: SessionBackend | undefined, summaries: readonly SessionSummary[]): Promise<Row[]> {
  const rows: Row[] = []
  for (const summary of summaries) rows.push(await inspect(backend!, summary))
  return rows
}

/** One session that cannot be read is a row like any other. */
async function inspect(backend: SessionBackend, { lastTurn, ...summary }: SessionSummary): Promise<Row> {
  if (summary.error !== undefined) return summary
  if (lastTurn !== undefined) return { ...summary, turns: lastTurn.turn, openTurn: lastTurn.isOpen }
  try {
    return { ...summary, ...(await readTurns(backend, summary)) }
  } catch (error) {
    const { code, message } = describeFailure(error)
    return { ...summary, error: { code, message } }
  }
}

/** The number of the last turn is how many there are, and it stands near the end: the tail is read, doubled until it is found. */
async function readTurns(backend: SessionBackend, { id, length }: SessionSummary) {
  if (length === undefined) return {}
  for (let tail = 256; ; tail *= 2) {
    const from = Math.max(0, length - tail)
    const log = await backend.read(id, { from })
    const edge = log?.events.findLast(event => event.type === 'turn/start' || event.type === 'turn/end')
    if (edge !== undefined) return { turns: turnOf(edge), openTurn: edge.type === 'turn/start' }
    if (from === 0) return { turns: 0, openTurn: false }
  }
}

function turnOf(edge: SessionEvent): number {
  const { turn } = (edge.data ?? {}) as { turn?: unknown }
  return typeof turn === 'number' ? turn : 0
}

/** A title in which a program's markup stands first is looked for again, among the first events of its log. */
async function withTypedTitles(backend: SessionBackend, rows: readonly Row[]): Promise<Row[]> {
  const titled: Row[] = []
  for (const row of rows) {
    const isMarkup = row.title?.trimStart().startsWith('<') ?? false
    titled.push(isMarkup ? { ...row, title: await typedTitle(backend, row) } : row)
  }
  return titled
}

async function typedTitle(backend: SessionBackend, { id, title = '' }: Row): Promise<string> {
  const log = await backend.read(id, { from: 0, to: TITLE_EVENTS }).catch(() => undefined)
  const prompts = (log?.events ?? []).flatMap(event => (event.type === 'user/message' ? [textOf(event)] : []))
  const typed = prompts.map(plainTitle).find(text => text !== '')
  return typed ?? prompts.map(commandTitle).find(text => text !== undefined) ?? plainTitle(title)
}

const TITLE_EVENTS = 200

function textOf({ data }: SessionEvent<'user/message'>): string {
  return data.message.content.map(part => (Object(part) as { text?: unknown }).text ?? '').join(' ')
}

function print(rows: readonly Row[], { out }: Pick<Context, 'out'>): void {
  const cells = rows.map(row => [
    escapeLine(row.id),
    age(row.updatedAt),
    String(row.turns ?? '–'),
    String(row.length ?? '–'),
    bytes(row.bytes),
    stateOf(row),
    shorten((row.title ?? '').replace(/\s+/g, ' ').trim(), 80),
  ])
  const [head, ...lines] = table(['ID', 'AGE', 'TURNS', 'EVENTS', 'SIZE', 'STATE', 'TITLE'], cells, [1, 2, 3, 4])
  const painted = lines.map((line, index) => paint(fit(line, out.columns), rows[index]!, out))
  out.line([out.colors.bold(fit(head!, out.columns)), ...painted].join('\n'))
}

function stateOf({ error, damage = [], openTurn }: Row): string {
  if (error !== undefined) return escapeLine(`unreadable ${error.code}`)
  if (damage.length > 0) return `damaged ${[...new Set(damage.map(({ code }) => code))].join(' ')}`
  return openTurn ? 'open turn' : 'ok'
}

function fit(line: string, columns: number | undefined): string {
  return columns === undefined ? line : shorten(line, Math.max(columns, 20))
}

function paint(line: string, row: Row, { colors }: Context['out']): string {
  if (row.error !== undefined || (row.damage ?? []).length > 0) return colors.red(line)
  return row.openTurn ? colors.yellow(line) : line
}
