import type { JsonValue } from '@palimpsest/session'
import { Draft, messagesOf } from './draft.js'
import type { HealOptions, OutgoingRequest, RequestToHeal, Target } from './request.js'
import { isThinking, openLoop } from './rules/thinking.js'
import { RULES } from './rules.js'

/** One thing that the target would refuse or that healing changed. */
export interface Change {
  /** As docs/doctor.md names it. */
  code: string
  severity: 'error' | 'warning' | 'info'
  /** Index in the messages that were given. */
  message: number
  /** Index in its content, where one part is meant. */
  part?: number
  /** Of the message in its log, where `seqs` was given. */
  seq?: number
  /** Further members of the finding. One that names another place does so as `{ message, part? }`. */
  members: Record<string, JsonValue>
}

export interface Left {
  kind: 'text' | 'reasoning' | 'call' | 'result' | 'media' | 'tool-schema' | 'record'
  count: number
  reason: string
}

export interface Healed {
  request: OutgoingRequest
  /** For each message of the request, the index of the given one that it comes from, or -1 for one that healing added. */
  origins: number[]
  /** In the order of the messages. Empty: nothing had to be changed. */
  changes: Change[]
  /** What the history holds and the request does not. */
  loss: Left[]
  /** To be sent once if the provider refuses the request: the same without any reasoning of the open turn. */
  fallback?: OutgoingRequest
}

/** The outgoing copy that the target accepts. A pure function; healing what is healed changes nothing. */
export function heal(request: RequestToHeal, target: Target, options: HealOptions = {}): Healed {
  const draft = new Draft(request, target, options)
  for (const rule of RULES) if (rule.targets.includes(target)) rule.heal(draft)
  draft.entries = draft.entries.filter(({ pieces }) => pieces.length > 0)
  const fallback = fallbackOf(draft)
  return {
    request: draft.request(),
    origins: draft.entries.map(({ given, origin }) => (given === undefined ? -1 : origin.message)),
    changes: inOrder(draft.changes),
    loss: draft.loss,
    ...(fallback && { fallback }),
  }
}

/** What the target would refuse, without changing anything. */
export function check(request: RequestToHeal, target: Target, options: HealOptions = {}): Change[] {
  return heal(request, target, options).changes
}

// --- internal ---

function inOrder(changes: readonly Change[]): Change[] {
  return [...changes].sort((a, b) => a.message - b.message || (a.part ?? -1) - (b.part ?? -1))
}

/** Signatures of an open tool loop may be refused whatever they look like: then it goes on without any of its thinking. */
function fallbackOf(draft: Draft): OutgoingRequest | undefined {
  if (draft.target !== 'anthropic') return undefined
  const open = new Set(openLoop(draft).flat())
  if (![...open].some(({ pieces }) => pieces.some(isThinking))) return undefined
  const request = draft.request()
  const entries = draft.entries.map(entry =>
    open.has(entry) ? { ...entry, pieces: entry.pieces.filter(piece => !isThinking(piece)) } : entry,
  )
  return { ...request, messages: messagesOf(entries.filter(({ pieces }) => pieces.length > 0)), thinking: 'disabled' }
}
