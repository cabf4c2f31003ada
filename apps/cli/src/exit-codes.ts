/** What the exit codes mean; `docs/command.md` and the help print this table. */
export const EXIT = {
  /** Done. */
  ok: 0,
  /** The command met or found a failure: damage, a turn that ended in error, a store that cannot be read. */
  failure: 1,
  /** The command line cannot be understood. */
  usage: 2,
  /** There is no such thing, or it was refused: not found, locked, an id that is taken or unsafe. */
  refused: 3,
  /** The turn used up `--max-steps` while the model still asked for tools. */
  maxSteps: 4,
  /** A fault of palimpsest itself. */
  bug: 70,
  /** Ctrl-C. */
  interrupted: 130,
} as const

export type ExitCode = number

export const EXIT_HELP = `Exit codes:
  0    done
  1    a failure was met or found: damage, a turn that ended in error
  2    the command line cannot be understood, or lacks a model, a key or a task
  3    not found or refused: no such session, locked, an id that is taken or unsafe
  4    the turn used up --max-steps
  70   a fault of palimpsest itself
  130  interrupted by Ctrl-C (128 + the signal for SIGTERM and SIGHUP)`
