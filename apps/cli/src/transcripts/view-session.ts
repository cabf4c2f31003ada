import type { Session, SessionEvent } from '@palimpsest/session'
import { LiveView } from './live-view.js'

/** The view of a session from its own surface: what is shadowed, and what makes no message, is not read. */
export function viewSession(session: Session): LiveView {
  const view = new LiveView({ keepsShadowed: true })
  const visible = session.surface.seqs().map(seq => session.at(seq)!)
  const start = session.lastSeqOf('turn/start')
  view.begin(visible, start === undefined ? [] : session.slice(start), startsOf(session, visible))
  const header = session.lastSeqOf('request/header')
  if (header !== undefined) view.header = session.at(header)!.data as typeof view.header
  return view
}

// --- internal ---

/** Of each visible call without a visible result the event by which it began, if it did: it stands in its turn, behind the answer. */
function startsOf(session: Session, visible: readonly SessionEvent[]): SessionEvent[] {
  const answered = new Set(visible.flatMap(event => (event.type === 'tool/result' ? [event.data.toolCallId] : [])))
  const starts: SessionEvent[] = []
  for (const event of visible) {
    if (event.type !== 'assistant/message') continue
    const open = new Set(
      event.data.message.content.flatMap(part =>
        part.type === 'tool-call' && !part.providerExecuted && !answered.has(part.toolCallId) ? [part.toolCallId] : [],
      ),
    )
    if (open.size > 0) starts.push(...startsBehind(session, event.seq, open))
  }
  return starts
}

function startsBehind(session: Session, seq: number, open: ReadonlySet<string>): SessionEvent[] {
  const starts: SessionEvent[] = []
  for (let from = seq + 1; from < session.length; from += PIECE_EVENTS) {
    for (const event of session.slice(from, from + PIECE_EVENTS)) {
      if (event.type === 'turn/start') return starts
      if (event.type === 'tool/call' && open.has(event.data.toolCallId)) starts.push(event)
    }
  }
  return starts
}

const PIECE_EVENTS = 256
