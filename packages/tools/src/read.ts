import { defineTool, type Tool, toolOutput } from '@palimpsest/agent-loop'
import type { ToolContent } from '@palimpsest/session'
import { quote, ToolError } from './errors.js'
import { type OpenFile, openFile } from './folder.js'
import { openRoot, type Root } from './root.js'
import { looksBinary, readTextWindow, type TextWindow } from './text-window.js'

export interface ReadOptions {
  root: string
  maxLines?: number // 2,000
  maxBytes?: number // of text in one answer; 65,536
  maxLineBytes?: number // 4,096
  maxImageBytes?: number // 3,932,160: what providers take once it is base64
}

/** The `read` tool: text in windows of lines, images as media. Never reads outside the root. */
export function read(options: ReadOptions): Tool {
  const root = openRoot(options.root)
  const limits = { ...LIMITS, ...options }
  return defineTool<ReadInput>({
    name: 'read',
    description:
      'Read a file. Text comes back exactly as it is, without line numbers; PNG, JPEG, GIF and WebP files come back as an image. ' +
      `One answer holds at most ${limits.maxLines} lines or ${limits.maxBytes} bytes; a note in square brackets at the end says ` +
      'what was left out and how to read on. For folders use bash (ls), for finding text use grep.',
    inputSchema: {
      type: 'object',
      properties: {
        path: { type: 'string', minLength: 1, description: 'The file, relative to the root.' },
        offset: { type: 'integer', minimum: 1, description: 'First line to read, from 1. Default 1.' },
        limit: {
          type: 'integer',
          minimum: 1,
          description: `Number of lines to read. Default and maximum ${limits.maxLines}.`,
        },
      },
      required: ['path'],
      additionalProperties: false,
    },
    effect: 'read',
    parallelSafe: true,
    execute: (input, { signal }) => readFile(root, input, limits, signal),
  })
}

// --- internal ---

interface ReadInput {
  path: string
  offset?: number
  limit?: number
}

type Limits = Required<Omit<ReadOptions, 'root'>>

const LIMITS: Limits = { maxLines: 2_000, maxBytes: 65_536, maxLineBytes: 4_096, maxImageBytes: 3_932_160 }

async function readFile(root: Root, input: ReadInput, limits: Limits, signal: AbortSignal): Promise<unknown> {
  signal.throwIfAborted()
  const file = await openFile(root, input.path)
  try {
    const head = Buffer.alloc(8_192)
    const { bytesRead } = await file.handle.read(head, 0, head.length, 0)
    const start = head.subarray(0, bytesRead)
    const mediaType = imageType(start)
    if (mediaType !== undefined) return await readImage(file, mediaType, limits)
    if (looksBinary(start)) throw binary(file)
    return await readText(file, input, limits, signal)
  } finally {
    await file.handle.close()
  }
}

async function readText(file: OpenFile, input: ReadInput, limits: Limits, signal: AbortSignal): Promise<string> {
  const offset = input.offset ?? 1
  const limit = Math.min(input.limit ?? limits.maxLines, limits.maxLines)
  const window = await readTextWindow(file.handle, { ...limits, offset, limit }, signal)
  if (window.complete && window.lines === 0 && offset === 1) return `[${quote(file.place.name)} is empty.]`
  if (window.last < offset) {
    const lines = `${window.lines} line${window.lines === 1 ? '' : 's'}`
    throw new ToolError(
      'OFFSET_PAST_END',
      `${quote(file.place.name)} has ${lines}; offset ${offset} is behind its end. Use a smaller offset.`,
    )
  }
  const notes = notesOn(window, file, limits)
  if (notes.length === 0) return window.text
  return `${window.text}${window.text.endsWith('\n') ? '' : '\n'}\n${notes.map(note => `[${note}]`).join('\n')}`
}

function notesOn(window: TextWindow, file: OpenFile, limits: Limits): string[] {
  const notes: string[] = []
  for (const { line, bytes } of window.cut.slice(0, 5)) {
    const start = limits.maxLineBytes + 1
    notes.push(
      `Line ${line} is ${bytes} bytes long and shown in part. For the rest: bash, sed -n ${line}p FILE | cut -b ${start}-${start + 8_191}`,
    )
  }
  if (window.cut.length > 5) notes.push(`${window.cut.length - 5} more lines are shown in part.`)
  if (window.replaced) notes.push('Bytes that are not UTF-8 are shown as U+FFFD.')
  if (!window.complete && !endsHere(window, file)) {
    notes.push(
      `Lines ${window.first}–${window.last} of a file of ${file.stats.size} bytes. To read on: offset ${window.last + 1}`,
    )
  }
  return notes
}

/** A window that took the whole of a small file needs no note, though the reader stopped before the end of file. */
function endsHere(window: TextWindow, file: OpenFile): boolean {
  return window.bytesSeen >= file.stats.size
}

async function readImage(file: OpenFile, mediaType: string, limits: Limits): Promise<unknown> {
  const { size } = file.stats
  if (size > limits.maxImageBytes) {
    throw new ToolError(
      'FILE_TOO_LARGE',
      `An image of at most ${limits.maxImageBytes} bytes was expected; ${quote(file.place.name)} has ${size}. Make a smaller copy and read that.`,
    )
  }
  const bytes = Buffer.alloc(size)
  let filled = 0
  while (filled < size) {
    const { bytesRead } = await file.handle.read(bytes, filled, size - filled, filled)
    if (bytesRead === 0) break
    filled += bytesRead
  }
  const value: ToolContent[] = [
    { type: 'text', text: `${quote(file.place.name)}: ${mediaType}, ${filled} bytes.` },
    { type: 'media', data: bytes.subarray(0, filled).toString('base64'), mediaType },
  ]
  return toolOutput({ type: 'content', value })
}

function imageType(head: Buffer): string | undefined {
  if (head.subarray(0, 8).equals(Buffer.from('89504e470d0a1a0a', 'hex'))) return 'image/png'
  if (head.subarray(0, 3).equals(Buffer.from('ffd8ff', 'hex'))) return 'image/jpeg'
  if (/^GIF8[79]a/.test(head.toString('latin1', 0, 6))) return 'image/gif'
  if (head.toString('latin1', 0, 4) === 'RIFF' && head.toString('latin1', 8, 12) === 'WEBP') return 'image/webp'
  return undefined
}

function binary(file: OpenFile): ToolError {
  return new ToolError(
    'FILE_NOT_TEXT',
    `Text was expected, but ${quote(file.place.name)} (${file.stats.size} bytes) holds NUL bytes and is binary. Use bash with a program that knows its format.`,
  )
}
