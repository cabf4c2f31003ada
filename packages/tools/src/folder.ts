import { existsSync, constants as flags, type Stats } from 'node:fs'
import { type FileHandle, lstat, mkdir, open } from 'node:fs/promises'
import { join } from 'node:path'
import { asToolError, quote, systemCode, ToolError } from './errors.js'
import { isLink, locate, notFolder, type Place, type Root } from './root.js'

/** An open folder. `handle` belongs to `inFolder`, which closes it. */
export interface Folder {
  readonly handle: FileHandle
  readonly path: string
}

export interface OpenFile {
  readonly handle: FileHandle
  readonly place: Place
  readonly stats: Stats
}

/**
 * Opens the folder that holds `place` and hands it to `use`. With `create`, missing folders are made on the way.
 * A link met here was put there after `locate`: `FILE_CHANGED`.
 */
export async function inFolder<T>(
  root: Root,
  place: Place,
  options: { create?: boolean },
  use: (folder: Folder, name: string) => Promise<T>,
): Promise<T> {
  const name = place.segments.at(-1)
  if (name === undefined)
    throw new ToolError('FILE_KIND_UNSUPPORTED', 'A file was expected, but the path is the root folder.')
  let folder = await openFolder(root.path, root.path, place).catch(error => {
    throw asToolError(error, root.path)
  })
  try {
    for (const segment of place.segments.slice(0, -1)) {
      if (options.create) await makeFolder(folder, segment)
      const next = await openFolder(within(folder, segment), join(folder.path, segment), place)
      await folder.handle.close()
      folder = next
    }
    return await use(folder, name)
  } catch (error) {
    throw asToolError(error, place.name)
  } finally {
    await folder.handle.close()
  }
}

/** Opens a regular file for reading; the caller closes `handle`. Folders, devices, FIFOs, sockets are refused unopened. */
export async function openFile(root: Root, path: string): Promise<OpenFile> {
  const place = await locate(root, path)
  return inFolder(root, place, {}, async (folder, name) => {
    planRegular(await lstat(within(folder, name)), place)
    const handle = await open(within(folder, name), flags.O_RDONLY | NO_FOLLOW | NON_BLOCKING)
    try {
      const stats = await handle.stat()
      planRegular(stats, place)
      return { handle, place, stats }
    } catch (error) {
      await handle.close()
      throw error
    }
  })
}

/** Throws unless the file is a regular one. */
export function planRegular(stats: Stats, place: Place): void {
  if (stats.isFile()) return
  if (stats.isSymbolicLink()) throw changed(place)
  const hint = stats.isDirectory()
    ? ' Name a file inside it; grep or bash (ls) show what it holds.'
    : ' Choose another path.'
  throw new ToolError('FILE_KIND_UNSUPPORTED', `${quote(place.name)} is ${kindOf(stats)}, not a regular file.${hint}`)
}

/** The path of `name` in an open folder: through the descriptor where the platform can (Linux), else by name. */
export function within(folder: Folder, name: string): string {
  return DESCRIPTOR_PATHS ? `/proc/self/fd/${folder.handle.fd}/${name}` : join(folder.path, name)
}

// --- internal ---

const DESCRIPTOR_PATHS = existsSync('/proc/self/fd')
const NO_FOLLOW = flags.O_NOFOLLOW ?? 0
const NON_BLOCKING = flags.O_NONBLOCK ?? 0
const DIRECTORY = flags.O_DIRECTORY ?? 0

async function openFolder(path: string, name: string, place: Place): Promise<Folder> {
  try {
    return { handle: await open(path, flags.O_RDONLY | DIRECTORY | NO_FOLLOW), path: name }
  } catch (error) {
    const code = systemCode(error)
    if (code === 'ELOOP') throw changed(place)
    if (code !== 'ENOTDIR') throw error
    throw (await isLink(path)) ? changed(place) : notFolder(place.name, error)
  }
}

async function makeFolder(folder: Folder, name: string): Promise<void> {
  try {
    await mkdir(within(folder, name))
    await folder.handle.sync()
  } catch (error) {
    if (systemCode(error) !== 'EEXIST') throw error
  }
}

function changed(place: Place): ToolError {
  return new ToolError(
    'FILE_CHANGED',
    `${quote(place.name)} became a symbolic link while it was being opened. Look again, then retry.`,
  )
}

function kindOf(stats: Stats): string {
  if (stats.isDirectory()) return 'a folder'
  if (stats.isFIFO()) return 'a FIFO'
  if (stats.isSocket()) return 'a socket'
  return stats.isCharacterDevice() || stats.isBlockDevice() ? 'a device' : 'a special file'
}
