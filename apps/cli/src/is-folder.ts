import { statSync } from 'node:fs'

/** Whether a folder lies there. What cannot be looked at is none: whoever opens it says why. */
export function isFolder(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
  } catch {
    return false
  }
}
