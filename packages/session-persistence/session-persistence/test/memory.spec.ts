import { createMemoryBackend, type MemoryStore } from '@palimpsest/session-persistence'
import { testBackend } from '@palimpsest/session-persistence/conformance'
import { test } from 'vitest'

testBackend(
  'memory',
  {
    open: () => {
      const store: MemoryStore = new Map()
      return { backend: createMemoryBackend(store), reopen: () => createMemoryBackend(store) }
    },
  },
  { test },
)
