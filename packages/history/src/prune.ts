import type { EventMap, Session, SessionEvent } from '@palimpsest/session'
import { type EditCost, planCost } from './edit-cost.js'
import { standInFor } from './stand-in.js'
import { type CountTokens, estimateTokens, messageTokens } from './tokens.js'

export interface PruneOptions {
  /** The newest visible tool results that stay. Default 3. */
  keepRecent?: number
  /** Smaller results stay. Default 200. */
  minTokens?: number
  countTokens?: CountTokens
}

export interface PrunedResult {
  /** The result that is shadowed now. */
  seq: number
  /** Its stand-in. */
  node: number
  toolCallId: string
  tokensBefore: number
  tokensAfter: number
}

export interface PruneReport extends EditCost {
  pruned: readonly PrunedResult[]
}

/**
 * Replaces old, large tool results one by one by stand-ins that name the call, the size and the seq where
 * `recall` finds the full text; then one `prune/applied`, if anything was pruned. A result that was
 * restored, and a stand-in, is never pruned. Needs no model.
 */
export function prune(session: Session, options: PruneOptions = {}): PruneReport {
  const { countTokens = estimateTokens } = options
  const plan = planPrune(session, options)
  const standIns = new Map(plan.map(({ event, standIn }) => [event.seq, [standIn.message]]))
  const cost = planCost(session, standIns, countTokens)
  const pruned = plan.map(candidate => replaceResult(session, candidate))
  if (pruned.length > 0) {
    const { tokensSaved, cachedPrefix } = cost
    session.append('prune/applied', { nodes: pruned.map(({ node }) => node), tokensSaved, cachedPrefix })
  }
  return { ...cost, pruned }
}

export interface PruneCandidate {
  readonly event: SessionEvent<'tool/result'>
  readonly standIn: EventMap['tool/result']
  readonly tokensBefore: number
  readonly tokensAfter: number
}

/** What `prune` would replace now, in surface order. */
export function planPrune(session: Session, options: PruneOptions = {}): PruneCandidate[] {
  const { keepRecent = 3, minTokens = 200, countTokens = estimateTokens } = options
  requireCount('keepRecent', keepRecent)
  requireCount('minTokens', minTokens)
  const results = session.surface.seqs().filter(seq => session.at(seq)!.type === 'tool/result')
  const restored = restoredResults(session)
  return results.slice(0, Math.max(0, results.length - keepRecent)).flatMap(seq => {
    if (session.surface.shadowed(seq).length > 0 || restored.has(seq)) return []
    return planResult(session.at(seq) as SessionEvent<'tool/result'>, minTokens, countTokens)
  })
}

// --- internal ---

function requireCount(name: string, value: number): void {
  if (Number.isInteger(value) && value >= 0) return
  throw new RangeError(`${name}: expected a whole number from 0 on, found ${value}`)
}

/** Results that a restore put back in the place of their stand-ins, which shadow one result each. */
function restoredResults(session: Session): Set<number> {
  const replaced = new Map<number, number>()
  const restored = new Set<number>()
  for (const { seq, type, surfaceOp } of session.markers()) {
    if (surfaceOp === 'append') continue
    if (surfaceOp.op === 'replace') {
      if (type === 'tool/result') replaced.set(seq, surfaceOp.start)
    } else if (replaced.has(surfaceOp.node)) restored.add(replaced.get(surfaceOp.node)!)
  }
  return restored
}

/** None where the result is small, or no stand-in would be shorter. */
function planResult(event: SessionEvent<'tool/result'>, minTokens: number, countTokens: CountTokens): PruneCandidate[] {
  const { message } = event.data
  const tokensBefore = messageTokens(message, countTokens)
  if (tokensBefore < minTokens) return []
  const standIn = standInFor(event, tokensBefore)
  if (standIn === undefined) return []
  const tokensAfter = messageTokens(standIn.message, countTokens)
  const isShorter =
    tokensAfter < tokensBefore && JSON.stringify(standIn.message).length < JSON.stringify(message).length
  return isShorter ? [{ event, standIn, tokensBefore, tokensAfter }] : []
}

function replaceResult(session: Session, { event, standIn, tokensBefore, tokensAfter }: PruneCandidate): PrunedResult {
  const { seq, data } = event
  const node = session.append('tool/result', standIn, {
    surfaceOp: { op: 'replace', start: seq, end: seq },
    sourceEventSeqs: [seq],
  }).seq
  return { seq, node, toolCallId: data.toolCallId, tokensBefore, tokensAfter }
}
