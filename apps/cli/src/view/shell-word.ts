import { escapeLine } from '../escape.js'

/**
 * A word of a command that can be copied into any POSIX shell, whatever it holds: `plain`, `'two words'`. What a
 * terminal obeys is written by `printf`, byte by byte: `"$(printf 'a\012b')"`.
 */
export function shellWord(text: string): string {
  if (/^[\w./~@%+=:,-]+$/.test(text) && !text.startsWith('~')) return text
  if (escapeLine(text) === text) return `'${text.replaceAll("'", `'\\''`)}'`
  // A shell takes line feeds off the end of what a command prints: these stand as they are.
  const [, head = '', end = ''] = /^(.*?)(\n*)$/s.exec(text)!
  return `"$(printf '${octal(head)}')"${end && `'${end}'`}`
}

/** A path as a word: one that begins with `-` is no option. */
export function pathWord(path: string): string {
  return shellWord(path.startsWith('-') ? `./${path}` : path)
}

// --- internal ---

function octal(text: string): string {
  const isPlain = (byte: number) => /[\w./ -]/.test(String.fromCharCode(byte))
  const write = (byte: number) => (isPlain(byte) ? String.fromCharCode(byte) : `\\${byte.toString(8).padStart(3, '0')}`)
  return Array.from(Buffer.from(text), write).join('')
}
