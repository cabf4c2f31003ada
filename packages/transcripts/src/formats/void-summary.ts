/**
 * Whether a summary says nothing of what was said: blank, or the words of the error that came instead of it. Only what
 * is short and begins like an error is taken for one: a history may well be about errors.
 */
export function isVoidSummary(text: string): boolean {
  const said = text.trim()
  return said === '' || (said.length <= ERROR_LENGTH && ERROR.test(said))
}

// --- internal ---

const ERROR_LENGTH = 600
const ERROR =
  /^[[(]?(?:API Error\b|Error generating summary\b|Error:|Failed to (?:generate|create|produce) (?:a |the )?summary\b|Summary (?:generation )?(?:failed|unavailable)\b|\(?no summary (?:available|generated|produced)\b)/i
