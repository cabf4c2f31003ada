import { crc32 } from 'node:zlib'
import { Session, type SessionEvent, type SessionHeader } from '@palimpsest/session'

/** A session as it was appended, for whichever store. */
export interface SampleLog {
  readonly header: SessionHeader
  readonly events: readonly SessionEvent[]
}

/** What generated logs are made of: texts that are hard on a store. */
export const TEXTS = {
  plain: (n: number) => `piece ${n} `,
  unicode: (n: number) => `Grüße ${n} — “ü” \ud83d\ude80\ud83d\udc69\u200d\ud83d\udcbb e\u0301 日本語 \ud800 end`,
  separators: (n: number) => `a\u2028b\u2029c\u0085d\u000b\u000c ${n}`,
  crlf: (n: number) => `${n}\r\nline\r\n\n\rdata: {"seq":${n},"crc":"00000000"}\r\n`,
  controls: (n: number) => `\u0000\u0001\u001f\u007f\ufeff\ufffe ${n}`,
  json: (n: number) => `{"seq":${n},"time":1,"type":"turn/start","data":{},"crc":"deadbeef"}\n{"seq":`,
  long: (n: number) => `${n} `.repeat(400),
  digits: (n: number) => '0123456789abcdef'.repeat(1 + (n % 3)),
  empty: () => '',
} as const

export type TextKind = keyof typeof TEXTS

/** A log of `length` events in turns of `perTurn`: a message, chunks that the answer cites. */
export function generateLog(id: string, length: number, { text = 'plain' as TextKind, perTurn = 8 } = {}): SampleLog {
  let time = 1_700_000_000_000
  const session = Session.create({ id, now: () => time++ })
  for (let turn = 1; session.length < length; turn++) {
    appendTurn(session, turn, Math.min(perTurn, length - session.length), TEXTS[text])
  }
  return { header: session.header, events: session.events }
}

/** An event's line, or a header's, as docs/format.md says: the whole JSON, and at its end the checksum. */
export function lineOf(value: object): string {
  const body = JSON.stringify(value).slice(0, -1)
  return `${body},"crc":"${crc32(body).toString(16).padStart(8, '0')}"}\n`
}

/** A small seeded generator (mulberry32), so that a failing run can be repeated. */
export function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let x = Math.imul(state ^ (state >>> 15), 1 | state)
    x = (x + Math.imul(x ^ (x >>> 7), 61 | x)) ^ x
    return ((x ^ (x >>> 14)) >>> 0) / 2 ** 32
  }
}

// --- internal ---

function appendTurn(session: Session, turn: number, events: number, text: (n: number) => string): void {
  const end = session.length + events
  const within = <T>(append: () => T): T | undefined => (session.length < end ? append() : undefined)
  const content = () => [{ type: 'text' as const, text: text(session.length) }]
  within(() => session.append('turn/start', { turn }))
  within(() =>
    session.append('user/message', { turn, message: { role: 'user', content: content() } }, { surfaceOp: 'append' }),
  )
  within(() => session.append('step/start', { turn, step: 1 }))
  const chunks: number[] = []
  while (session.length < end - 3) {
    const chunk = { type: 'text-delta' as const, id: 't', text: text(session.length) }
    chunks.push(session.append('assistant/chunk', { turn, step: 1, chunk }).seq)
  }
  within(() =>
    session.append(
      'assistant/message',
      { turn, step: 1, message: { role: 'assistant', content: content() }, finishReason: 'stop' },
      { surfaceOp: 'append', ...(chunks.length > 0 && { sourceEventSeqs: chunks }) },
    ),
  )
  within(() => session.append('step/end', { turn, step: 1 }))
  within(() => session.append('turn/end', { turn, reason: { kind: 'completed' } }))
}
