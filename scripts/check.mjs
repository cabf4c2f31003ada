// `npm run check`: format, lint, types, dead code, arrows, links and the rest, without the specs.
import { runChecks } from './checks/run-checks.mjs'
import { prepare } from './prepare.mjs'

await prepare()
const { passed, failed } = await runChecks()
console.log(`${passed} passed, ${failed} failed`)
process.exitCode = failed === 0 ? 0 : 1
