// Holds the write lock of a database until a line comes in, or keeps readers out too. node holder.mjs FILE [exclusive]
import Database from 'better-sqlite3'

const db = new Database(process.argv[2])
if (process.argv[3] === 'exclusive') db.pragma('locking_mode = EXCLUSIVE')
db.exec('BEGIN IMMEDIATE')
process.stdout.write('held\n')
process.stdin.once('data', () => {
  db.exec('COMMIT')
  db.close()
  process.stdout.write('freed\n')
  process.stdin.unref()
})
