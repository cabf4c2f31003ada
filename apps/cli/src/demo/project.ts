import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** What `release.mjs` leaves behind. */
export const releaseLog = 'release.log'

export function writeProject(folder: string): void {
  mkdirSync(folder, { recursive: true })
  for (const [name, text] of Object.entries(projectFiles)) writeFileSync(join(folder, name), text)
}

// --- internal ---

/** The small program that the demo's agent mends: one wrong index, a test that sees it, and a release that takes its time. */
const projectFiles: Readonly<Record<string, string>> = {
  'basket.mjs': `export function total(items) {
  let sum = 0
  for (let i = 1; i < items.length; i++) sum += items[i].price * items[i].count
  return sum
}
`,
  'basket.test.mjs': `import assert from 'node:assert/strict'
import { test } from 'node:test'
import { total } from './basket.mjs'

test('every item counts', () => {
  assert.equal(total([{ price: 2, count: 3 }, { price: 1, count: 1 }]), 7)
})
`,
  'release.mjs': `import { appendFileSync } from 'node:fs'

const seconds = Number(process.argv[2] ?? 5)
appendFileSync('release.log', \`started by process \${process.pid}\\n\`)
setTimeout(() => appendFileSync('release.log', 'finished\\n'), seconds * 1000)
`,
}
