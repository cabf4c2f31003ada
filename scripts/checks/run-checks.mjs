// Everything that can be said about the repository without running it.
import { join } from 'node:path'
import { root, run } from '../prepare.mjs'
import { arrows } from './arrows.mjs'
import { conformance } from './conformance.mjs'
import { docLinks } from './doc-links.mjs'
import { fileSizes } from './file-sizes.mjs'
import { leftovers } from './leftovers.mjs'
import { packageFiles } from './package-files.mjs'

/** Each check finds problems, one sentence each; none means it passed. */
const checks = [
  tool('format and lint', ['@biomejs/biome', 'bin', 'biome'], ['check'], 'npx biome check --write .'),
  tool('types of sources', ['typescript', 'bin', 'tsc'], ['-b'], 'mend the errors above'),
  tool('types of tests', ['typescript', 'bin', 'tsc'], ['-p', 'tsconfig.test.json'], 'mend the errors above'),
  tool(
    'dead code',
    ['knip', 'bin', 'knip.js'],
    ['--no-progress', '--no-config-hints', '--exclude', 'binaries'],
    'delete what nothing uses',
  ),
  { name: 'arrows between packages', find: arrows },
  { name: 'conformance kit in every backend', find: conformance },
  { name: 'links in the documents', find: docLinks },
  { name: 'package files agree', find: packageFiles },
  { name: 'file sizes', find: fileSizes },
  { name: 'leftovers', find: leftovers },
]

/** Prints a line a check, and its problems; resolves to how many passed and failed. */
export async function runChecks() {
  const count = { passed: 0, failed: 0 }
  for (const { name, find } of checks) {
    const problems = await find(root)
    console.log(`${problems.length === 0 ? 'ok    ' : 'FAILED'} ${name}`)
    for (const problem of problems) console.log(`       ${problem.replaceAll('\n', '\n       ')}`)
    count[problems.length === 0 ? 'passed' : 'failed']++
  }
  return count
}

// --- internal ---

function tool(name, [folder, ...path], args, cure) {
  const find = async () => {
    const { code, output } = await run(process.execPath, [join(root, 'node_modules', folder, ...path), ...args])
    return code === 0 ? [] : [output.trim(), `next: ${cure}`]
  }
  return { name, find }
}
