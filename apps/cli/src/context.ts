import type { SessionBackend } from '@palimpsest/session-persistence'
import type { Command } from 'commander'
import type { ExitCode } from './exit-codes.js'
import { CommandError } from './failure.js'
import { createOutput, type Output } from './output.js'
import { isStoreThere, openStore, type StorePlace, storePlace } from './store.js'
import { shellWord } from './view/shell-word.js'

/** What every command gets: where to print and which store to use. */
export interface Context {
  readonly out: Output
  /** The folder or the file of the store. */
  readonly place: string
  /** The `--store …` to repeat in a suggested command, or nothing. */
  readonly storeFlag: string
  /** For work: it is made when it is missing. */
  store(): Promise<SessionBackend>
  /** For a look: `undefined` where there is no store yet, and none is made; what `--store` names must be there. */
  existingStore(): Promise<SessionBackend | undefined>
}

/** The options that every command takes, before or after its name. */
export interface GlobalOptions {
  store?: string
  json?: boolean
}

/**
 * Makes a commander action of a command's body. The body gets the context, then the command's arguments
 * and options; what it returns is the exit code.
 */
export function action<A extends unknown[]>(body: (context: Context, ...args: A) => Promise<ExitCode | undefined>) {
  return async (...args: unknown[]): Promise<void> => {
    const command = args.at(-1) as Command
    const context = createContext(command.optsWithGlobals<GlobalOptions>())
    try {
      process.exitCode = (await body(context, ...(args.slice(0, -1) as A))) ?? 0
    } finally {
      await context.close()
    }
  }
}

// --- internal ---

function createContext({ store: given, json }: GlobalOptions): Context & { close(): Promise<void> } {
  const place = storePlace(given)
  let backend: Promise<SessionBackend> | undefined
  const store = () => (backend ??= openStore(place))
  return {
    out: createOutput(json === true),
    place: place.path,
    storeFlag: given === undefined ? '' : ` --store ${shellWord(given)}`,
    store,
    async existingStore() {
      if (backend !== undefined || isStoreThere(place)) return store()
      if (given === undefined) return undefined
      throw noStore(place)
    },
    close: async () => (await backend)?.close(),
  }
}

function noStore({ kind, path }: StorePlace): CommandError {
  const what = kind === 'sqlite' ? 'a database' : 'a folder'
  return new CommandError(
    'STORE_NOT_FOUND',
    `--store: expected ${what} of sessions, found nothing at ${path}; check the path`,
  )
}
