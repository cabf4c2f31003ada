import { escapeLine } from '../escape.js'

/** A word of a command that can be copied into a shell, whatever it holds: `plain`, `'two words'`, `$'a\nb'`. */
export function shellWord(text: string): string {
  if (/^[\w./~@%+=:,-]+$/.test(text) && !text.startsWith('~')) return text
  const shown = escapeLine(text)
  if (shown === text) return `'${text.replaceAll("'", `'\\''`)}'`
  return `$'${escapeLine(text.replaceAll('\\', '\\\\').replaceAll("'", "\\'"))}'`
}

/** A path as a word: one that begins with `-` is no option. */
export function pathWord(path: string): string {
  return shellWord(path.startsWith('-') ? `./${path}` : path)
}
