import type { Finding, Loss } from './finding.js'
import type { LogBuilder } from './log-builder.js'
import type { Source } from './source.js'

export const FORMAT_NAMES = [
  'claude-code',
  'claude-stream-json',
  'codex',
  'gemini-cli',
  'opencode',
  'pi',
  'dsh',
  'palimpsest',
  'anthropic-messages',
  'openai-chat',
  'openai-responses',
  'gemini-contents',
  'swe-agent',
  'openhands',
  'cline',
  'langchain',
  'ai-sdk-stream',
] as const

export type FormatName = (typeof FORMAT_NAMES)[number]

/** The beginning of a file, looked at once for all formats. */
export interface Head {
  /** The first 64 KiB, as they are. */
  readonly bytes: Uint8Array
  /** The same as text. */
  readonly text: string
  /** Whole JSON records of its first lines, up to twenty; empty where the first line is none. */
  readonly records: readonly Record<string, unknown>[]
  /** The whole file parsed, where it is one JSON document that is no single-line record file of `records.length > 1`. */
  document(): unknown
}

/** What an importer writes to. */
export interface Import {
  readonly source: Source
  readonly log: LogBuilder
  /** Which conversation of a file of several, from 0. */
  readonly conversation: number
  report(finding: Finding): void
  lose(loss: Loss): void
  /** Facts about the session as a whole; later ones win. */
  about(facts: About): void
}

export interface About {
  /** Its name in the file's own terms. */
  id?: string
  createdAt?: number
  cwd?: string
  /** The model that the transcript would use next, and who makes it. */
  model?: string
  vendor?: string
  resume?: 'refused'
  /** How many conversations the file holds. */
  conversations?: number
  /** No request can be made of it. */
  unreadable?: boolean
  /** Members of a request body that the next request would have again. */
  thinking?: 'enabled' | 'disabled'
  /** The format's own events have seqs, turns and start records: what opening would append is for its own log. */
  hasOwnTurns?: boolean
  /** The file tells a call that began from one that did not. */
  showsStarts?: boolean
}

/** One way in which agents keep a conversation. */
export interface Format {
  readonly name: FormatName
  /** By content, never by name. The first format of the list that says yes has it. */
  detect(head: Head): boolean
  /** Writes the events of the conversation to `log`, and reports whatever is wrong or left out. Never throws for bad input. */
  import(into: Import): void
}
