/** One past the JSON object or array that begins at `start`, or `undefined` where it does not end. Looks at brackets and strings only. */
export function scanJson(text: string, start: number): number | undefined {
  let depth = 0
  for (let i = start; i < text.length; i++) {
    const char = text.charCodeAt(i)
    if (char === QUOTE) {
      i = endOfString(text, i)
      if (i < 0) return undefined
    } else if (char === OPEN_BRACE || char === OPEN_BRACKET) depth++
    else if ((char === CLOSE_BRACE || char === CLOSE_BRACKET) && --depth <= 0) return i + 1
  }
  return undefined
}

export function parseJson(text: string): { value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) }
  } catch {
    return undefined
  }
}

// --- internal ---

const QUOTE = 0x22
const BACKSLASH = 0x5c
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d
const OPEN_BRACKET = 0x5b
const CLOSE_BRACKET = 0x5d

/** The place of the closing quote, or -1. */
function endOfString(text: string, start: number): number {
  for (let at = text.indexOf('"', start + 1); at >= 0; at = text.indexOf('"', at + 1)) {
    let slashes = 0
    while (text.charCodeAt(at - 1 - slashes) === BACKSLASH) slashes++
    if (slashes % 2 === 0) return at
  }
  return -1
}
