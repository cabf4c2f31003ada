import type { SessionEvent } from '@palimpsest/session'

const TITLE_CHARACTERS = 80

/** The title that an event gives its session: the first text of a user's message, at most 80 characters. */
export function titleOf(event: SessionEvent): string | undefined {
  if (event.type !== 'user/message') return undefined
  // A store lists what no session may hold, too; and what is in the array nobody vouches for.
  const content: unknown = event.data?.message?.content
  for (const part of Array.isArray(content) ? content : []) {
    if (part?.type === 'text' && typeof part.text === 'string' && part.text !== '') return cut(part.text)
  }
  return undefined
}

// --- internal ---

/** Counts code points, so that no surrogate pair is split. A copy: a slice would keep a long text as long as the title lives. */
function cut(text: string): string {
  if (text.length <= TITLE_CHARACTERS) return text
  let end = 0
  for (let n = 0; n < TITLE_CHARACTERS && end < text.length; n++) end += text.codePointAt(end)! > 0xffff ? 2 : 1
  return JSON.parse(JSON.stringify(text.slice(0, end)))
}
