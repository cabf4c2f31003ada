import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeAll, describe, expect, test } from 'vitest'
import { pruneRecordings } from '../scripts/prune/prune-recordings.mjs'
import { sumRows } from '../scripts/prune/table.mjs'

// Recorded conversations of real agents lie beside the repository, where they are at hand.
const corpus = join(dirname(dirname(fileURLToPath(import.meta.url))), '..', 'shared', 'corpus')
const atHand = existsSync(corpus)
if (!atHand) console.log(`SKIPPED: no recorded conversations at ${join('..', 'shared', 'corpus')}`)

describe.runIf(atHand)('the automatic pruning, on recorded conversations that are mostly tool results', () => {
  type Measured = Awaited<ReturnType<typeof pruneRecordings>>
  let rows: Measured['rows']
  let left: Measured['left']
  let total: ReturnType<typeof sumRows>
  beforeAll(async () => {
    const measured = await pruneRecordings(corpus)
    ;({ rows, left } = measured)
    total = sumRows(rows)
  }, 300_000)

  test('takes half of the tokens off late requests', () => {
    expect(rows.length).toBeGreaterThan(40)
    expect(new Set(rows.map(({ format }) => format)).size).toBeGreaterThan(5)
    expect(1 - total.after / total.late).toBeGreaterThan(0.5)
    expect(total.best).toBeGreaterThanOrEqual(total.late - total.after)
  })

  test('breaks the cached prefix at most once for each 50,000 tokens appended, begun ones too', () => {
    expect(total.breaks).toBeGreaterThan(rows.length / 2)
    for (const { name, breaks, appended } of rows) {
      expect(breaks, name).toBeLessThanOrEqual(Math.ceil(appended / 50_000))
    }
  })

  test('splits no pair, changes nothing but the words of results, and every one of them can be read back', () => {
    for (const { name, faults, pruned, recalled } of rows)
      expect({ name, faults, recalled }).toEqual({ name, faults: 0, recalled: pruned })
    expect(total.pruned).toBeGreaterThan(300)
  })

  test('what is left out has no results, or mostly other text', () => {
    expect(Object.keys(left).sort()).toEqual(['mostly other text', 'no request', 'no tool results'])
  })
})
