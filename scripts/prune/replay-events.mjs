// A recorded log, appended event by event to a session that may be edited on the way.
import { Session } from '@palimpsest/session'

/**
 * Resolves to the session, and to its length and messages at each request: before every answer that was appended.
 * `beforeRequest(session)` may edit first, as a plugin does. Recorded edits find what they replace under edits of ours.
 */
export async function replayEvents({ events, header }, beforeRequest = async _session => {}) {
  let time = 0
  const session = Session.create({ id: 'recording', header, now: () => time })
  const requests = []
  const seqs = new Map()
  for (const event of events) {
    if (event.type === 'assistant/message' && event.surfaceOp === 'append') {
      await beforeRequest(session)
      requests.push({ length: session.length, messages: session.deriveMessages() })
    }
    time = event.time
    const intent = intentOf(session, event, seq => seqs.get(seq))
    seqs.set(event.seq, session.append(event.type, event.data, ...(intent ? [intent] : [])).seq)
  }
  return { session, requests, seqs }
}

// --- internal ---

function intentOf(session, { surfaceOp, sourceEventSeqs, ignorable }, seqOf) {
  if (surfaceOp === undefined) return ignorable && { ignorable }
  const sources = sourceEventSeqs?.map(seqOf)
  if (surfaceOp === 'append') return { surfaceOp, ...(sources && { sourceEventSeqs: sources }) }
  if (surfaceOp.op === 'restore') {
    const node = seqOf(surfaceOp.node)
    return { surfaceOp: { op: 'restore', node }, sourceEventSeqs: [node] }
  }
  const start = visibleAt(session, seqOf(surfaceOp.start))
  const end = visibleAt(session, seqOf(surfaceOp.end))
  const surface = session.surface.seqs()
  const range = surface.slice(surface.indexOf(start), surface.indexOf(end) + 1)
  return { surfaceOp: { op: 'replace', start, end }, sourceEventSeqs: [...new Set([...range, ...sources])] }
}

/** The node that stands for `seq` on the surface now. */
function visibleAt(session, seq) {
  const above = session.surface.coveredBy(seq)
  return above === undefined ? seq : visibleAt(session, above)
}
