import { type Json, objectsOf, stringOf } from '../../json/shapes.js'
import { isVoidSummary } from '../void-summary.js'

/**
 * Which messages are hidden, and by which: a summary or a truncation tags what it stands for. A tag whose summary is
 * gone, or says nothing, is void. By index.
 */
export function hiddenBy(messages: readonly unknown[]): Map<number, number> {
  const hiders = new Map<unknown, number>()
  for (const [i, message] of objectsOf(messages)) {
    const { isSummary, condenseId, isTruncationMarker, truncationId } = message
    if (isSummary === true && condenseId !== undefined && !saysNothing(message)) hiders.set(condenseId, i)
    if (isTruncationMarker === true && truncationId !== undefined) hiders.set(truncationId, i)
  }
  const hidden = new Map<number, number>()
  for (const [i, { condenseParent, truncationParent }] of objectsOf(messages)) {
    const by = hiders.get(condenseParent) ?? hiders.get(truncationParent)
    if (by !== undefined && by !== i) hidden.set(i, by)
  }
  return hidden
}

/** A summary that came back blank, or failed. */
export function isVoidSummaryMessage(message: Json): boolean {
  return message.isSummary === true && saysNothing(message)
}

// --- internal ---

function saysNothing({ content }: Json): boolean {
  if (typeof content === 'string') return isVoidSummary(content)
  const texts = objectsOf(content).map(([, block]) => stringOf(block.text) ?? '')
  return isVoidSummary(texts.join(''))
}
