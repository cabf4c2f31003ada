import { existsSync, constants as flags, realpathSync, type Stats, statSync } from 'node:fs'
import { type FileHandle, lstat, mkdir, open, realpath } from 'node:fs/promises'
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import { asToolError, quote, systemCode, ToolError } from './errors.js'

/**
 * The folder that file tools are confined to. Confinement has two halves: `locate` turns what the model wrote into a
 * path without links, judged against the real root; `inFolder` then walks down from the root one descriptor at a
 * time and follows no link at all, so that a path changed between the two leads to a refusal and never outside.
 * Hard links cannot be told from files and are files.
 */
export interface Root {
  readonly path: string // real, absolute
  readonly given: string // absolute, as the caller named it
}

/** A place under the root: `segments` are free of links, `name` is how messages call it. */
export interface Place {
  readonly name: string
  readonly path: string
  readonly segments: readonly string[]
}

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

/** Throws `ROOT_INVALID` at once, so that a wrong root shows where it is configured and not in the first call. */
export function openRoot(path: string): Root {
  const given = resolve(path)
  try {
    const real = realpathSync(given)
    if (statSync(real).isDirectory()) return { path: real, given }
  } catch (cause) {
    throw new ToolError('ROOT_INVALID', `The root must be an existing folder; ${quote(given)} is not there.`, { cause })
  }
  throw new ToolError('ROOT_INVALID', `The root must be a folder; ${quote(given)} is something else.`)
}

/** Resolves links in what exists of `path`; the rest may still be created. Throws `PATH_INVALID`, `PATH_OUTSIDE_ROOT`. */
export async function locate(root: Root, path: string): Promise<Place> {
  const wanted = planPath(root, path)
  const real = await realOf(wanted, path).catch(error => {
    throw asToolError(error, path)
  })
  if (!isInside(root.path, real)) throw outside(path, 'a symbolic link in it leads outside')
  const name = relative(root.path, real)
  return {
    name: name === '' ? '.' : name.split(sep).join('/'),
    path: real,
    segments: name === '' ? [] : name.split(sep),
  }
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
  let folder = await openFolder(root.path, root.path, place)
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
const MAX_PATH_BYTES = 4_095 // Linux's PATH_MAX
const DIRECTORY = flags.O_DIRECTORY ?? 0

/** Judged as text first: what is plainly outside is not even looked at on disk. */
function planPath(root: Root, path: string): string {
  if (path === '') throw new ToolError('PATH_INVALID', 'A path was expected, but it is empty. Use "." for the root.')
  if (path.includes('\0'))
    throw new ToolError('PATH_INVALID', `The path ${quote(path)} holds a NUL character. Leave it out.`)
  if (/\p{Surrogate}/u.test(path))
    throw new ToolError('PATH_INVALID', `The path ${quote(path)} is not well-formed Unicode.`)
  const wanted = resolve(root.path, path)
  if (Buffer.byteLength(wanted) > MAX_PATH_BYTES) {
    throw new ToolError(
      'PATH_INVALID',
      `The path ${quote(path)} is too long. At most ${MAX_PATH_BYTES} bytes, root included, can be used.`,
    )
  }
  if (isInside(root.path, wanted)) return wanted
  if (isInside(root.given, wanted)) return resolve(root.path, relative(root.given, wanted))
  throw outside(path, isAbsolute(path) ? 'it is an absolute path to somewhere else' : 'its ".." steps lead outside')
}

async function realOf(path: string, asked: string): Promise<string> {
  try {
    return await realpath(path)
  } catch (error) {
    const code = systemCode(error)
    if (code === 'ENOTDIR') throw notFolder(asked, error)
    if (code !== 'ENOENT') throw error
    if (await isLink(path)) throw outside(asked, 'a symbolic link in it points to something that does not exist')
    const parent = await realOf(dirname(path), asked)
    return join(parent, basename(path))
  }
}

async function isLink(path: string): Promise<boolean> {
  try {
    return (await lstat(path)).isSymbolicLink()
  } catch {
    return false
  }
}

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

function isInside(root: string, path: string): boolean {
  const way = relative(root, path)
  return way === '' || (way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way))
}

function outside(path: string, why: string): ToolError {
  return new ToolError(
    'PATH_OUTSIDE_ROOT',
    `The path must stay under the root, but ${quote(path)} does not: ${why}. Use a path relative to the root.`,
  )
}

function notFolder(path: string, cause: unknown): ToolError {
  return new ToolError(
    'FILE_KIND_UNSUPPORTED',
    `In ${quote(path)} a file stands where a folder is needed. Check the path.`,
    { cause },
  )
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
