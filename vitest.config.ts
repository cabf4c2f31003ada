import { defineConfig } from 'vitest/config'

// Tests run the sources: workspace packages export them under this condition.
const conditions = ['@palimpsest/source']

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    include: ['{packages,apps}/**/test/**/*.spec.ts', 'test/**/*.spec.ts'],
    testTimeout: 120_000,
    hookTimeout: 60_000,
  },
})
