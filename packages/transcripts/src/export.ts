import type { Message, RequestHeader, SessionEvent, SessionHeader } from '@palimpsest/session'
import type { Loss } from './finding.js'
import { aiSdkMessagesFile } from './formats/ai-sdk-messages-file.js'
import { writeClaudeSession } from './formats/claude-code/write-session.js'
import { writeRollout } from './formats/codex/write-rollout.js'
import { writeSession } from './formats/pi/write-session.js'
import { bodyFile } from './requests/body-file.js'

/** What a file for another tool is made of: a session as its next request would see it. */
export interface ExportInput {
  readonly header: Partial<SessionHeader>
  /** The visible messages, in surface order. */
  readonly entries: readonly ExportEntry[]
  /** The last request header of the log: model, system text, tools. */
  readonly request?: Partial<RequestHeader>
}

export interface ExportEntry {
  readonly message: Message
  /**
   * Where it came from: its time, who wrote it, usage. A replacement (`surfaceOp.op`) is a summary or an edit of what
   * it shadows. Left out for a message that healing added.
   */
  readonly event?: SessionEvent
}

export interface Exported {
  /** The whole file. */
  readonly text: string
  /** What the session holds and the file cannot. */
  readonly loss: readonly Loss[]
}

/** A pure function: the same session gives the same bytes, ids included. */
export type Exporter = (input: ExportInput) => Exported

/** Formats that can be written, by name. Provider formats expect messages that the target's rules have healed. */
export const EXPORTERS: Readonly<Record<string, Exporter>> = {
  'claude-code': writeClaudeSession,
  codex: writeRollout,
  pi: writeSession,
  'anthropic-messages': bodyFile('anthropic'),
  'openai-chat': bodyFile('openai-chat'),
  'openai-responses': bodyFile('openai-responses'),
  'gemini-contents': bodyFile('gemini'),
  'ai-sdk-messages': aiSdkMessagesFile,
}

/** `RangeError` for a format that cannot be written. */
export function exportTo(format: string, input: ExportInput): Exported {
  const write = EXPORTERS[format]
  if (write === undefined) {
    throw new RangeError(`format: expected one of ${Object.keys(EXPORTERS).join(', ')}, found ${format}`)
  }
  return write(input)
}
