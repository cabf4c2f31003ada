import { objectsOf } from '../../json/shapes.js'

/**
 * Which messages are hidden, and by which: a summary or a truncation tags what it stands for. A tag whose summary is
 * gone is void. By index.
 */
export function hiddenBy(messages: readonly unknown[]): Map<number, number> {
  const hiders = new Map<unknown, number>()
  for (const [i, { isSummary, condenseId, isTruncationMarker, truncationId }] of objectsOf(messages)) {
    if (isSummary === true && condenseId !== undefined) hiders.set(condenseId, i)
    if (isTruncationMarker === true && truncationId !== undefined) hiders.set(truncationId, i)
  }
  const hidden = new Map<number, number>()
  for (const [i, { condenseParent, truncationParent }] of objectsOf(messages)) {
    const by = hiders.get(condenseParent) ?? hiders.get(truncationParent)
    if (by !== undefined && by !== i) hidden.set(i, by)
  }
  return hidden
}
