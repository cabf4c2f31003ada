import type { ModelRequest, Session } from '@palimpsest/session'
import type { Relation } from '../relation.js'

export const requestRebuilds: Relation = {
  name: 'request-rebuilds',
  description: 'The request that goes to the model equals requestAt() of the log prefix that it was built from.',
  judgeHost: (ctx, report) => {
    ctx.on('model/request', (request, { session, length }) => {
      const message = differenceOf(request, session, length)
      if (message !== undefined) report({ seqs: [length - 1], message }, session.id)
    })
  },
}

// --- internal ---

function differenceOf(request: ModelRequest, session: Session, length: number): string | undefined {
  const rebuilt = rebuild(session, length)
  if (rebuilt === undefined) return `expected a request that the first ${length} events make, found that they make none`
  if (rebuilt === request) return undefined
  const keys = new Set([...Object.keys(rebuilt), ...Object.keys(request)]) as Set<keyof ModelRequest>
  for (const key of keys) {
    if (rebuilt[key] === request[key] || JSON.stringify(rebuilt[key]) === JSON.stringify(request[key])) continue
    return `expected the request of the first ${length} events, found another ${key}; change a request by appending only`
  }
  return undefined
}

function rebuild(session: Session, length: number): ModelRequest | undefined {
  try {
    return session.requestAt(length)
  } catch {
    return undefined
  }
}
