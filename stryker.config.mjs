// One part of `npm run mutate`: which files are changed, and where the report goes.
import { parts } from './scripts/mutation/parts.mjs'

const name = process.env.PALIMPSEST_MUTATED_PART ?? 'kernel'
const cache = '.cache/mutation'

export default {
  mutate: parts[name].mutated,
  testRunner: 'vitest',
  vitest: { configFile: 'scripts/mutation/vitest.config.mjs', related: false },
  plugins: ['@stryker-mutator/vitest-runner', './scripts/mutation/refusal-words.mjs'],
  ignorers: ['refusal-words'],
  coverageAnalysis: 'perTest',
  // A constant is computed once, before a test can switch it: each would need a run of everything.
  ignoreStatic: true,
  concurrency: Number(process.env.PALIMPSEST_MUTATION_WORKERS ?? 1),
  timeoutMS: 15_000,
  incrementalFile: `${cache}/${name}.incremental.json`,
  tempDirName: `${cache}/sandbox-${name}`,
  ignorePatterns: ['**/dist', '.cache', '*.tsbuildinfo', 'benches', 'examples'],
  reporters: [process.stdout.isTTY ? 'progress' : 'progress-append-only', 'clear-text', 'html', 'json'],
  clearTextReporter: { logTests: false, reportTests: false, allowEmojis: false },
  htmlReporter: { fileName: `${cache}/${name}.html` },
  jsonReporter: { fileName: `${cache}/${name}.json` },
  thresholds: { high: 95, low: 90, break: 85 },
}
