import type { BytePart, SessionBackend, SessionSummary } from '@palimpsest/session-persistence'
import type { Context } from '../context.js'
import { escapeLine } from '../escape.js'
import { describeFailure } from '../failure.js'
import { bytes, counted } from '../view/figures.js'
import { table } from '../view/table.js'

/** Where the bytes of each session are, the largest first, and of all together. */
export async function listBytes(
  { out }: Context,
  backend: SessionBackend | undefined,
  summaries: readonly SessionSummary[],
): Promise<void> {
  const sessions: SessionBytes[] = []
  for (const { id } of summaries) sessions.push(await measure(backend!, id))
  sessions.sort((a, b) => b.own + b.shared - (a.own + a.shared))
  const total = addUp(sessions.flatMap(({ parts }) => parts ?? []))
  if (out.isJson) {
    out.json({ sessions, total })
    return
  }
  for (const session of sessions) print(session, 'that others use too', out)
  if (sessions.length < 2) return
  print(
    { id: `all ${counted(sessions.length, 'session')}`, ...total },
    'shared, counted once for each that uses it',
    out,
  )
}

// --- internal ---

interface Bytes {
  /** What removing it gives back. */
  own: number
  /** What other sessions use too; in a sum, once for each of them. */
  shared: number
  parts: BytePart[]
}

interface SessionBytes extends Bytes {
  id: string
  error?: { code: string; message: string }
}

async function measure(backend: SessionBackend, id: string): Promise<SessionBytes> {
  try {
    return { id, ...addUp((await backend.bytesOf?.(id)) ?? []) }
  } catch (error) {
    const { code, message } = describeFailure(error)
    return { id, own: 0, shared: 0, parts: [], error: { code, message } }
  }
}

function addUp(parts: readonly BytePart[]): Bytes {
  const sums = new Map<string, BytePart>()
  for (const part of parts) {
    const key = `${part.what} ${part.isShared}`
    const { bytes: known = 0, events } = sums.get(key) ?? {}
    const count = part.events === undefined ? events : part.events + (events ?? 0)
    sums.set(key, { ...part, bytes: part.bytes + known, ...(count !== undefined && { events: count }) })
  }
  const all = [...sums.values()].sort((a, b) => b.bytes - a.bytes)
  const sum = (isShared: boolean) =>
    all.reduce((total, part) => total + ((part.isShared ?? false) === isShared ? part.bytes : 0), 0)
  return { own: sum(false), shared: sum(true), parts: all }
}

function print(
  { id, own, shared, parts, error }: SessionBytes,
  ofShared: string,
  { colors, line }: Context['out'],
): void {
  const also = shared > 0 ? `, and ${bytes(shared)} ${ofShared}` : ''
  line(`${colors.bold(escapeLine(id))}  ${error === undefined ? `${bytes(own)}${also}` : `unreadable ${error.code}`}`)
  const rows = parts.map(part => [
    `  ${escapeLine(part.what)}`,
    bytes(part.bytes),
    part.events === undefined ? '' : String(part.events),
    part.isShared ? 'shared' : '',
  ])
  if (rows.length > 0) for (const each of table(['  WHAT', 'BYTES', 'EVENTS', ''], rows, [1, 2])) line(colors.dim(each))
}
