import type { Session, SessionEvent } from '@palimpsest/session'
import { createSession } from '../create-session.js'
import { forkSession } from '../fork-session.js'
import { openSession } from '../open-session.js'
import type { SessionBackend } from '../port.js'
import { type Check, refuses, same } from './check.js'
import { addUser, conversation, listAll, newSession, readLog, stored } from './fixtures.js'

/** Input that somebody else wrote: kept exactly, or refused with a code. */
export function checkHostileInput(check: Check): void {
  for (const [what, text] of Object.entries(TEXTS)) {
    check(`text with ${what} round-trips as value, key and title`, async ({ backend, reopen }) => {
      const session = newSession()
      addUser(session, text)
      addSettings(session, { [text]: text, list: [text] })
      await stored(backend, session)
      const other = await reopen()
      same((await readLog(other)).events, session.events, 'events')
      const [summary] = await listAll(other)
      same([summary?.id, summary?.error], ['kit', undefined], 'listing')
    })
  }

  for (const [what, json] of Object.entries(DATA)) {
    check(`${what} round-trips`, async ({ backend, reopen }) => {
      const session = newSession()
      addSettings(session, JSON.parse(json()))
      await stored(backend, session)
      same((await readLog(await reopen())).events, session.events, 'events')
    })
  }

  for (const id of GOOD_IDS) {
    check(`the id ${shown(id)} is an id like any other`, async ({ backend, reopen }) => {
      const session = await stored(backend, conversation(id, 1))
      const other = await reopen()
      same((await readLog(other, id)).events, session.events, 'events')
      same(
        (await listAll(other)).map(summary => summary.id),
        [id],
        'listing',
      )
      await other.remove(id)
      same(await backend.read(id), undefined, 'read after removal')
    })
  }

  for (const [what, run] of Object.entries(OPERATIONS)) {
    check(`${what} refuses ids that no store can keep`, async ({ backend }) => {
      await stored(backend, conversation('good', 1))
      for (const id of BAD_IDS)
        await refuses(run(backend, id as string), 'SESSION_ID_INVALID', `${what} of ${shown(id)}`)
      same(
        (await listAll(backend)).map(summary => summary.id),
        ['good'],
        'listing',
      )
    })
  }
}

// --- internal ---

const TEXTS = {
  'NUL and control characters': 'a\u0000b\u0001\u001f\u007f\u0085',
  'line and paragraph separators': 'a\u2028b\u2029c',
  'CR, LF and tabs': 'a\r\nb\nc\rd\t\n',
  'a lone high surrogate': 'a\ud800b',
  'a lone low surrogate': '\udc00',
  'surrogates in the wrong order': '\udc00\ud800',
  'a byte order mark': '\ufeffa',
  noncharacters: '\ufffe\uffff\u{10ffff}',
  'astral characters': '👩‍👩‍👧‍👦 𝒳 \u{1f600}',
  'combining and bidirectional marks': 'e\u0301 \u202eabc\u202c',
  'terminal escapes': '\u001b[31mred\u001b[0m\u001b]0;title\u0007',
  'quotes and backslashes': '"\\"\\\\\'`$(x)\\u0000\\',
  'what looks like the end of a record': '","crc":"00000000"}\n{"seq":1,"time":0,"type":"turn/end"',
  SQL: "'; DROP TABLE events; --",
  'nothing in it': '',
}

const DATA: Record<string, () => string> = {
  'the keys that objects inherit': () =>
    '{"__proto__":{"polluted":true},"constructor":{"prototype":1},"toString":"a","hasOwnProperty":null,"toJSON":"b"}',
  'nested __proto__ keys': () => '{"a":{"__proto__":{"__proto__":[{"__proto__":null}]}}}',
  'empty keys, arrays and objects': () => '{"":"","a":[],"b":{},"c":[[],{},""],"d":null}',
  'keys that look like the record’s own': () =>
    '{"seq":9,"time":1,"type":"x","crc":"ffffffff","data":{},"surfaceOp":"append"}',
  'numbers at the edges': () =>
    '{"n":[5e-324,1.7976931348623157e308,1e21,0.1,9007199254740993,-1e-7,123456789012345680000]}',
  'JSON nested as deep as the kernel admits': () => `{"s":${'['.repeat(997)}${']'.repeat(997)}}`,
  'an object of 10,000 keys': () =>
    JSON.stringify(Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`key ${i}`, i]))),
  'a string of 1 MB': () => JSON.stringify({ s: 'é\u0000"x'.repeat(250_000) }),
  'a string of 1 MB that begins and ends in halves of a pair': () =>
    JSON.stringify({ s: `\udc00${'y'.repeat(1_000_000)}\ud83d` }),
}

const GOOD_IDS = [
  'a',
  '_',
  '0',
  'A-b_9',
  'x-',
  'CONSOLE',
  'com10',
  'x'.repeat(120),
  '__proto__',
  'constructor',
  'index',
  'lock',
]

const BAD_IDS: unknown[] = [
  '',
  '.',
  '..',
  '../good',
  'good/../good',
  'a/b',
  '/etc/passwd',
  'a\\b',
  'C:a',
  'good.jsonl',
  'a.b',
  'a\u0000b',
  'a b',
  'a\n',
  '\na',
  '-rf',
  'é',
  '%2e%2e',
  'a*',
  'x'.repeat(121),
  'x'.repeat(100_000),
  'CON',
  'nul',
  'Aux',
  'PRN',
  'com1',
  'LPT9',
  undefined,
  null,
  42,
  ['good'],
]

const OPERATIONS: Record<string, (backend: SessionBackend, id: string) => Promise<unknown>> = {
  acquire: (backend, id) => backend.acquire(id),
  read: (backend, id) => backend.read(id),
  remove: (backend, id) => backend.remove(id),
  openSession: (backend, id) => openSession(backend, id),
  'forkSession of a parent': (backend, id) => forkSession(backend, id),
  'forkSession into a child': (backend, id) => forkSession(backend, 'good', { id: id ?? '' }),
  createSession: (backend, id) => createSession(backend, { id: id ?? '' }),
}

function addSettings(session: Session, settings: Record<string, unknown>): SessionEvent {
  return session.append('request/header', { model: 'm', settings: settings as never })
}

function shown(id: unknown): string {
  const text = JSON.stringify(id) ?? 'undefined'
  return text.length > 30 ? `${text.slice(0, 12)}… of ${text.length - 2} characters` : text
}
