import type { SessionBackend } from '@palimpsest/session-persistence'
import type { Command } from 'commander'
import type { ExitCode } from './exit-codes.js'
import { CommandError } from './failure.js'
import { createOutput, type Output } from './output.js'
import { openExistingStore, openStore, storeDirectory } from './store.js'

/** What every command gets: where to print and which store to use. */
export interface Context {
  readonly out: Output
  readonly directory: string
  /** The `--store …` to repeat in a suggested command, or nothing. */
  readonly storeFlag: string
  /** For work: the folder is made when it is missing. */
  store(): SessionBackend
  /** For a look: `undefined` where there is no store yet; a folder named by `--store` must be there. */
  existingStore(): SessionBackend | undefined
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

function createContext({ store, json }: GlobalOptions): Context & { close(): Promise<void> } {
  const directory = storeDirectory(store)
  let backend: SessionBackend | undefined
  return {
    out: createOutput(json === true),
    directory,
    storeFlag: store === undefined ? '' : ` --store ${quoteArgument(store)}`,
    store: () => (backend ??= openStore(directory)),
    existingStore() {
      backend ??= openExistingStore(directory)
      if (backend === undefined && store !== undefined) throw noStore(directory)
      return backend
    },
    close: async () => backend?.close(),
  }
}

function noStore(directory: string): CommandError {
  return new CommandError(
    'STORE_NOT_FOUND',
    `--store: expected a folder of sessions, found nothing at ${directory}; check the path`,
  )
}

function quoteArgument(text: string): string {
  return /^[\w./~@%+=:,-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
}
