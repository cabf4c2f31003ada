import type { Finding } from '../../finding.js'
import type { Place } from '../../place.js'
import type { RolloutRecord } from './rollout-record.js'

/** Messages that were written twice in a row. */
export class RepeatedLines {
  #last = { text: '', where: '', isAtOnce: false }
  #time: number | undefined

  constructor(private readonly report: (finding: Finding) => void) {}

  /**
   * Whether it is the very line of the message before it, down to its time. Where the record before both has that time
   * too, many were written at once, and two equal ones are two.
   */
  holds({ type, payload }: RolloutRecord, text: string, { where, time }: Place): boolean {
    if (type === 'response_item' && payload.type === 'message' && text === this.#last.text) {
      const { where: of, isAtOnce } = this.#last
      if (!isAtOnce) this.report({ code: 'lineage.replayed-copy', severity: 'error', where, of })
      return !isAtOnce
    }
    if (type === 'response_item') this.#last = { text, where, isAtOnce: time === this.#time }
    this.#time = time
    return false
  }
}
