import type { Fault } from '@palimpsest/session'

export type AgentErrorCode =
  | 'AGENT_DISPOSED'
  /** A `turn/admit` handler left the input out, or its turn was cancelled before it was logged. */
  | 'INPUT_NOT_ADMITTED'
  /** Another agent runs a turn on this session object. Nothing was queued. */
  | 'SESSION_BUSY'

/** A refusal of the agent's own verbs: match on `code`. */
export class AgentError extends Error {
  override readonly name = 'AgentError'
  readonly code: AgentErrorCode

  constructor(code: AgentErrorCode, message: string) {
    super(`${code}: ${message}`)
    this.code = code
  }
}

/** What was thrown, as data. An error that brings its own code keeps it. */
export function faultOf(error: unknown, fallback: string): Fault {
  return { code: codeOf(error) ?? fallback, message: messageOf(error) }
}

export function messageOf(error: unknown): string {
  try {
    return String(error instanceof Error ? error.message || error.name : error)
  } catch {
    return 'something that cannot be shown was thrown'
  }
}

// --- internal ---

/** What is thrown may be anything, also what throws when it is looked at. */
function codeOf(error: unknown): string | undefined {
  try {
    const { code } = Object(error) as { code?: unknown }
    return typeof code === 'string' ? code : undefined
  } catch {
    return undefined
  }
}
