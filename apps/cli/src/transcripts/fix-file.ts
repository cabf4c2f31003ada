import { createHash } from 'node:crypto'
import { rmSync, statSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type { Loss } from '@palimpsest/transcripts'
import { CommandError } from '../failure.js'
import { pathWord } from '../view/shell-word.js'
import { besidePath } from './beside-path.js'
import { targetFor } from './diagnosis.js'
import { PROVIDER_FORMATS, RESUMED_BY } from './export-formats.js'
import { exportSession } from './export-session.js'
import { type Read, readFile } from './read-file.js'
import type { GivenReadOptions } from './read-options.js'
import { Tally } from './tally.js'

export interface FixedFile {
  /** The new file. */
  readonly file: string
  readonly format: string
  /** Of the mended session: another one than that of the old file, which keeps its own. */
  readonly id: string
  /** What of the old file's live history is not in the new one. */
  readonly loss: readonly Loss[]
  /** What else stays in the old file only: messages that were replaced or abandoned, rows that no request holds by their type. */
  readonly leftOut: { readonly messages: number; readonly rows: Readonly<Record<string, number>> }
  /** The agent's own command that goes on with it. */
  readonly resume: string
}

export interface GivenFixOptions extends GivenReadOptions {
  out?: string
  redact?: boolean
}

/** Writes a mended copy of a transcript beside it, or to `out`, for the agent that left it. The old file keeps its bytes. */
export async function fixFile(path: string, given: GivenFixOptions): Promise<FixedFile> {
  const tally = new Tally()
  const read = await readFile(path, given, tally.add)
  if (statSync(path).size === 0) {
    throw new CommandError(
      'NOTHING_TO_MEND',
      `expected a transcript, found the empty file ${path}; look for an older copy`,
    )
  }
  const format = read.reading.format ?? 'unknown'
  const resume = RESUMED_BY[format]
  if (resume === undefined) {
    throw new CommandError(
      'FORMAT_NOT_WRITTEN',
      `--fix: expected a transcript of ${Object.keys(RESUMED_BY).join(', ')}, found ${format}; ${otherWays(path, format)}`,
    )
  }
  const old = read.reading.about.id ?? ''
  const id = mendedId(`${old}\n${basename(path)}`)
  const { text, loss } = await exportSession(withId(read, id), format, {
    target: targetFor(read.reading),
    ...(given.redact && { redact: true }),
  })
  const file = given.out ?? join(dirname(path), newName(basename(path), old, id, format))
  writeNew(file, text)
  const leftOut = { messages: tally.messages - read.view.seqs.length, rows: Object.fromEntries(tally.rows) }
  return { file, format, id, loss, leftOut, resume: resume.command(id, file) }
}

/** `FILE_EXISTS` where there is one: nothing is ever written over. `FILE_NOT_WRITTEN` where there can be none. */
export function writeNew(path: string, text: string): void {
  try {
    writeFileSync(path, text, { flag: 'wx' })
  } catch (error) {
    const { code, message, syscall } = error as NodeJS.ErrnoException
    if (code === 'EEXIST') {
      throw new CommandError('FILE_EXISTS', `expected no file ${path} yet, found one; name another with --out`)
    }
    // It is ours, and no copy.
    if (syscall === 'write') rmSync(path, { force: true })
    throw new CommandError('FILE_NOT_WRITTEN', `expected to write ${path}, found: ${message}; name a place with --out`)
  }
}

// --- internal ---

function withId(read: Read, id: string): Read {
  return { ...read, reading: { ...read.reading, about: { ...read.reading.about, id } } }
}

/** The commands that do something for what no agent takes back. */
function otherWays(path: string, format: string): string {
  const file = pathWord(path)
  const session = `to go on with it here: palimpsest import ${file}`
  if (!(format in PROVIDER_FORMATS)) return session
  return `for a mended copy: palimpsest export ${file} --to ${format} --out ${pathWord(besidePath(path, 'mended'))}; ${session}`
}

/** A UUID that is the same for the same file, so that mending twice makes one copy. */
function mendedId(seed: string): string {
  const hex = createHash('sha256').update(`mended\n${seed}`).digest('hex')
  const variant = ((Number.parseInt(hex[16]!, 16) & 3) | 8).toString(16)
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-5${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}

/** Claude Code finds a session by the name of its file. */
function newName(name: string, old: string, id: string, format: string): string {
  if (old !== '' && name.includes(old)) return name.replace(old, id)
  if (format === 'claude-code') return `${id}.jsonl`
  return besidePath(name, 'mended')
}
