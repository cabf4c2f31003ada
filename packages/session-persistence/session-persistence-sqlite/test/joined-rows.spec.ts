import type { SessionEvent } from '@palimpsest/session'
import { describe, expect, test } from 'vitest'
import { openHandle } from '../src/handle.js'
import { readLandmarkRows } from '../src/joined-rows.js'
import { COLUMNS, crcOfRow, type EventRow } from '../src/record.js'
import { newFile, openStore, store, withDatabase } from './stores.js'

/** More than are read at once. */
const LENGTH = 2500

const TIMES = [0, 7, 1700000000000, 0.1 + 0.2, 1700000000000.123, 1e21, 5e-324, 1.7976931348623157e308, -3, -0.5]

/** Three MB, in strings that are too short to be stored apart. */
const MANY = Array.from({ length: 3000 }, (_, i) => `${i}`.padEnd(1000, 'x'))

/** Landmarks with times and types of all kinds, and columns of every kind. */
async function stored(length = LENGTH): Promise<string> {
  const events = Array.from({ length }, (_, seq) => ({
    seq,
    time: TIMES[seq % TIMES.length]!,
    ...(seq % 7 === 0
      ? {
          type: ['x\ny', '', '"quoted"', 'Grüße 😀', 'half \ud83d', 'nul \u0000'][seq % 6],
          data: { seq, ä: 'ö', ...(seq === 77 && { parts: MANY }) },
        }
      : { type: 'user/message', data: { message: { role: 'user', content: [] } }, surfaceOp: 'append' }),
    ...(seq > 20 && { sourceEventSeqs: Array.from({ length: seq % 20 }, (_, i) => i) }),
    ...(seq % 5 === 0 && { ignorable: true }),
  }))
  const file = newFile()
  const backend = openStore(file)
  await store(
    backend,
    { header: { version: 0, id: 'log', createdAt: 0 }, events: events as unknown as SessionEvent[] },
    length,
  )
  expect((await backend.read('log', { from: 0, to: 40 }))!.events).toEqual(events.slice(0, 40))
  await backend.close()
  return file
}

function readRows(file: string, from: number, to: number) {
  const handle = openHandle(file)
  try {
    return readLandmarkRows(handle, 1, from, to)
  } finally {
    handle.close()
  }
}

test('rows that come joined are those that come one by one', async () => {
  const file = await stored()
  const rows = withDatabase(file, db =>
    db.prepare<[], EventRow>(`SELECT ${COLUMNS} FROM events ORDER BY place`).raw().all(),
  )
  expect(rows.length).toBe(LENGTH)
  expect(readRows(file, 0, LENGTH)).toEqual(rows)
  expect(readRows(file, 17, 2200)).toEqual(rows.slice(17, 2200))
  expect(readRows(file, 9, 9)).toEqual([])
})

describe('a row that is not sound is none, and neither are those beside it', () => {
  const MESSAGE = '{"message":{"role":"user","content":[]}}'
  test.each([
    ['another value', `data = '{}'`, false],
    ['a newline in a value', `data = replace(data, ',', char(10) || ',')`, true],
    ['two newlines', `data = data || char(10) || char(10)`, true],
    ['a value that is a blob', `data = CAST('${MESSAGE}' AS BLOB)`, true],
    ['a type that is a blob', `type = CAST(type AS BLOB)`, true],
    ['nothing in place of no value', `source_event_seqs = ''`, true],
    ['an operation of nothing', `surface_op = ''`, true],
    ['a blob in place of an operation', `surface_op = CAST(surface_op AS BLOB)`, true],
    ['texts of nothing', `texts = ''`, true],
    ['another mark', `ignorable = 2`, true],
    ['a time that is none', `time = 'now'`, true],
    ['a time of no bytes', `time = x''`, true],
    ['another checksum', `crc = crc + 1`, false],
  ])('%s', async (_, set, isSigned) => {
    const file = await stored(50)
    withDatabase(file, db => {
      db.prepare(`UPDATE events SET ${set} WHERE seq = 8`).run()
      const row = db.prepare<[], EventRow>(`SELECT ${COLUMNS} FROM events WHERE seq = 8`).raw().get()!
      // As somebody would who knows how the checksum is made.
      if (isSigned) db.prepare('UPDATE events SET crc = ? WHERE seq = 8').run(crcOfRow(row, 1))
    })
    expect(readRows(file, 0, 50)).toBeUndefined()
    expect(readRows(file, 9, 50)?.length).toBe(41)
  })
})
