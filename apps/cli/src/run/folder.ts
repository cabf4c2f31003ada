import { realpathSync } from 'node:fs'
import { resolve } from 'node:path'
import { CommandError } from '../failure.js'
import { isFolder } from '../is-folder.js'

/** The folder that the tools work in, absolute and without links. */
export function workFolder(given: string): string {
  const path = resolve(given)
  if (isFolder(path)) return realpathSync(path)
  throw new CommandError(
    'FOLDER_NOT_FOUND',
    `expected a folder for the tools to work in, found none at ${path}; name one with --cwd`,
  )
}
