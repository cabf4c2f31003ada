import { defineTool, type Tool } from '@palimpsest/agent-loop'
import { quote, ToolError } from './errors.js'
import { inFolder, openFile } from './folder.js'
import { encodeText, replaceFile } from './replace-file.js'
import { openRoot, type Place, type Root } from './root.js'
import { looksBinary } from './text-window.js'

export interface EditOptions {
  root: string
  maxFileBytes?: number // 16 MiB
}

/**
 * The `edit` tool: replaces an exact passage. It works on bytes, so everything it does not replace (a BOM, bytes that
 * are not UTF-8, line endings) stays as it was. In a file whose lines all end in CRLF, line ends in both texts mean CRLF.
 */
export function edit(options: EditOptions): Tool {
  const root = openRoot(options.root)
  const maxFileBytes = options.maxFileBytes ?? 16 * 1024 * 1024
  return defineTool<EditInput>({
    name: 'edit',
    description:
      'Replace an exact passage of a text file. oldText must occur exactly once, character for character with its white space ' +
      'and indentation; give enough lines around the place to make it unique, or set replaceAll. Read the file first.',
    inputSchema: {
      type: 'object',
      properties: {
        path: { type: 'string', minLength: 1, description: 'The file, relative to the root.' },
        oldText: {
          type: 'string',
          minLength: 1,
          description: 'The passage to replace, exactly as it stands in the file.',
        },
        newText: { type: 'string', description: 'What stands there afterwards. Empty to delete the passage.' },
        replaceAll: { type: 'boolean', description: 'Replace every occurrence instead of exactly one. Default false.' },
      },
      required: ['path', 'oldText', 'newText'],
      additionalProperties: false,
    },
    effect: 'write',
    execute: (input, { signal }) => editFile(root, input, maxFileBytes, signal),
  })
}

// --- internal ---

interface EditInput {
  path: string
  oldText: string
  newText: string
  replaceAll?: boolean
}

async function editFile(root: Root, input: EditInput, maxFileBytes: number, signal: AbortSignal): Promise<string> {
  signal.throwIfAborted()
  const { handle, place, stats } = await openFile(root, input.path)
  try {
    if (stats.size > maxFileBytes) throw tooLarge(place, stats.size, maxFileBytes)
    const old = await handle.readFile()
    const change = planEdit(old, input, place, maxFileBytes)
    await inFolder(root, place, {}, (folder, name) => replaceFile(folder, name, place, change.bytes, stats))
    const many = change.count === 1 ? '1 replacement at line' : `${change.count} replacements at lines`
    return `Edited ${quote(place.name)}: ${many} ${change.lines}.`
  } finally {
    await handle.close()
  }
}

/** The new content, and on which lines of the old (from 1) how many passages were replaced. Changes nothing. */
function planEdit(
  old: Buffer,
  input: EditInput,
  place: Place,
  maxFileBytes: number,
): { bytes: Buffer; count: number; lines: string } {
  if (looksBinary(old.subarray(0, 8_192))) throw notText(place)
  const ends = lineEndings(old)
  const passage = encodeText(ends(input.oldText), 'oldText')
  const replacement = encodeText(ends(input.newText), 'newText')
  if (input.oldText === '')
    throw new ToolError(
      'EDIT_NO_MATCH',
      'oldText is empty. Give the passage to replace, or use write for a whole file.',
    )
  if (passage.equals(replacement))
    throw new ToolError('EDIT_NO_CHANGE', 'oldText and newText are the same; there is nothing to change.')
  const found = occurrences(old, passage, input.replaceAll === true)
  if (found.length === 0) throw noMatch(old, input.oldText, place)
  if (found.length > 1 && !input.replaceAll) throw manyMatches(old, found, place)
  const size = old.length + found.length * (replacement.length - passage.length)
  if (size > maxFileBytes) throw tooLarge(place, size, maxFileBytes, 'would have')
  return {
    bytes: spliced(old, found, passage.length, replacement, size),
    count: found.length,
    lines: listedLines(old, found),
  }
}

/**
 * Starts of `passage`. To judge uniqueness, overlapping ones count; to replace, they cannot. Takes time in proportion to
 * both texts whatever they are (Knuth, Morris and Pratt): a search anew behind each start would take the product.
 */
