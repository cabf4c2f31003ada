#!/usr/bin/env node
import { EXIT } from './exit-codes.js'
import { describeFailure } from './failure.js'
import { createOutput, watchReader } from './output.js'
import { createProgram } from './program.js'

watchReader()
process.on('uncaughtException', error => {
  tell(error)
  process.exit(EXIT.bug)
})
try {
  await createProgram().parseAsync()
} catch (error) {
  process.exitCode = tell(error)
}

// --- internal ---

/** A failure before the options are understood still keeps to `--json`. */
function tell(error: unknown): number {
  const failure = describeFailure(error)
  const words = process.argv.slice(2)
  const end = words.indexOf('--')
  if (failure.exitCode !== EXIT.ok)
    createOutput(words.slice(0, end < 0 ? undefined : end).includes('--json')).fail(failure)
  return failure.exitCode
}
