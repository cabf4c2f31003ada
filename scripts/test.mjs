// `npm test`: checks, every spec, every example; the last line counts them all. `npm test -- NAME` runs
// only the specs whose path holds NAME.
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { prepare, root, run } from './prepare.mjs'

const EXAMPLE_TIMEOUT_MS = 120_000
const filters = process.argv.slice(2)
const total = { passed: 0, failed: 0, skipped: 0 }

const built = await prepare()
if (filters.length > 0) {
  if (!built) add({ failed: 1 })
  add(await runSpecs(filters))
} else {
  heading('checks')
  // Only now: the checks need what prepare installs.
  const { runChecks } = await import('./checks/run-checks.mjs')
  add(await runChecks())
  heading('specs')
  add(await runSpecs([]))
  heading('examples')
  add(await runExamples())
}
if (total.skipped > 0) console.log(`\n${total.skipped} skipped: each says why above`)
console.log(`\n${total.passed} passed, ${total.failed} failed`)
process.exitCode = total.failed === 0 && total.passed > 0 ? 0 : 1

// --- internal ---

function heading(text) {
  console.log(`\n== ${text}`)
}

function add({ passed = 0, failed = 0, skipped = 0 }) {
  total.passed += passed
  total.failed += failed
  total.skipped += skipped
}

async function runSpecs(args) {
  const report = join(root, '.cache', `vitest-${process.pid}.json`)
  mkdirSync(join(root, '.cache'), { recursive: true })
  const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs')
  const flags = ['run', '--reporter=default', '--reporter=json', `--outputFile.json=${report}`]
  const code = await inherit(process.execPath, [vitest, ...flags, ...args])
  try {
    return countSpecs(JSON.parse(readFileSync(report, 'utf8')), code)
  } catch {
    return { failed: 1 }
  } finally {
    rmSync(report, { force: true })
  }
}

/** A spec file that could not be loaded has no tests to count: it counts as one that failed, as does a loose error. */
function countSpecs({ numPassedTests, numFailedTests, numPendingTests, numTodoTests, testResults }, code) {
  const broken = testResults.filter(
    ({ status, assertionResults }) => status === 'failed' && assertionResults.every(each => each.status !== 'failed'),
  )
  const failed = numFailedTests + broken.length
  return {
    passed: numPassedTests,
    failed: failed === 0 && code !== 0 ? 1 : failed,
    skipped: numPendingTests + numTodoTests,
  }
}

async function runExamples() {
  const folder = join(root, 'examples')
  const files = existsSync(folder)
    ? readdirSync(folder)
        .filter(name => /^\d\d-.*\.m?js$/.test(name))
        .sort()
    : []
  const count = { passed: 0, failed: 0 }
  for (const file of files) {
    const { code, output } = await run(process.execPath, [join(folder, file)], { timeout: EXAMPLE_TIMEOUT_MS })
    console.log(`${code === 0 ? 'ok    ' : 'FAILED'} examples/${file}`)
    if (code !== 0) console.log(output)
    count[code === 0 ? 'passed' : 'failed']++
  }
  return count
}

function inherit(command, args) {
  return new Promise(resolve => {
    const child = spawn(command, args, { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] })
    child.on('error', () => resolve(127))
    child.on('close', code => resolve(code ?? 1))
  })
}
