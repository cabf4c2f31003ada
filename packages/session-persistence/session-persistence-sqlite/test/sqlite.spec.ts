import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { testBackend } from '@palimpsest/session-persistence/conformance'
import { createSqliteBackend } from '@palimpsest/session-persistence-sqlite'
import { test } from 'vitest'

testBackend(
  'sqlite',
  {
    open: () => {
      const directory = mkdtempSync(join(tmpdir(), 'palimpsest-sqlite-'))
      const file = join(directory, 'store.db')
      return {
        backend: createSqliteBackend({ file }),
        reopen: () => createSqliteBackend({ file }),
        dispose: () => rmSync(directory, { recursive: true }),
      }
    },
  },
  { test },
)
