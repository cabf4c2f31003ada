/**
 * Stored text came from models, tools and files: printed as it is it could move the cursor, forge lines,
 * or turn what is read around. Everything that a terminal obeys is shown as an escape instead.
 */

/** Text of several lines: line feeds and tabs stay. */
export function escapeText(text: string): string {
  return text.replace(UNSAFE_BUT_LAYOUT, escapeOne)
}

/** Text that must stay on its line. */
export function escapeLine(text: string): string {
  return text.replace(UNSAFE, escapeOne)
}

/** JSON of the same value that a terminal obeys in nothing: `JSON.stringify` leaves DEL, C1 and directional marks as they are. */
export function toJson(value: unknown): string {
  return JSON.stringify(value).replace(UNSAFE, character =>
    Array.from({ length: character.length }, (_, i) => unitEscape(character.charCodeAt(i))).join(''),
  )
}

/** One line of at most `limit` code points; what was cut is named by an ellipsis. Looks at the head of a long text only. */
export function shorten(text: string, limit: number): string {
  const points = Array.from(text.slice(0, 2 * limit + 2))
  const isCut = points.length > limit || text.length > 2 * limit + 2
  return escapeLine((isCut ? points.slice(0, Math.max(0, limit - 1)) : points).join('')) + (isCut ? '…' : '')
}

// --- internal ---

/**
 * C0 and C1 controls, DEL, the Arabic letter mark, directional marks, embeddings, overrides and isolates,
 * the line and paragraph separators, deprecated format characters, the byte order mark, interlinear
 * annotation, tag characters, and lone surrogates.
 */
const CLASS =
  '\\u007f-\\u009f\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u206f\\ufeff\\ufff9-\\ufffb\\u{e0000}-\\u{e007f}\\p{Surrogate}'
const UNSAFE = new RegExp(`[\\u0000-\\u001f${CLASS}]`, 'gu')
const UNSAFE_BUT_LAYOUT = new RegExp(`[\\u0000-\\u0008\\u000b-\\u001f${CLASS}]`, 'gu')

function escapeOne(character: string): string {
  const named = NAMED[character]
  if (named !== undefined) return named
  const code = character.codePointAt(0)!
  if (code < 0x100) return `\\x${code.toString(16).padStart(2, '0')}`
  return code > 0xffff ? `\\u{${code.toString(16)}}` : unitEscape(code)
}

function unitEscape(unit: number): string {
  return `\\u${unit.toString(16).padStart(4, '0')}`
}

const NAMED: Record<string, string> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' }
