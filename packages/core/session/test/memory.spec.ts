import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const EVENTS = 1_000_000
const LIMIT_BYTES = 300
const dist = join(dirname(dirname(fileURLToPath(import.meta.url))), 'dist/index.js')

// Runs by itself in a process of its own, over what users install.
const measure = `
  import { Session } from ${JSON.stringify(dist)}
  const session = Session.create()
  const heap = () => { gc(); gc(); return process.memoryUsage().heapUsed }
  const before = heap()
  for (let i = 0; i < ${EVENTS}; i++) {
    session.append('assistant/chunk', { turn: 1, step: 1, chunk: { type: 'text-delta', id: '0', text: 'text ' + (i % 100) } })
  }
  const after = heap()
  console.log(JSON.stringify({ length: session.length, bytes: (after - before) / ${EVENTS} }))
`

test(`${EVENTS} chunk events take at most ${LIMIT_BYTES} bytes of heap each`, () => {
  expect(existsSync(dist), 'the package is built: npm run build').toBe(true)
  const flags = ['--expose-gc', '--max-old-space-size=2048', '--input-type=module', '--eval', measure]
  const { length, bytes } = JSON.parse(execFileSync(process.execPath, flags, { encoding: 'utf8' }))
  console.log(`chunk events: ${length}, ${bytes.toFixed(1)} bytes of heap each`)
  expect(length).toBe(EVENTS)
  expect(bytes).toBeGreaterThan(0)
  expect(bytes).toBeLessThanOrEqual(LIMIT_BYTES)
})
