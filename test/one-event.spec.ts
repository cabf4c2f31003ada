import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const root = dirname(dirname(fileURLToPath(import.meta.url)))

test('docs/one-event.md shows what its example prints', () => {
  const page = readFileSync(join(root, 'docs/one-event.md'), 'utf8')
  const printed = execFileSync(process.execPath, [join(root, 'examples/03-one-event.mjs')], { encoding: 'utf8' })
  expect(/^```text\n([\s\S]*?)^```$/m.exec(page)?.[1]?.trim()).toBe(printed.trim())
})
