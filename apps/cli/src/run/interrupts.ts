import { constants } from 'node:os'

export interface Interrupts {
  /** The exit code that the signal asks for, once one came. */
  readonly exitCode: number | undefined
  stop(): void
}

/** The first Ctrl-C (or SIGTERM, or a closed terminal) calls `onFirst`, the next one `onSecond`. */
export function watchInterrupts(onFirst: () => void, onSecond: (exitCode: number) => void): Interrupts {
  let exitCode: number | undefined
  const hear = (signal: NodeJS.Signals) => {
    const isFirst = exitCode === undefined
    exitCode ??= 128 + constants.signals[signal]
    if (isFirst) onFirst()
    else onSecond(exitCode)
  }
  for (const signal of SIGNALS) process.on(signal, hear)
  return {
    get exitCode() {
      return exitCode
    },
    stop() {
      for (const signal of SIGNALS) process.off(signal, hear)
    },
  }
}

// --- internal ---

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
