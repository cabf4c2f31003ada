import { createSession, openSession } from '@palimpsest/session-persistence'
import Database from 'better-sqlite3'
import { expect, test } from 'vitest'
import { COLUMNS, crcOfRow, type EventRow } from '../src/record.js'
import { newFile, openStore } from './stores.js'

/** More than a log has that is read whole at opening. */
const LENGTH = 1200
const MESSAGE = '{"message":{"role":"user","content":[{"type":"text","text":"not said"}]}}'

test.each([
  ['data', ',"time":99'],
  ['data', ',"foo":1'],
  ['data', `,"data":${MESSAGE}`],
  ['data', ',"sourceEventSeqs":[0]'],
  ['surface_op', ',"time":99'],
])('a %s column that says %s behind its own value is damage, whatever its checksum', async (column, added) => {
  const file = newFile()
  const first = openStore(file)
  const { session, close } = await createSession(first, { id: 's' })
  const message = { role: 'user' as const, content: [{ type: 'text' as const, text: 'said' }] }
  for (let i = 0; i < LENGTH; i++) session.append('user/message', { message }, { surfaceOp: 'append' })
  await close()
  await first.close()
  addTo(file, column, added)

  const backend = openStore(file)
  expect((await backend.read('s'))!.damage.map(({ code }) => code)).toEqual(['RECORD_DAMAGED', 'LOG_HOLE'])
  const opened = await openSession(backend, 's')
  expect([opened.session.length, opened.report.readOnly]).toEqual([5, true])
  await opened.close()
  await backend.close()
})

// --- internal ---

/** As somebody would who knows how the checksum is made. */
function addTo(file: string, column: string, text: string): void {
  const db = new Database(file)
  db.prepare(`UPDATE events SET ${column} = ${column} || ? WHERE seq = 5`).run(text)
  const row = db.prepare(`SELECT ${COLUMNS} FROM events WHERE seq = 5`).raw().get() as EventRow
  db.prepare('UPDATE events SET crc = ? WHERE seq = 5').run(crcOfRow(row, 1))
  db.close()
}
