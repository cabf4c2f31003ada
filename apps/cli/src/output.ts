import { once } from 'node:events'
import pc from 'picocolors'
import { escapeText, toJson } from './escape.js'
import type { Failure } from './failure.js'

export type Colors = ReturnType<typeof pc.createColors>

/** Where a command prints. Human text is escaped by whoever makes it, JSON here. */
export interface Output {
  readonly isJson: boolean
  /** Of what goes to stdout. */
  readonly colors: Colors
  /** Columns of the terminal, `undefined` where stdout is none. */
  readonly columns: number | undefined
  /** Human text on stdout, as it is. */
  write(text: string): void
  /** A line of human text on stdout; nothing under `--json`. */
  line(text?: string): void
  /** One value, one line, on stdout. */
  json(value: unknown): void
  /** Something the user should know, on stderr; under `--json` as a line `{"note":"…"}`. */
  note(text: string): void
  fail(failure: Failure): void
  /** Resolves when the reader of stdout has caught up, so that what waits for him stays small. */
  caughtUp(): Promise<void>
}

export function createOutput(isJson: boolean): Output {
  const colors = colorsFor(process.stdout)
  const errorColors = colorsFor(process.stderr)
  return {
    isJson,
    colors,
    columns: (process.stdout.isTTY && process.stdout.columns) || undefined,
    write: text => void process.stdout.write(text),
    line: (text = '') => {
      if (!isJson) process.stdout.write(`${text}\n`)
    },
    json: value => void process.stdout.write(`${toJson(value)}\n`),
    note: text =>
      void process.stderr.write(`${isJson ? toJson({ note: text }) : errorColors.yellow(escapeText(text))}\n`),
    fail: ({ code, message }) => {
      const text = isJson
        ? toJson({ error: { code, message } })
        : `${errorColors.red('error')} ${errorColors.dim(code)}: ${escapeText(message)}`
      process.stderr.write(`${text}\n`)
    },
    caughtUp: async () => {
      if (process.stdout.writableNeedDrain) await once(process.stdout, 'drain')
    },
  }
}

/** Resolves when everything printed so far has left the process: a pipe may be slow. */
export async function allPrinted(): Promise<void> {
  for (const stream of [process.stdout, process.stderr]) await new Promise<void>(done => stream.write('', () => done()))
}

/** A reader that went away (`| head`) ends the command quietly, with 0, unless `onReaderGone` says otherwise. */
export function watchReader(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error
      stop()
    })
  }
}

/** For work that must not simply end with its reader. */
export function onReaderGone(next: () => void): void {
  stop = next
}

// --- internal ---

let stop = (): void => process.exit(0)

function colorsFor(stream: NodeJS.WriteStream): Colors {
  const { NO_COLOR, TERM } = process.env
  return pc.createColors(stream.isTTY === true && !NO_COLOR && TERM !== 'dumb')
}
