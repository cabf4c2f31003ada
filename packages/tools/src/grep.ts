import { lstat } from 'node:fs/promises'
import { defineTool, type Tool } from '@palimpsest/agent-loop'
import { asToolError, quote, ToolError } from './errors.js'
import { planRegular } from './folder.js'
import { locate, openRoot, type Place, type Root } from './root.js'
import { type Match, type Search, search } from './search.js'

export interface GrepOptions {
  root: string
  timeoutMs?: number // 10,000
  maxMatches?: number // 200
  maxLineCharacters?: number // 400
  skip?: readonly string[] // folder names that are not entered: .git, node_modules
}

/** The `grep` tool: lines that match a JavaScript regular expression. Follows no links, so it never leaves the root. */
export function grep(options: GrepOptions): Tool {
  const root = openRoot(options.root)
  const limits = { ...LIMITS, ...options }
  return defineTool<GrepInput>({
    name: 'grep',
    description:
      'Find lines that match a regular expression (JavaScript syntax) in the files under the root. Each is given as ' +
      `path:line:text. Binary files, symbolic links and the folders ${limits.skip.join(' and ')} are skipped, unless path names ` +
      `such a folder. At most ${limits.maxMatches} lines are given; narrow the search with path or glob.`,
    inputSchema: {
      type: 'object',
      properties: {
        pattern: {
          type: 'string',
          minLength: 1,
          maxLength: 10_000,
          description: 'The regular expression, searched for line by line.',
        },
        path: {
          type: 'string',
          minLength: 1,
          description: 'Folder or file to search, relative to the root. Default: the root.',
        },
        glob: {
          type: 'string',
          minLength: 1,
          maxLength: 1_000,
          description: 'Only files like this: *.ts for names in every folder, src/**/*.ts for paths from the root.',
        },
        ignoreCase: { type: 'boolean', description: 'Take upper and lower case as equal. Default false.' },
      },
      required: ['pattern'],
      additionalProperties: false,
    },
    effect: 'read',
    parallelSafe: true,
    execute: (input, { signal }) => grepFiles(root, input, limits, signal),
  })
}

// --- internal ---

interface GrepInput {
  pattern: string
  path?: string
  glob?: string
  ignoreCase?: boolean
}

type Limits = Required<Omit<GrepOptions, 'root'>>

const LIMITS: Limits = { timeoutMs: 10_000, maxMatches: 200, maxLineCharacters: 400, skip: ['.git', 'node_modules'] }

async function grepFiles(root: Root, input: GrepInput, limits: Limits, signal: AbortSignal): Promise<string> {
  signal.throwIfAborted()
  const pattern = planPattern(input)
  const start = await locate(root, input.path ?? '.')
  await planStart(start)
  const request = {
    ...limits,
    root: root.path,
    start: start.path,
    source: pattern.source,
    flags: pattern.flags,
    glob: input.glob,
  }
  const found = await search(request, limits.timeoutMs, signal).catch(cause => {
    signal.throwIfAborted()
    throw failed(cause)
  })
  if (found.end === undefined) throw timedOut(found, limits)
  return report(found.matches, found.end, limits)
}

async function planStart(start: Place): Promise<void> {
  const stats = await lstat(start.path).catch(error => {
    throw asToolError(error, start.name)
  })
  if (!stats.isDirectory()) planRegular(stats, start)
}

/** Unicode-aware where the pattern allows it; what only the older syntax takes (`\-`, say) is taken as that. */
function planPattern(input: GrepInput): RegExp {
  const flags = input.ignoreCase ? 'i' : ''
  try {
    return new RegExp(input.pattern, `${flags}u`)
  } catch {
    try {
      return new RegExp(input.pattern, flags)
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause)
      throw new ToolError(
        'PATTERN_INVALID',
        `A JavaScript regular expression was expected: ${reason}. Escape special characters with \\; use ignoreCase instead of (?i).`,
        { cause },
      )
    }
  }
}

function report(matches: readonly Match[], end: NonNullable<Search['end']>, limits: Limits): string {
  const { files, binary, unreadable } = end.counts
  const skipped = [binary > 0 ? `${binary} binary` : '', unreadable > 0 ? `${unreadable} unreadable` : ''].filter(
    text => text !== '',
  )
  const left = skipped.length > 0 ? `, skipped ${skipped.join(' and ')}` : ''
  if (matches.length === 0) return `[No matches. Searched ${files} file${files === 1 ? '' : 's'}${left}.]`
  const more = end.full
    ? `\n[Stopped at ${limits.maxMatches} lines; there may be more. Narrow the search with path or glob.]`
    : ''
  return listed(matches) + more
}

function listed(matches: readonly Match[]): string {
  return matches
    .map(({ name, line, text }) => `${/[\u0000-\u001f\u007f]/.test(name) ? quote(name) : name}:${line}:${text}`)
    .join('\n')
}

function timedOut(found: Search, limits: Limits): ToolError {
  const at = found.at === undefined ? '' : ` in ${quote(found.at)}`
  const sofar =
    found.matches.length === 0 ? 'Nothing was found until then.' : `Found until then:\n${listed(found.matches)}`
  return new ToolError(
    'SEARCH_TIMED_OUT',
    `The search was stopped after ${limits.timeoutMs / 1_000} s${at}. Simplify the pattern (nested repetition is slow) or narrow it with path or glob. ${sofar}`,
  )
}

function failed(cause: unknown): ToolError {
  const reason = cause instanceof Error ? cause.message : String(cause)
  return new ToolError('SEARCH_FAILED', `The search could not be done: ${reason}. Narrow it with path or glob.`, {
    cause,
  })
}
