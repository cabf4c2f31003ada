#!/usr/bin/env node
import { EXIT, type ExitCode } from './exit-codes.js'
import { describeFailure } from './failure.js'
import { allPrinted, createOutput, watchReader } from './output.js'
import { createProgram } from './program.js'

const LINGER_MS = 1000

watchReader()
process.on('uncaughtException', error => process.exit(tell(error)))
try {
  await createProgram().parseAsync()
} catch (error) {
  process.exitCode = tell(error)
}
await allPrinted()
// What a tool or a server left behind must not hold the command.
setTimeout(() => process.exit(), LINGER_MS).unref()

// --- internal ---

/** A failure before the options are understood still keeps to `--json`. A help page has said everything itself. */
function tell(error: unknown): ExitCode {
  const failure = describeFailure(error)
  if (failure.message === '' || failure.exitCode === EXIT.ok) return failure.exitCode
  const words = process.argv.slice(2)
  const end = words.indexOf('--')
  createOutput(words.slice(0, end < 0 ? words.length : end).includes('--json')).fail(failure)
  return failure.exitCode
}
