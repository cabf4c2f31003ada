import { Session, type SessionEvent, type SessionHeader } from '@palimpsest/session'

export interface SampleLog {
  readonly header: SessionHeader
  readonly events: readonly SessionEvent[]
}

/** Numbers from 0 below 1, the same for the same seed. */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** A log of turns with chunks of every kind, large texts that come again, replacements, times that jump. */
export function randomLog(id: string, random: () => number, turns = 4): SampleLog {
  let time = 1_700_000_000_000
  const now = () => {
    time += random() < 0.1 ? random() * 1000 : Math.floor(random() * 4)
    return time
  }
  const session = Session.create({ id, now })
  for (let turn = 1; turn <= turns; turn++) addTurn(session, turn, random)
  return { header: session.header, events: session.events }
}

/** The same text for the same number, of about two kilobytes, with characters of every width. */
export function largeText(n: number): string {
  return `“${n}” ü \u2028 \ud83d\ude80 \ud83d `.repeat(90)
}

// --- internal ---

const PIECES = [
  'So',
  ' it',
  '',
  ' \ud83d\ude80',
  '\ud83d\ude81',
  '\ud83d',
  '\ude80',
  '"\\',
  '\n',
  ' ü',
  'x'.repeat(1500),
]

function addTurn(session: Session, turn: number, random: () => number): void {
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!
  const text = (value: string) => [{ type: 'text' as const, text: value }]
  session.append('turn/start', { turn })
  const asked = random() < 0.5 ? largeText(Math.floor(random() * 3)) : `Question ${turn}`
  session.append('user/message', { turn, message: { role: 'user', content: text(asked) } }, { surfaceOp: 'append' })
  session.append('step/start', { turn, step: 1 })
  if (random() < 0.7) {
    const tools = [{ name: 'read', description: largeText(7), inputSchema: { type: 'object' } }]
    session.append('request/header', { model: 'm', settings: {}, system: largeText(9), tools })
  }
  const chunks: number[] = []
  for (let n = Math.floor(random() * 40); n > 0; n--) {
    const id = pick(['0', '1', '\ud83d\ude80'])
    const chunk = { type: random() < 0.8 ? 'text-delta' : 'reasoning-delta', id, text: pick(PIECES) } as const
    chunks.push(session.append('assistant/chunk', { turn, step: 1, chunk }).seq)
    if (random() < 0.05)
      session.append('tool/settled', { turn, step: 1, toolCallId: 'c', output: { type: 'text', value: 'x' } })
  }
  const message = { role: 'assistant' as const, content: text(pick(['Done', largeText(1)])) }
  session.append(
    'assistant/message',
    { turn, step: 1, message, finishReason: 'stop' },
    { surfaceOp: 'append', ...(chunks.length > 0 && { sourceEventSeqs: chunks }) },
  )
  const first = session.surface.first!
  if (random() < 0.3) {
    const summary = { turn, message: { role: 'user' as const, content: text('Summary') } }
    session.append('user/message', summary, {
      surfaceOp: { op: 'replace', start: first, end: first },
      sourceEventSeqs: [first],
    })
  }
  session.append('step/end', { turn, step: 1 })
  if (random() < 0.9) session.append('turn/end', { turn, reason: { kind: 'completed' } })
}
