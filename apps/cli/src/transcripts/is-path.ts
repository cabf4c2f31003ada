import { existsSync } from 'node:fs'

/** Whether an argument names a file or a folder and no session: no session id has a separator or a dot. */
export function isPath(given: string): boolean {
  return /[/\\.]/.test(given) || existsSync(given)
}
