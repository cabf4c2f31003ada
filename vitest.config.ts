import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'

// Tests run the sources: workspace packages export them under this condition.
const conditions = ['@palimpsest/source']

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    include: ['{packages,apps}/**/test/**/*.spec.ts', 'test/**/*.spec.ts'],
    // The default leaves one core alone, which is half of a small machine.
    maxWorkers: availableParallelism(),
    setupFiles: ['test/fast-check-seed.ts'],
    testTimeout: 120_000,
    hookTimeout: 60_000,
  },
})
