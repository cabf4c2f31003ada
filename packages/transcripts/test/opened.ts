import { type Message, Session } from '@palimpsest/session'
import { type FormatName, readTranscript, type Transcript } from '@palimpsest/transcripts'

export interface Opened extends Transcript {
  /** Made from the events: throws where they are no valid seed. */
  readonly session: Session
  readonly messages: Message[]
  /** Code and place of each finding. */
  readonly told: string[]
  /** What the events of a type hold, one that no build knows too. */
  held(type: string): unknown[]
}

/** Reads a file as a user would have it read, and opens a session from its events. */
export function opened(
  file: string | Uint8Array,
  options: { format?: FormatName; conversation?: number } = {},
): Opened {
  const bytes = typeof file === 'string' ? new TextEncoder().encode(file) : file
  const transcript = readTranscript(bytes, options)
  const session = Session.create({ seed: transcript.events })
  const told = transcript.findings.map(({ code, where }) => `${code} ${where}`)
  const held = (type: string) =>
    transcript.events.filter(event => (event.type as string) === type).map(({ data }): unknown => data)
  return { ...transcript, session, messages: session.deriveMessages(), told, held }
}

/** A file with a record per line. */
export function lines(...records: unknown[]): string {
  return records.map(record => `${typeof record === 'string' ? record : JSON.stringify(record)}\n`).join('')
}

/** What is said, who says it, and which calls are made and answered, on one line each. */
export function script(messages: readonly Message[]): string[] {
  return messages.map(({ role, content }) => `${role}: ${content.map(word).join(' | ')}`)
}

function word(part: Message['content'][number]): string {
  if (part.type === 'text' || part.type === 'reasoning') return part.type === 'text' ? part.text : `(${part.text})`
  if (part.type === 'tool-call')
    return `${part.toolCallId} ${part.toolName} ${part.rawInput ?? JSON.stringify(part.input)}`
  if (part.type !== 'tool-result') return part.type
  const { output } = part
  const value = 'value' in output ? output.value : ''
  return `${part.toolCallId} ${output.type} ${typeof value === 'string' ? value : JSON.stringify(value)}`
}
