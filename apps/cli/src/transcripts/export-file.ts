import { type Lease, PersistenceError, type SessionBackend } from '@palimpsest/session-persistence'
import type { Context } from '../context.js'
import { escapeLine } from '../escape.js'
import { EXIT, type ExitCode } from '../exit-codes.js'
import { CommandError, usageError } from '../failure.js'
import { resolveId } from '../session-id.js'
import { openStore, storePlace } from '../store.js'
import { readStored } from '../stored-session.js'
import { counted } from '../view/figures.js'
import { pathWord } from '../view/shell-word.js'
import { EXPORT_NAMES } from './export-formats.js'
import { exportSession } from './export-session.js'
import { writeNew } from './fix-file.js'
import { isPath } from './is-path.js'
import { lossText } from './loss-text.js'
import { type Read, readFile, readSession } from './read-file.js'
import { type GivenHealOptions, type GivenReadOptions, healOptions, oneOf } from './read-options.js'

export interface ExportFileOptions extends GivenReadOptions, GivenHealOptions {
  to: string
  out?: string
  redact?: boolean
}

/** Writes a session or a transcript in another format, to stdout or into a new file. */
export async function exportFile(context: Context, given: string, options: ExportFileOptions): Promise<ExitCode> {
  if (options.to === 'palimpsest') return move(context, given, options)
  const { out } = context
  const format = oneOf('--to', options.to, EXPORT_NAMES)
  const { target: _, ...heal } = healOptions(options)
  const read = await readGiven(context, given, options)
  const { text, loss } = await exportSession(read, format, { ...heal, ...(options.redact && { redact: true }) })
  if (options.out === undefined) out.write(text)
  else {
    writeNew(options.out, text)
    if (out.isJson) out.json({ file: options.out, format, bytes: Buffer.byteLength(text), loss })
    else out.line(`${escapeLine(options.out)}: ${counted(Buffer.byteLength(text), 'byte')} of ${format}`)
  }
  for (const each of loss) out.note(`left out: ${lossText(each)}`)
  return EXIT.ok
}

// --- internal ---

async function readGiven(context: Context, given: string, options: ExportFileOptions): Promise<Read> {
  if (!isPath(given)) return readSession((await readStored(context, given)).session)
  return readFile(given, options)
}

/** Copies a stored session, event by event, into another store; the first one keeps its own. */
async function move(context: Context, given: string, { out: place, redact }: ExportFileOptions): Promise<ExitCode> {
  if (isPath(given))
    throw usageError(
      `--to palimpsest: expected a session id, found a file; palimpsest import ${pathWord(given)}${context.storeFlag} makes one`,
    )
  if (redact)
    throw usageError('--redact: expected another format, found palimpsest: a copy event for event has all of it')
  if (place === undefined)
    throw usageError('--to palimpsest: expected --out with a store, found none; sqlite:FILE or a folder')
  const from = await context.existingStore()
  const id = await resolveId(from, given)
  const to = await openStore(storePlace(place))
  try {
    const length = await copy(from!, to, id)
    if (context.out.isJson) context.out.json({ id, store: place, length })
    else context.out.line(`${context.out.colors.bold(id)} is in ${escapeLine(place)} too: ${counted(length, 'event')}`)
    return EXIT.ok
  } finally {
    await to.close()
  }
}

const BATCH = 10_000

async function copy(from: SessionBackend, to: SessionBackend, id: string): Promise<number> {
  const head = await from.read(id, { from: 0, to: 0 })
  const { header, length, damage } = head!
  if (damage.length > 0)
    throw new CommandError('SESSION_DAMAGED', `expected a sound log, found damage; palimpsest doctor ${id} tells it`)
  if ((await to.read(id, { from: 0, to: 0 })) !== undefined) {
    throw new PersistenceError('SESSION_EXISTS', `session "${id}" is already in that store`)
  }
  // A fork's events are copied whole: the other store need not have its parent.
  const { parent: _, ...own } = header
  const lease = await to.acquire(id)
  try {
    for (let at = 0; at < length || at === 0; at += BATCH) {
      const { events } = (await from.read(id, { from: at, to: Math.min(at + BATCH, length) }))!
      await to.append(lease, own, events)
    }
  } catch (error) {
    await undo(to, lease)
    throw error
  }
  await lease.release()
  return length
}

async function undo(to: SessionBackend, lease: Lease): Promise<void> {
  await lease.release()
  await to.remove(lease.id).catch(() => {})
}
