import { randomBytes } from 'node:crypto'
import { constants as flags, type Stats } from 'node:fs'
import { access, type FileHandle, lstat, open, rename, unlink } from 'node:fs/promises'
import { quote, systemCode, ToolError } from './errors.js'
import { type Folder, planRegular, within } from './folder.js'
import type { Place } from './root.js'

/** The file as an edit read it: put in place only if nothing has changed since. */
export type Seen = Pick<Stats, 'dev' | 'ino' | 'size' | 'mtimeMs'>

/**
 * Puts `bytes` in place of `name` in one step: a temporary file beside it, synced, renamed over it, the folder synced.
 * Whoever reads sees the old content or the new, never a part. The mode of an existing file is kept, its owner where
 * permitted. A failure leaves the old file and no temporary one. Returns what stood there before.
 */
export async function replaceFile(
  folder: Folder,
  name: string,
  place: Place,
  bytes: Uint8Array,
  seen?: Seen,
): Promise<Stats | undefined> {
  const before = await statIfThere(within(folder, name))
  if (before !== undefined) {
    planRegular(before, place)
    await access(within(folder, name), flags.W_OK)
  }
  const temporary = within(folder, `.${randomBytes(8).toString('hex')}.tmp`)
  // Until it has the old file's mode nobody else may look into it: what is replaced may be a secret.
  const mode = before === undefined ? 0o666 : 0o600
  const handle = await open(temporary, flags.O_WRONLY | flags.O_CREAT | flags.O_EXCL, mode)
  try {
    await fill(handle, bytes, before)
    if (seen !== undefined) planUnchanged(await statIfThere(within(folder, name)), seen, place)
    await rename(temporary, within(folder, name))
  } catch (error) {
    await unlink(temporary).catch(() => undefined) // the first failure is the one to report
    throw error
  }
  await folder.handle.sync()
  return before
}

/** Text as UTF-8; a lone surrogate has no bytes and would be stored as something else, so it is refused. */
export function encodeText(text: string, what: string): Buffer {
  if (/\p{Surrogate}/u.test(text)) {
    throw new ToolError(
      'TEXT_NOT_UNICODE',
      `${what} holds half a surrogate pair, which no file can hold as UTF-8. Send whole characters.`,
    )
  }
  return Buffer.from(text, 'utf8')
}

// --- internal ---

async function fill(handle: FileHandle, bytes: Uint8Array, before: Stats | undefined): Promise<void> {
  try {
    await handle.writeFile(bytes)
    if (before !== undefined) {
      await handle.chown(before.uid, before.gid).catch(() => undefined) // not ours to give away: the new file stays ours
      await handle.chmod(before.mode & 0o7777)
    }
    await handle.sync()
  } finally {
    await handle.close()
  }
}

async function statIfThere(path: string): Promise<Stats | undefined> {
  try {
    return await lstat(path)
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return undefined
    throw error
  }
}

function planUnchanged(now: Stats | undefined, seen: Seen, place: Place): void {
  const same =
    now !== undefined &&
    now.dev === seen.dev &&
    now.ino === seen.ino &&
    now.size === seen.size &&
    now.mtimeMs === seen.mtimeMs
  if (!same) {
    throw new ToolError(
      'FILE_CHANGED',
      `${quote(place.name)} was changed by somebody else during the edit; nothing was written. Read it again, then retry.`,
    )
  }
}
