const LONE = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g

/** Halves of surrogate pairs become U+FFFD; whole pairs stay. */
export function withoutLoneSurrogates(text: string): string {
  return text.replace(LONE, '\ufffd')
}

export function countLoneSurrogates(text: string): number {
  return text.match(LONE)?.length ?? 0
}

/** The same for halves that JSON text writes as escapes. */
export function withoutLoneEscapes(json: string): string {
  if (!ESCAPED.test(json)) return json
  let out = ''
  let at = 0
  const units = unitsOf(json)
  for (let i = 0; i < units.length; i++) {
    const { code, start, end } = units[i]!
    const isPair = isHigh(code) && units[i + 1]?.start === end && isLow(units[i + 1]!.code)
    if (isPair) i++
    else {
      out += `${json.slice(at, start)}\\ufffd`
      at = end
    }
  }
  return out + json.slice(at)
}

// --- internal ---

const ESCAPED = /\\u[dD][89a-fA-F]/

interface Unit {
  code: number
  start: number
  end: number
}

/** The halves in a JSON text, as they stand or as escapes. An escaped backslash begins no escape. */
function unitsOf(json: string): Unit[] {
  return [...json.matchAll(/\\(?:u([0-9a-fA-F]{4})|[\s\S])|[\ud800-\udfff]/g)].flatMap(({ 0: text, 1: hex, index }) => {
    const code = hex === undefined ? (text.length === 1 ? text.charCodeAt(0) : 0) : Number.parseInt(hex, 16)
    return code >= 0xd800 && code <= 0xdfff ? [{ code, start: index, end: index + text.length }] : []
  })
}

const isHigh = (code: number) => code >= 0xd800 && code <= 0xdbff
const isLow = (code: number) => code >= 0xdc00 && code <= 0xdfff
