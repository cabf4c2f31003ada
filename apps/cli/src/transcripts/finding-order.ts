import type { Finding } from '@palimpsest/transcripts'

/** In the order of the file; of one place, as they were found. */
export function inOrder(findings: readonly Finding[]): Finding[] {
  return [...findings].sort((a, b) => compare(positionOf(a), positionOf(b)))
}

// --- internal ---

/** The numbers in a place: `line 3-4` is [3, 4], `messages[2].content[0]` is [2, 0]; `file` comes first. */
function positionOf({ where }: Finding): number[] {
  return (where.match(/\d+/g) ?? []).map(Number)
}

function compare(a: readonly number[], b: readonly number[]): number {
  for (let i = 0; i < Math.min(a.length, b.length); i++) if (a[i] !== b[i]) return a[i]! - b[i]!
  return a.length - b.length
}