function occurrences(bytes: Buffer, passage: Buffer, apart: boolean): number[] {
  const found: number[] = []
  const borders = bordersOf(passage)
  let matched = 0
  for (let at = bytes.indexOf(passage[0]!); at >= 0 && at < bytes.length; at++) {
    while (matched > 0 && bytes[at] !== passage[matched]) matched = borders[matched - 1]!
    if (bytes[at] === passage[matched]) matched += 1
    if (matched < passage.length) continue
    found.push(at + 1 - passage.length)
    matched = apart ? 0 : borders[matched - 1]!
  }
  return found
}

/** For each beginning of `passage`, how long the longest shorter beginning is that it also ends with. */
function bordersOf(passage: Buffer): Uint32Array {
  const borders = new Uint32Array(passage.length)
  for (let at = 1, length = 0; at < passage.length; at++) {
    while (length > 0 && passage[at] !== passage[length]) length = borders[length - 1]!
    if (passage[at] === passage[length]) length += 1
    borders[at] = length
  }
  return borders
}

function spliced(bytes: Buffer, found: readonly number[], length: number, replacement: Buffer, size: number): Buffer {
  const result = Buffer.allocUnsafe(size)
  let [from, to] = [0, 0]
  for (const at of found) {
    to += bytes.copy(result, to, from, at)
    to += replacement.copy(result, to)
    from = at + length
  }
  bytes.copy(result, to, from)
  return result
}

function lineEndings(bytes: Buffer): (text: string) => string {
  let lines = 0
  for (let at = bytes.indexOf(0x0a); at >= 0; at = bytes.indexOf(0x0a, at + 1)) {
    if (bytes[at - 1] !== 0x0d) return text => text
    lines += 1
  }
  return lines === 0 ? text => text : text => text.replace(/\r?\n/g, '\r\n')
}

/** The lines of the first ten places, in words. */
function listedLines(bytes: Buffer, found: readonly number[]): string {
  let line = 1
  let from = 0
  const lines = found.slice(0, 10).map(at => {
    for (let end = bytes.indexOf(0x0a, from); end >= 0 && end < at; end = bytes.indexOf(0x0a, from)) {
      line += 1
      from = end + 1
    }
    return line
  })
  return found.length > 10 ? `${lines.join(', ')} and ${found.length - 10} more` : lines.join(', ')
}

function noMatch(bytes: Buffer, oldText: string, place: Place): ToolError {
  const near = similarLine(bytes.toString('utf8'), oldText)
  const hint =
    near === undefined
      ? 'Read the file again and copy the passage from it.'
      : `A passage that differs only in white space begins at line ${near}; read it and copy it exactly.`
  return new ToolError(
    'EDIT_NO_MATCH',
    `oldText occurs 0 times in ${quote(place.name)}; exactly one was expected. Nothing was written. ${hint}`,
  )
}

/** Line number of a passage that is the same but for white space at the ends of its lines, if there is one. */
function similarLine(text: string, oldText: string): number | undefined {
  const lines = text.split('\n').map(line => line.trim())
  const wanted = oldText
    .trim()
    .split('\n')
    .map(line => line.trim())
  if (oldText.trim() === '' || lines.length * wanted.length > 10_000_000) return undefined // a hint is not worth minutes
  const at = lines.findIndex((_, i) => wanted.every((line, k) => lines[i + k] === line))
  return at < 0 ? undefined : at + 1
}

function manyMatches(bytes: Buffer, found: readonly number[], place: Place): ToolError {
  return new ToolError(
    'EDIT_MANY_MATCHES',
    `oldText occurs ${found.length} times in ${quote(place.name)} (lines ${listedLines(bytes, found)}); exactly one was expected. ` +
      'Nothing was written. Add lines around the place to make it unique, or set replaceAll.',
  )
}

function notText(place: Place): ToolError {
  return new ToolError(
    'FILE_NOT_TEXT',
    `Text was expected, but ${quote(place.name)} holds NUL bytes and is binary. Use bash with a program that knows its format.`,
  )
}

function tooLarge(place: Place, size: number, most: number, has = 'has'): ToolError {
  return new ToolError(
    'FILE_TOO_LARGE',
    `A file of at most ${most} bytes was expected; ${quote(place.name)} ${has} ${size}. Use bash (sed, awk) for it.`,
  )
}
