// `npm run check`: format, lint, types, dead code, arrows, links and the rest, without the specs.
import { prepare } from './prepare.mjs'

await prepare()
// Only now: the checks need what prepare installs.
const { runChecks } = await import('./checks/run-checks.mjs')
const { passed, failed } = await runChecks()
console.log(`${passed} passed, ${failed} failed`)
process.exitCode = failed === 0 ? 0 : 1
