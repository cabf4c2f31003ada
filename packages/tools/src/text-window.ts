import { isUtf8 } from 'node:buffer'
import type { FileHandle } from 'node:fs/promises'

/** Some lines of a file, read in a bounded amount of memory however large the file or a line of it is. */
export interface TextWindow {
  readonly text: string
  readonly first: number // line numbers, from 1
  readonly last: number
  readonly lines: number // lines seen in all; the file's own count when `complete`
  readonly complete: boolean // the end of the file was reached
  readonly bytesSeen: number // up to the end of the last line of the window
  readonly cut: readonly { readonly line: number; readonly bytes: number }[] // lines shown in part, with their full length in bytes
  readonly replaced: boolean // bytes that are not UTF-8 stand as U+FFFD
}

export interface WindowLimits {
  readonly offset: number // first line wanted, from 1
  readonly limit: number // lines
  readonly maxBytes: number // of the whole window
  readonly maxLineBytes: number
}

/** Reads from byte 0 of `handle` to the end of the wanted lines. Lines end with LF, which stays in the text. */
export async function readTextWindow(
  handle: FileHandle,
  limits: WindowLimits,
  signal: AbortSignal,
): Promise<TextWindow> {
  const state = emptyState(limits)
  const buffer = Buffer.allocUnsafe(CHUNK)
  let position = 0
  while (!state.full) {
    signal.throwIfAborted()
    const { bytesRead } = await handle.read(buffer, 0, CHUNK, position)
    if (bytesRead === 0) break
    position += bytesRead
    applyChunk(state, limits, buffer.subarray(0, bytesRead))
  }
  if (!state.full && state.lineBytes > 0) endLine(state, limits)
  return windowOf(state, limits)
}

/** A NUL in the first bytes is what tells binary from text. */
export function looksBinary(head: Buffer): boolean {
  return head.includes(0)
}

// --- internal ---

const CHUNK = 64 * 1024

interface State {
  line: number // the one being read
  lineBytes: number
  lineKept: number
  lineCut: boolean
  kept: Buffer[]
  keptBytes: number
  last: number
  bytesSeen: number
  cut: { line: number; bytes: number }[]
  full: boolean
}

function emptyState(limits: WindowLimits): State {
  const line = { line: 1, lineBytes: 0, lineKept: 0, lineCut: false }
  return { ...line, kept: [], keptBytes: 0, last: limits.offset - 1, bytesSeen: 0, cut: [], full: false }
}

function applyChunk(state: State, limits: WindowLimits, chunk: Buffer): void {
  let at = 0
  while (at < chunk.length && !state.full) {
    const newline = chunk.indexOf(0x0a, at)
    const end = newline < 0 ? chunk.length : newline + 1
    if (state.line >= limits.offset) keep(state, limits, chunk.subarray(at, end))
    state.lineBytes += end - at
    at = end
    if (newline >= 0) endLine(state, limits)
  }
}

/** Keeps what of `piece` fits; of a cut line the newline is kept, so that the next line stands on its own. */
function keep(state: State, limits: WindowLimits, piece: Buffer): void {
  const room = state.lineCut ? 0 : limits.maxLineBytes - state.lineKept
  const whole = piece.length <= room
  const part = Buffer.from(whole ? piece : piece.subarray(0, characterBoundary(piece, room)))
  push(state, part)
  state.lineKept += part.length
  if (whole) return
  state.lineCut = true
  if (piece.at(-1) === 0x0a) push(state, Buffer.from('\n'))
}

function push(state: State, part: Buffer): void {
  if (part.length === 0) return
  state.kept.push(part)
  state.keptBytes += part.length
}

function endLine(state: State, limits: WindowLimits): void {
  if (state.line >= limits.offset) {
    state.last = state.line
    if (state.lineCut) state.cut.push({ line: state.line, bytes: state.lineBytes })
    const nextMayNotFit = state.keptBytes + limits.maxLineBytes > limits.maxBytes
    state.full = state.line - limits.offset + 1 >= limits.limit || nextMayNotFit
  }
  state.bytesSeen += state.lineBytes
  state.line += 1
  state.lineBytes = 0
  state.lineKept = 0
  state.lineCut = false
}

function windowOf(state: State, limits: WindowLimits): TextWindow {
  const bytes = Buffer.concat(state.kept)
  const text = new TextDecoder('utf-8').decode(bytes) // drops a leading BOM
  return {
    text,
    first: limits.offset,
    last: state.last,
    lines: state.line - 1,
    complete: !state.full,
    bytesSeen: state.bytesSeen,
    cut: state.cut,
    replaced: !isUtf8(bytes),
  }
}

/** The largest cut ≤ `at` that does not split a UTF-8 sequence. */
function characterBoundary(bytes: Buffer, at: number): number {
  let cut = at
  while (cut > 0 && at - cut < 4 && (bytes[cut]! & 0xc0) === 0x80) cut -= 1
  return cut
}
