import { isSurfaceType, type Session, type SessionEvent } from '@palimpsest/session'
import type { Place } from '@palimpsest/transcripts'
import type { LiveView } from './live-view.js'

/** The messages that the next request holds, by who made them. */
export interface Visible {
  readonly prompts: number
  readonly answers: number
  readonly results: number
  /** Reminders, environment, summaries. */
  readonly others: number
}

/** What a person is told of a log as a whole. */
export interface Tallied {
  readonly visible: Visible
  /** Messages that were ever visible. */
  readonly messages: number
  /** Epoch milliseconds of the last event that has a time. */
  readonly lastTime?: number | undefined
  /** When what stands at a place was written, or what stands next before it. */
  timeAt(where: string): number | undefined
}

/** Counts a log while it is read. Takes two numbers an event. */
export class Tally implements Tallied {
  messages = 0
  lastTime: number | undefined
  visible: Visible = { prompts: 0, answers: 0, results: 0, others: 0 }
  /** Records that no request holds, by their type in the file's own terms. */
  readonly rows = new Map<string, number>()
  readonly #lines: number[] = []
  readonly #times: number[] = []

  readonly add = ({ type, time, data }: SessionEvent, { where }: Place): void => {
    if (isSurfaceType(type)) this.messages += 1
    const row = ROW.exec(type)?.[1]
    // What belongs to a message is told with it.
    if (row !== undefined && !('of' in Object(data))) this.rows.set(row, (this.rows.get(row) ?? 0) + 1)
    if (time <= 0) return
    this.lastTime = Math.max(this.lastTime ?? time, time)
    this.#lines.push(lineOf(where))
    this.#times.push(time)
  }

  /** Looks at what was read, before anything is mended in it. */
  see({ events }: Pick<LiveView, 'events'>): void {
    this.visible = countVisible(events)
  }

  timeAt(where: string): number | undefined {
    const line = lineOf(where)
    let best = -1
    for (let i = 0; i < this.#lines.length; i++) {
      const each = this.#lines[i]!
      if (each <= line && (best < 0 || each > this.#lines[best]!)) best = i
    }
    return this.#times[best]
  }
}

/** The same of a stored session, of which what is shadowed is not read. */
export function tallySession(session: Session, view: Pick<LiveView, 'events'>): Tallied {
  const { events } = view
  const timeOf = (seq: number) => session.at(seq)?.time || undefined
  return {
    visible: countVisible(events),
    messages: events.length,
    lastTime: timeOf(session.length - 1),
    timeAt: where => timeOf(lineOf(where)),
  }
}

// --- internal ---

function countVisible(events: readonly SessionEvent[]): Visible {
  const count = (...types: string[]) => events.filter(({ type }) => types.includes(type)).length
  const known = {
    prompts: count('user/message', 'steering/message'),
    answers: count('assistant/message'),
    results: count('tool/result'),
  }
  return { ...known, others: events.length - known.prompts - known.answers - known.results }
}

/** `import/claude-code.progress`; an import's end is no row. */
const ROW = /^import\/[a-z-]+\.(.+)$/

/** The number of its line, frame, event or message: the first one in it. */
function lineOf(where: string): number {
  return Number(/\d+/.exec(where)?.[0] ?? -1)
}
