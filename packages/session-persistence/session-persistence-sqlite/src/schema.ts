/** `PALI`: whose database a file is. */
export const APPLICATION_ID = 0x50414c49

/** The layout of the tables. A database with another one is refused, never migrated in place. */
export const SCHEMA_VERSION = 1

/** Half of the places that a number can hold exactly: so many events may a session have. */
export const LARGEST_LENGTH = 2 ** 30

/** So many sessions may a database ever have had. */
export const LARGEST_KEY = 2 ** 23 - 1

/** Where an event stands in `events`, and a pack by its first event in `packs`: all of one session together, by seq. */
export function placeOf(key: number, seq: number): number {
  return key * LARGEST_LENGTH + seq
}

/** What a database of this version holds, letter by letter as `sqlite_schema` has it. `docs/format.md` says what the columns mean. */
export const SCHEMA: readonly string[] = [
  `CREATE TABLE leases (
  id TEXT PRIMARY KEY,
  epoch INTEGER NOT NULL,
  owner TEXT,
  crc INTEGER NOT NULL
) WITHOUT ROWID`,
  `CREATE TABLE sessions (
  key INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT UNIQUE,
  header TEXT NOT NULL,
  parent INTEGER,
  base INTEGER NOT NULL,
  header_crc INTEGER NOT NULL,
  length INTEGER NOT NULL,
  landmarks INTEGER NOT NULL,
  packed INTEGER NOT NULL,
  bytes INTEGER NOT NULL,
  updated_at NUMERIC NOT NULL,
  title_seq INTEGER,
  title TEXT,
  crc INTEGER NOT NULL
)`,
  'CREATE INDEX sessions_by_parent ON sessions (parent) WHERE parent IS NOT NULL',
  `CREATE TABLE events (
  place INTEGER PRIMARY KEY,
  seq INTEGER NOT NULL,
  time NUMERIC NOT NULL,
  type TEXT NOT NULL,
  data TEXT NOT NULL,
  source_event_seqs TEXT,
  surface_op TEXT,
  ignorable INTEGER,
  texts TEXT,
  landmark INTEGER,
  crc INTEGER NOT NULL,
  session INTEGER AS (place >> 30)
)`,
  'CREATE INDEX landmarks ON events (place) WHERE landmark IS NOT NULL',
  `CREATE TABLE packs (
  place INTEGER PRIMARY KEY,
  last INTEGER NOT NULL,
  body BLOB NOT NULL,
  crc INTEGER NOT NULL,
  session INTEGER AS (place >> 30)
)`,
  `CREATE TABLE texts (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  hash BLOB NOT NULL UNIQUE,
  body BLOB,
  block INTEGER,
  size INTEGER
)`,
  'CREATE INDEX texts_by_block ON texts (block) WHERE block IS NOT NULL',
  `CREATE TABLE blocks (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  body BLOB NOT NULL
)`,
  'CREATE TABLE text_refs (session INTEGER, text INTEGER, PRIMARY KEY (session, text)) WITHOUT ROWID',
  'CREATE INDEX text_refs_by_text ON text_refs (text)',
  `CREATE TABLE kept (
  key INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL,
  source TEXT NOT NULL,
  seq INTEGER,
  row TEXT NOT NULL
)`,
]
