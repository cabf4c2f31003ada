import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { testBackend } from '@palimpsest/session-persistence/conformance'
import { createJsonlBackend } from '@palimpsest/session-persistence-jsonl'
import { test } from 'vitest'

testBackend(
  'jsonl',
  {
    open: () => {
      const directory = mkdtempSync(join(tmpdir(), 'palimpsest-jsonl-'))
      return {
        backend: createJsonlBackend({ directory }),
        reopen: () => createJsonlBackend({ directory }),
        dispose: () => rmSync(directory, { recursive: true }),
      }
    },
  },
  { test },
)
