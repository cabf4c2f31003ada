import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { defineConfig } from 'vitest/config'
import { FOLDER_PREFIX, parts } from './parts.mjs'

const port = 'packages/session-persistence/session-persistence/src'

// Mutants live in a copy of the workspace; by their names the packages would be found in the original.
const sources = {
  '@palimpsest/session-persistence/conformance': `${port}/conformance.ts`,
  '@palimpsest/session-persistence': `${port}/index.ts`,
  '@palimpsest/session-persistence-jsonl': 'packages/session-persistence/session-persistence-jsonl/src/index.ts',
  '@palimpsest/session': 'packages/core/session/src/index.ts',
}

export default defineConfig({
  resolve: {
    alias: Object.entries(sources).map(([name, path]) => ({
      find: new RegExp(`^${name}$`),
      replacement: resolve(path),
    })),
  },
  test: {
    include: parts[process.env.PALIMPSEST_MUTATED_PART ?? 'kernel'].specs,
    isolate: false,
    testTimeout: 60_000,
    setupFiles: 'scripts/mutation/sweep.mjs',
    env: {
      PALIMPSEST_RANDOM_OPERATIONS: '400',
      PALIMPSEST_REPAIR_ROUNDS: '400',
      PALIMPSEST_SEED: '1',
      TMPDIR: mkdtempSync(join(tmpdir(), FOLDER_PREFIX)),
    },
  },
})
