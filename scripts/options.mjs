import { parseArgs } from 'node:util'

/**
 * The options and names given to a script. `--help` prints `usage` and ends with 0; what it does not know, a line that
 * says so and the usage, with 2.
 */
export function readOptions(usage, options, { allowPositionals = false } = {}) {
  try {
    const { values, positionals } = parseArgs({ allowPositionals, options: { ...options, help: { type: 'boolean' } } })
    if (!values.help) return { values, positionals }
    console.log(usage)
    process.exit(0)
  } catch (error) {
    refuse(`${error.message}\n${usage}`)
  }
}

/** Ends the script for its user's mistake. */
export function refuse(why) {
  console.error(why)
  process.exit(2)
}
