import { execFile } from 'node:child_process'
import { closeSync, constants as flags, openSync, readlinkSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

/**
 * One real pipe for a child's stdout and stderr together: what is written arrives in the order of writing, and
 * `/dev/stdout` can be opened by the child (it cannot where Node gives the child a socket). Made from a FIFO that is
 * unlinked at once.
 */
export interface OutputPipe {
  readonly writeEnd: number // for the child; `closeWriteEnd` (once or more) when the child has it
  readonly link: string | undefined // how /proc names it in a holder's descriptors
  onData(listener: (chunk: Buffer) => void): void
  closeWriteEnd(): void
  /** Resolves when nothing more is waiting in the pipe, also while somebody still holds it open. */
  drain(): Promise<void>
  close(): void
}

export async function openOutputPipe(): Promise<OutputPipe> {
  const folder = await mkdtemp(join(tmpdir(), 'palimpsest-'))
  try {
    const path = join(folder, 'output')
    await promisify(execFile)('mkfifo', ['-m', '600', path])
    const readEnd = openSync(path, flags.O_RDONLY | flags.O_NONBLOCK) // the reader first: neither open can block
    return pipeOf(readEnd, openSync(path, flags.O_WRONLY))
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

// --- internal ---

const DRAIN_MS = 1_000

function pipeOf(readEnd: number, writeEnd: number): OutputPipe {
  const reader = new Socket({ fd: readEnd, readable: true, writable: false })
  reader.on('error', () => reader.destroy()) // a broken read end is an end of output
  let received = 0
  let writable = true
  const closeWriteEnd = () => {
    if (writable) closeSync(writeEnd)
    writable = false
  }
  reader.on('data', chunk => {
    received += chunk.length
  })
  return {
    writeEnd,
    link: linkOf(writeEnd),
    onData: listener => void reader.on('data', listener),
    closeWriteEnd,
    drain: () => drained(() => (reader.destroyed ? -1 : received)),
    close: () => {
      closeWriteEnd()
      reader.destroy()
    },
  }
}

/** A full turn of the event loop reads whatever is waiting; a turn without news means that nothing was. */
async function drained(count: () => number): Promise<void> {
  const ends = Date.now() + DRAIN_MS // a background child may write for ever
  for (let before = count() - 1; before !== count() && Date.now() < ends; ) {
    before = count()
    for (let turn = 0; turn < 3; turn += 1) await new Promise(resolve => setImmediate(resolve))
  }
}

/** The folder is removed after the pipe is open, so the link will carry the kernel's mark for removed files. */
function linkOf(fd: number): string | undefined {
  try {
    return `${readlinkSync(`/proc/self/fd/${fd}`)} (deleted)`
  } catch {
    return undefined
  }
}
