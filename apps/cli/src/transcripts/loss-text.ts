import type { Loss } from '@palimpsest/transcripts'

/** What is not in an outcome, how often, and why. */
export function lossText({ kind, count, reason, where }: Loss): string {
  return `${kind} × ${count}, ${reason}${where === undefined ? '' : `, ${where}`}`
}
