import { writeSync } from 'node:fs'
import type { Said } from '../said.js'

/** Written when this returns: a kill that comes later cannot take it back. */
export function say(said: Said): void {
  writeSync(1, `${JSON.stringify({ ...said, at: Number(process.hrtime.bigint()) })}\n`)
}

/** The code of what `work` rejects with; whatever has none is thrown on. */
export async function codeOf(work: Promise<unknown>): Promise<string | undefined> {
  try {
    await work
    return undefined
  } catch (error) {
    const { code } = error as { code?: string }
    if (code === undefined) throw error
    return code
  }
}
