export interface ClosedJson {
  /** JSON: the document up to the last whole entry of its list. */
  readonly text: string
  /** Where the entry that was cut short stands: a path from the root, `file` where the cut lies between two. */
  readonly where: string
  /** No list is cut, only the object around. */
  readonly isWhole?: true
}

/**
 * A document that a writer left half written, ended after the last whole entry of the outermost list that it stopped in.
 * `undefined` for text that is no such beginning, or that breaks the grammar of JSON in another way.
 */
export function closeTorn(text: string): ClosedJson | undefined {
  const open: Container[] = []
  let key = ''
  for (let i = 0; i < text.length; i++) {
    const char = text[i]!
    if (char === '"') {
      const end = endOfString(text, i)
      if (end === undefined) break
      if (open.at(-1)?.bracket === '{') key = text.slice(i + 1, end)
      i = end
    } else if (char === '{' || char === '[') {
      open.push({ bracket: char, key, entries: 0, end: i + 1 })
    } else if (char === '}' || char === ']') {
      if (open.pop()?.bracket !== (char === '}' ? '{' : '[')) return undefined
      const outer = open.at(-1)
      if (outer === undefined) return undefined
      entryEnds(outer, i + 1)
    }
  }
  return cut(text, open)
}

// --- internal ---

interface Container {
  readonly bracket: '{' | '['
  /** The member of the object around it that it is. */
  readonly key: string
  /** Whole objects and lists in it. */
  entries: number
  /** Behind the last of them. */
  end: number
}

function entryEnds(container: Container, end: number): void {
  container.entries += 1
  container.end = end
}

function cut(text: string, open: readonly Container[]): ClosedJson | undefined {
  const depth = open.findIndex(({ bracket }) => bracket === '[')
  const list = open[depth]
  const [object] = open
  if (list === undefined && open.length === 1 && object!.entries > 0) {
    return { text: `${text.slice(0, object!.end)}}`, where: 'file', isWhole: true }
  }
  if (list === undefined || depth > 1) return undefined
  const closing = `]${'}'.repeat(depth)}`
  const isInside = open.length > depth + 1
  const name = depth === 0 ? 'messages' : list.key
  const where = isInside ? `${name}[${list.entries}]` : 'file'
  return { text: text.slice(0, list.end) + closing, where }
}

function endOfString(text: string, start: number): number | undefined {
  for (let at = text.indexOf('"', start + 1); at >= 0; at = text.indexOf('"', at + 1)) {
    let slashes = 0
    while (text[at - 1 - slashes] === '\\') slashes++
    if (slashes % 2 === 0) return at
  }
  return undefined
}
