export type ToolErrorCode =
  | 'ROOT_INVALID'
  | 'PATH_INVALID'
  | 'PATH_OUTSIDE_ROOT'
  | 'FILE_NOT_FOUND'
  | 'FILE_KIND_UNSUPPORTED'
  | 'FILE_NOT_TEXT'
  | 'FILE_TOO_LARGE'
  | 'FILE_CHANGED'
  | 'FILE_UNAVAILABLE'
  | 'OFFSET_PAST_END'
  | 'TEXT_NOT_UNICODE'
  | 'EDIT_NO_MATCH'
  | 'EDIT_MANY_MATCHES'
  | 'EDIT_NO_CHANGE'
  | 'COMMAND_INVALID'
  | 'COMMAND_NOT_STARTED'
  | 'COMMAND_TIMED_OUT'
  | 'PATTERN_INVALID'
  | 'SEARCH_TIMED_OUT'
  | 'SEARCH_FAILED'
  | 'MCP_UNREACHABLE'
  | 'MCP_CALL_FAILED'

/**
 * A refusal that the model reads: the loop turns it into a `TOOL_FAILED` result with this message. The message says
 * what was expected, what was found and what to do next; `code` is for programs.
 */
export class ToolError extends Error {
  override readonly name = 'ToolError'
  readonly code: ToolErrorCode

  constructor(code: ToolErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options)
    this.code = code
  }
}

/** Text from outside (paths, patterns) as it may stand in a message: quoted, control characters escaped, bounded. */
export function quote(text: string): string {
  const shown = text.length > 200 ? `${text.slice(0, 200)}…` : text
  return JSON.stringify(shown).replace(/[\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g, escapeUnit)
}

/** The operating system's refusal as a sentence; a `ToolError` passes as it is. */
export function asToolError(error: unknown, path: string): ToolError {
  if (error instanceof ToolError) return error
  const code = systemCode(error)
  const reason = REASONS[code ?? ''] ?? (error instanceof Error ? error.message : String(error))
  const kind: ToolErrorCode =
    code === 'ENOENT' ? 'FILE_NOT_FOUND' : code === 'ENAMETOOLONG' ? 'PATH_INVALID' : 'FILE_UNAVAILABLE'
  return new ToolError(kind, `${quote(path)}: ${reason}`, { cause: error })
}

export function systemCode(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null)?.code
  return typeof code === 'string' ? code : undefined
}

// --- internal ---

const REASONS: Record<string, string> = {
  ENOENT: 'there is no such file or folder. Check the path; it is read relative to the root.',
  EACCES: 'the operating system denies access. Choose another file, or ask the user to change its permissions.',
  EPERM: 'the operating system does not permit this. Choose another file, or ask the user.',
  EROFS: 'the file system is read-only. Write somewhere else under the root.',
  ENOSPC: 'the disk is full; nothing was changed. Free space first.',
  EDQUOT: 'the disk quota is used up; nothing was changed. Free space first.',
  ENAMETOOLONG: 'the path, or a name in it, is too long for the file system. Use a shorter one.',
  ELOOP: 'a symbolic link leads nowhere or in a circle. Use a path without that link.',
}

function escapeUnit(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
}
