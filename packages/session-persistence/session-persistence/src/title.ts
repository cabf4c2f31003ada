import type { SessionEvent } from '@palimpsest/session'

const TITLE_CHARACTERS = 80

/** The title that an event gives its session: the first text of a user's message, at most 80 characters. */
export function titleOf(event: SessionEvent): string | undefined {
  if (event.type !== 'user/message') return undefined
  for (const part of event.data.message.content) {
    // The kernel vouches for the array only, not for what is in it.
    if (part?.type === 'text' && typeof part.text === 'string' && part.text !== '') return cut(part.text)
  }
  return undefined
}

// --- internal ---

/** Counts code points, so that no surrogate pair is split; looks at the head of a long text only. */
function cut(text: string): string {
  if (text.length <= TITLE_CHARACTERS) return text
  return Array.from(text.slice(0, 2 * TITLE_CHARACTERS))
    .slice(0, TITLE_CHARACTERS)
    .join('')
}
