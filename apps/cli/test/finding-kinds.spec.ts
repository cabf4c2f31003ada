import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { FINDING_KINDS } from '../src/transcripts/finding-kinds.js'

test('the page on the doctor has each finding code, and the command a line for each', () => {
  const page = readFileSync(new URL('../../../docs/doctor.md', import.meta.url), 'utf8')
  const headings = [...page.matchAll(/^### `([a-z.0-9-]+)`$/gm)].map(([, code]) => code)
  expect(headings.sort()).toEqual(Object.keys(FINDING_KINDS).sort())
})
