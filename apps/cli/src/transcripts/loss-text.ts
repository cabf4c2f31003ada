import type { Loss } from '@palimpsest/transcripts'

/** What is not in an outcome, how often, and why: `5 × reasoning: not signed`. */
export function lossText({ kind, count, reason, where }: Loss): string {
  const what = count === 1 ? kind : `${count} × ${kind}`
  return `${what}: ${reason}${where === undefined ? '' : ` (${where})`}`
}
