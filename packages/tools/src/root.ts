import { realpathSync, statSync } from 'node:fs'
import { lstat, realpath } from 'node:fs/promises'
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import { asToolError, quote, systemCode, ToolError } from './errors.js'

/**
 * The folder that file tools are confined to. Confinement has two halves: `locate` turns what the model wrote into a
 * path without links, judged against the real root; `inFolder` (folder.ts) then walks down from the root one descriptor at a
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

export async function isLink(path: string): Promise<boolean> {
  try {
    return (await lstat(path)).isSymbolicLink()
  } catch {
    return false
  }
}

export function notFolder(path: string, cause: unknown): ToolError {
  return new ToolError(
    'FILE_KIND_UNSUPPORTED',
    `In ${quote(path)} a file stands where a folder is needed. Check the path.`,
    { cause },
  )
}

// --- internal ---

const MAX_PATH_BYTES = 4_095 // Linux's PATH_MAX

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
