import type { Finding } from '../../finding.js'
import { stringOf } from '../../json/shapes.js'
import type { RolloutRecord } from './rollout-record.js'

/**
 * Records of another session behind this one's. A fork or a subagent begins with copies of its parent's, and names the
 * parent before the first item: whoever is named later, and was not before, is a stranger.
 */
export class ForeignStretch {
  readonly #family = new Set<string>()
  #hasItems = false
  #open: { sessionId: string; from: number; to: number; records: number } | undefined

  constructor(private readonly report: (finding: Finding) => void) {}

  /** Whether the record is not this session's; each record is asked about once, in order. */
  holds({ type, payload }: RolloutRecord, line: number): boolean {
    const id = type === 'session_meta' ? stringOf(payload.id) : undefined
    if (id !== undefined) this.#named(id, line)
    if (type === 'response_item') this.#hasItems = true
    if (this.#open === undefined) return false
    this.#open.records += 1
    this.#open.to = line
    return true
  }

  end(): void {
    if (this.#open === undefined) return
    const { sessionId, from, to, records } = this.#open
    const where = from === to ? `line ${from}` : `line ${from}-${to}`
    this.report({ code: 'lineage.foreign-session', severity: 'error', where, sessionId, records })
    this.#open = undefined
  }

  // --- internal ---

  #named(id: string, line: number): void {
    if (!this.#hasItems) this.#family.add(id)
    if (this.#open?.sessionId === id) return
    this.end()
    if (!this.#family.has(id)) this.#open = { sessionId: id, from: line, to: line, records: 0 }
  }
}
