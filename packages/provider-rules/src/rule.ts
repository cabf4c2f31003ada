import type { Draft } from './draft.js'
import type { Target } from './request.js'

/** One thing that a target refuses. */
export interface Rule {
  /** What it checks. */
  readonly name: string
  readonly targets: readonly Target[]
  /** What it may report. */
  readonly codes: readonly string[]
  /** A page of documentation, or a thread as owner/repo#number. */
  readonly source: string
  /** How it heals, in half a sentence. */
  readonly healing: string
  heal(draft: Draft): void
}
