/**
 * A title as a person would say it: one line, without the markup that agents put around what was typed. Empty where
 * there is nothing else. The text may be cut at its end.
 */
export function plainTitle(text: string): string {
  const typed = text.replace(BLOCKS, ' ').replace(CUT_BLOCK, ' ').replace(TAGS, ' ')
  return oneLine(typed)
}

/** The slash command that a text is, as it was typed: `/review 12`. */
export function commandTitle(text: string): string | undefined {
  const name = /<command-name>\s*([^<]*)/.exec(text)?.[1]
  if (name === undefined) return undefined
  return oneLine(`${name} ${/<command-args>([^<]*)/.exec(text)?.[1] ?? ''}`)
}

// --- internal ---

/** What a program put in: with all that is in it. */
const PUT_IN =
  'system-reminder|command-name|command-message|command-args|command-contents|local-command-[a-z]+|bash-[a-z]+|environment_context|user_instructions|ide_[a-z_]+'
const BLOCKS = new RegExp(`<(${PUT_IN})(?:\\s[^>]*)?>[\\s\\S]*?</\\1>`, 'g')
const CUT_BLOCK = new RegExp(`<(?:${PUT_IN})(?:\\s[^>]*)?(?:>[\\s\\S]*)?$`)
/** Of any other element only the tags go: what stands between them may be all that was typed. One cut at the end too. */
const TAGS = /<\/?[a-z][\w-]*(?:\s[^<>]*)?(?:>|$)/gi

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim()
}
