import { readFileSync, writeFileSync } from 'node:fs'
import { openSession } from '@palimpsest/session-persistence'
import { expect, test } from 'vitest'
import { generateLog } from '../../session-persistence-jsonl/test/logs.js'
import { newFile, openStore, store } from './stores.js'

const PAGE = 4096
const LENGTH = 300

/** A database of two sessions; the page that holds event 150 of the first one says no more what it is. */
async function withBadPage() {
  const file = newFile()
  const backend = openStore(file)
  // One open turn, so that each chunk has a row.
  const { header, events } = generateLog('log', LENGTH + 9, { text: 'separators', perTurn: 1000 })
  const log = { header, events: events.slice(0, LENGTH) }
  await store(backend, log)
  await store(backend, generateLog('other', 20))
  await backend.close()
  const bytes = readFileSync(file)
  const text = JSON.stringify('\u000b\u000c 150').slice(1, -1)
  // A page that was in use before may hold it as well.
  for (let at = bytes.indexOf(text); at !== -1; at = bytes.indexOf(text, at + 1)) {
    const page = Math.floor(at / PAGE) * PAGE
    bytes.fill(0xff, page, page + 8)
  }
  writeFileSync(file, bytes)
  return { log, backend: openStore(file) }
}

test('a page that cannot be read is a hole: both sides are read, and no listing breaks', async () => {
  const { log, backend } = await withBadPage()
  const { events, damage, length } = (await backend.read('log'))!
  expect(length).toBe(LENGTH)
  expect(events.length).toBeLessThan(LENGTH)
  expect(events).toEqual(events.map(({ seq }) => log.events[seq]))
  expect(events.at(-1)!.seq).toBe(LENGTH - 1)
  const hole = events.findIndex(({ seq }, i) => seq !== i)
  expect(damage).toContainEqual(expect.objectContaining({ code: 'LOG_HOLE', where: { seq: hole } }))
  const ids: string[] = []
  for await (const { id } of backend.list()) ids.push(id)
  expect(ids).toEqual(['log', 'other'])
})

test('its session opens up to there, read-only, and frees its lease; others open for work', async () => {
  const { log, backend } = await withBadPage()
  for (let n = 0; n < 2; n++) {
    const { session, report, close } = await openSession(backend, 'log')
    expect(report.readOnly).toBe(true)
    expect(session.events).toEqual(log.events.slice(0, session.length))
    await close()
  }
  const lease = await backend.acquire('log')
  await expect(backend.append(lease, log.header, [])).rejects.toMatchObject({ code: 'SESSION_READ_ONLY' })
  await lease.release()
  const other = await openSession(backend, 'other')
  other.session.append('turn/start', { turn: 9 })
  await other.close()
  expect((await backend.read('other'))!.events.at(-1)).toMatchObject({ type: 'turn/start', data: { turn: 9 } })
})
