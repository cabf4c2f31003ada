import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { FINDING_KINDS } from '../src/transcripts/finding-kinds.js'

const root = fileURLToPath(new URL('../../..', import.meta.url))
const SOURCES = ['packages/transcripts/src', 'packages/provider-rules/src', 'apps/cli/src/transcripts']

test('the page on the doctor has each finding code, and the command a line for each', () => {
  const page = readFileSync(join(root, 'docs', 'doctor.md'), 'utf8')
  const headings = [...page.matchAll(/^### `([a-z.0-9-]+)`$/gm)].map(([, code]) => code)
  expect(headings.sort()).toEqual(Object.keys(FINDING_KINDS).sort())
})

test('every code that the sources report is one of them', () => {
  const areas = [...new Set(Object.keys(FINDING_KINDS).map(code => code.split('.')[0]))].join('|')
  const found = SOURCES.flatMap(folder =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter(name => name.endsWith('.ts'))
      .flatMap(name => [
        ...readFileSync(join(root, folder, name), 'utf8').matchAll(new RegExp(`'((?:${areas})\\.[a-z0-9-]+)'`, 'g')),
      ])
      .map(([, code]) => code!),
  )
  expect([...new Set(found)].filter(code => !(code in FINDING_KINDS))).toEqual([])
})
