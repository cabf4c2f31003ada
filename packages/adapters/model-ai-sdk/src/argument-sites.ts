/** Where in a JSON text the arguments of a call stand: `[start, end)` in UTF-16 units. */
export interface ArgumentSite {
  id: string
  start: number
  end: number
}

/**
 * The places in a request body where a known call's arguments stand, in the order of the text: the
 * values of members named `arguments`, `input` or `args` whose object, or the object around it, has
 * the call's id as a member (`id`, `call_id`, `toolUseId`, …). Sites never overlap: what stands inside
 * arguments is the model's own, whatever it looks like. A body that is no JSON object has none.
 */
export function argumentSites(body: string, isCallId: (text: string) => boolean): ArgumentSite[] {
  const scan = new BodyScan(body, isCallId)
  try {
    JSON.parse(body) // from here on the text is known to be well formed
  } catch {
    return []
  }
  scan.value(0)
  return outermost(scan.sites.sort((a, b) => a.start - b.start))
}

// --- internal ---

const ARGUMENT_NAMES: ReadonlySet<string> = new Set(['arguments', 'input', 'args'])
const LONGEST_ID = 512

type Span = Omit<ArgumentSite, 'id'>
interface Scanned {
  end: number
  /** Arguments of this object that no id was found for: the object around it may have one. */
  open: Span[]
}

/** One pass over the text; it tells positions, which `JSON.parse` on Node 20 does not. */
class BodyScan {
  readonly sites: ArgumentSite[] = []
  readonly #text: string
  readonly #isCallId: (text: string) => boolean

  constructor(text: string, isCallId: (text: string) => boolean) {
    this.#text = text
    this.#isCallId = isCallId
  }

  value(at: number): Scanned {
    const start = this.#pastSpace(at)
    const first = this.#text[start]
    if (first === '{') return this.#object(start)
    if (first === '[') return { end: this.#array(start), open: [] }
    if (first === '"') return { end: this.#string(start), open: [] }
    return { end: this.#pastScalar(start), open: [] }
  }

  #object(start: number): Scanned {
    const own: Span[] = []
    const inner: Span[] = []
    let id: string | undefined
    let at = this.#pastSpace(start + 1)
    while (this.#text[at] !== '}') {
      const nameEnd = this.#string(at)
      const name = this.#text.slice(at + 1, nameEnd - 1)
      const valueStart = this.#pastSpace(this.#pastSpace(nameEnd) + 1)
      const { end, open } = this.value(valueStart)
      if (ARGUMENT_NAMES.has(name)) {
        own.push({ start: valueStart, end })
      } else {
        id ??= this.#idIn(valueStart, end)
        inner.push(...open)
      }
      at = this.#pastComma(end)
    }
    if (id === undefined) return { end: at + 1, open: own }
    for (const span of [...own, ...inner]) this.sites.push({ id, ...span })
    return { end: at + 1, open: [] }
  }

  #array(start: number): number {
    let at = this.#pastSpace(start + 1)
    while (this.#text[at] !== ']') at = this.#pastComma(this.value(at).end)
    return at + 1
  }

  #idIn(start: number, end: number): string | undefined {
    if (this.#text[start] !== '"' || end - start > LONGEST_ID) return undefined
    const text: string = JSON.parse(this.#text.slice(start, end))
    return this.#isCallId(text) ? text : undefined
  }

  /** The end of the string that begins at `start`: the first quote after an even number of backslashes. */
  #string(start: number): number {
    for (let quote = this.#text.indexOf('"', start + 1); ; quote = this.#text.indexOf('"', quote + 1)) {
      let before = quote - 1
      while (this.#text[before] === '\\') before--
      if ((quote - before) % 2 === 1) return quote + 1
    }
  }

  #pastComma(at: number): number {
    const next = this.#pastSpace(at)
    return this.#text[next] === ',' ? this.#pastSpace(next + 1) : next
  }

  #pastSpace(at: number): number {
    let next = at
    while (isSpace(this.#text.charCodeAt(next))) next++
    return next
  }

  /** A number, `true`, `false` or `null`: all that is no space and no `,`, `]` or `}`. */
  #pastScalar(at: number): number {
    let next = at
    for (; next < this.#text.length; next++) {
      const unit = this.#text.charCodeAt(next)
      if (unit === 0x2c || unit === 0x5d || unit === 0x7d || isSpace(unit)) break
    }
    return next
  }
}

/** Of `sites` in the order of their starts, those within no other. JSON values nest, so none overlaps in part. */
function outermost(sites: readonly ArgumentSite[]): ArgumentSite[] {
  let end = 0
  return sites.filter(site => {
    if (site.start < end) return false
    end = site.end
    return true
  })
}

function isSpace(unit: number): boolean {
  return unit === 0x20 || unit === 0x0a || unit === 0x0d || unit === 0x09
}
