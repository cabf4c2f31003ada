import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Session, type SessionEvent, type SessionHeader } from '@palimpsest/session'
import type { SessionBackend } from '@palimpsest/session-persistence'
import { createJsonlBackend, type Disk } from '@palimpsest/session-persistence-jsonl'
import { afterEach } from 'vitest'

const directories: string[] = []
const backends: SessionBackend[] = []

/** A new directory that the test's end takes away. */
export function newDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'palimpsest-jsonl-'))
  directories.push(directory)
  return directory
}

/** A backend that the test's end closes. */
export function openStore(directory: string, fs?: Disk): SessionBackend {
  const backend = createJsonlBackend({ directory, ...(fs !== undefined && { fs }) })
  backends.push(backend)
  return backend
}

afterEach(async () => {
  for (const backend of backends.splice(0)) await backend.close().catch(() => {})
  for (const directory of directories.splice(0)) rmSync(directory, { recursive: true, force: true })
})

export interface SampleLog {
  readonly header: SessionHeader
  readonly events: readonly SessionEvent[]
}

/** A log of `length` events in turns of `perTurn`, with a message, chunks that it cites, and text of every width. */
export function sampleLog(id: string, length: number, perTurn = 20): SampleLog {
  let time = 1_700_000_000_000
  const session = Session.create({ id, now: () => time++ })
  for (let turn = 1; session.length < length; turn++)
    appendTurn(session, turn, Math.min(perTurn, length - session.length))
  return { header: session.header, events: session.events }
}

/** Writes a log in batches of `batch` events through a lease, and lets go of it. */
export async function store(backend: SessionBackend, { header, events }: SampleLog, batch = 100): Promise<void> {
  const lease = await backend.acquire(header.id)
  for (let from = 0; from === 0 || from < events.length; from += batch) {
    await backend.append(lease, header, events.slice(from, from + batch))
  }
  await lease.release()
}

export function filesOf(directory: string, id: string): string[] {
  return readdirSync(directory)
    .filter(name => name.startsWith(`${id}.`))
    .sort()
}

// --- internal ---

function appendTurn(session: Session, turn: number, events: number): void {
  const end = session.length + events
  const within = <T>(append: () => T): T | undefined => (session.length < end ? append() : undefined)
  within(() => session.append('turn/start', { turn }))
  within(() =>
    session.append(
      'user/message',
      {
        turn,
        message: { role: 'user', content: [{ type: 'text', text: `Frage ${turn}: “ü” \u2028 \ud83d\ude80 \u0000` }] },
      },
      { surfaceOp: 'append' },
    ),
  )
  within(() => session.append('step/start', { turn, step: 1 }))
  const chunks: number[] = []
  while (session.length < end - 3) {
    const chunk = { type: 'text-delta' as const, id: 't', text: `piece ${session.length} ` }
    chunks.push(session.append('assistant/chunk', { turn, step: 1, chunk }).seq)
  }
  within(() =>
    session.append(
      'assistant/message',
      {
        turn,
        step: 1,
        message: { role: 'assistant', content: [{ type: 'text', text: 'done' }] },
        finishReason: 'stop',
      },
      { surfaceOp: 'append', ...(chunks.length > 0 && { sourceEventSeqs: chunks }) },
    ),
  )
  within(() => session.append('step/end', { turn, step: 1 }))
  within(() => session.append('turn/end', { turn, reason: { kind: 'completed' } }))
}
