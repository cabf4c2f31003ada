import { realpathSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { CommandError } from '../failure.js'

/** The folder that the tools work in, absolute and without links. */
export function workFolder(given: string): string {
  const path = resolve(given)
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) return realpathSync(path)
  throw new CommandError(
    'FOLDER_NOT_FOUND',
    `expected a folder for the tools to work in, found none at ${path}; name one with --cwd`,
  )
}
