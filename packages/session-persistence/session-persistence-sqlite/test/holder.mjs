// Holds the write lock of a database until a line comes in. node holder.mjs FILE
import Database from 'better-sqlite3'

const db = new Database(process.argv[2])
db.exec('BEGIN IMMEDIATE')
process.stdout.write('held\n')
process.stdin.once('data', () => {
  db.exec('COMMIT')
  db.close()
  process.stdout.write('freed\n')
  process.stdin.unref()
})
