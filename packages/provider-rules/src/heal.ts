import type { JsonValue } from '@palimpsest/session'
import type { HealOptions, OutgoingRequest, RequestToHeal, Target } from './request.js'

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
  kind: 'text' | 'reasoning' | 'call' | 'result' | 'media' | 'tool-schema'
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
export function heal(request: RequestToHeal, _target: Target, _options: HealOptions = {}): Healed {
  const { messages, system, tools = [] } = request
  return {
    request: { messages: [...messages], tools, ...(system !== undefined && { system }) },
    origins: messages.map((_, i) => i),
    changes: [],
    loss: [],
  }
}

/** What the target would refuse, without changing anything. */
export function check(request: RequestToHeal, target: Target, options: HealOptions = {}): Change[] {
  return heal(request, target, options).changes
}
