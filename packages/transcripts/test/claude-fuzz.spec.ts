import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { FormatName } from '@palimpsest/transcripts'
import { describe, expect, it } from 'vitest'
import { answer, boundary, call, hook, restartClock, result, row, summary, text, user } from './claude-rows.js'
import { mutated, rng } from './mutated.js'
import { lines, opened } from './opened.js'

/** Inputs in all; `npm run torture` sets it. */
const INPUTS = Number(process.env.PALIMPSEST_FUZZ ?? 2_000)

const CORPUS = fileURLToPath(new URL('../../../../shared/corpus/', import.meta.url))
const SMALL = 9_000

restartClock()
const SESSION = lines(
  { type: 'summary', summary: 'Before.', leafUuid: 'z' },
  row('a', null, user('Begin. }{"type":"user"} \u2028')),
  row('b', 'a', answer('m1', { type: 'thinking', thinking: 'Hm.', signature: 's' })),
  row('c', 'b', answer('m1', call('t1', { n: 1, big: 2 }))),
  row('d', 'c', { type: 'progress', data: { type: 'hook_progress' } }),
  row('e', 'c', answer('m1', call('t2'), { usage: { input_tokens: 1, output_tokens: 2 }, stop_reason: 'tool_use' })),
  row(
    'f',
    'd',
    result('t1', [text('one'), { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AA' } }]),
  ),
  row('g', 'e', result('t2')),
  row('s1', null, user('Look.', { isSidechain: true })),
  row('s2', 's1', answer('m9', text('Found.')), { isSidechain: true }),
  row('h', 'g', user('Wrong turn.')),
  row('i', 'h', answer('m2', text('Yes.'))),
  row('h2', 'g', user('Right turn.')),
  row('i2', 'h2', answer('m3', [text('Done. \ud83d\ude00'), { type: 'redacted_thinking', data: 'x' }])),
  row(
    'j',
    null,
    boundary({ logicalParentUuid: 'i2', compactMetadata: { preservedMessages: { uuids: ['h2', 'i2'] } } }),
  ),
  row('k', 'j', summary('Sum.')),
  row('l', 'k', hook()),
  row('n', 'k', answer('m4', text('Ready.'))),
  row('o', 'l', user('[Request interrupted by user]')),
  row('p', 'o', { type: 'attachment', attachment: { type: 'queued_command', prompt: 'Also this.' } }),
  row('q', 'gone', user([text('More.')], { isMeta: true })),
  row('x', null, user('Of another.'), { sessionId: 'other' }),
  row('a', null, user('Begin.')),
)

const STREAM = lines(
  { type: 'system', subtype: 'init', session_id: 's', model: 'claude-opus-4-5', cwd: '/' },
  { ...answer('m1', text('Look.')), session_id: 's' },
  { ...answer('m1', call('t1')), session_id: 's' },
  { ...result('t1'), session_id: 's' },
  { ...answer('m2', text('Done.')), session_id: 's', parent_tool_use_id: null },
  { type: 'result', subtype: 'success', session_id: 's' },
)

const FILES: { name: string; format: FormatName; bytes: Uint8Array }[] = [
  { name: 'a session', format: 'claude-code', bytes: Buffer.from(SESSION) },
  { name: 'a stream', format: 'claude-stream-json', bytes: Buffer.from(STREAM) },
  ...['claude-code', 'claude-single'].flatMap(folder =>
    (existsSync(CORPUS) ? readdirSync(CORPUS + folder) : [])
      .map(name => `${CORPUS}${folder}/${name}`)
      .filter(path => statSync(path).size < SMALL)
      .map(path => ({ name: path.slice(CORPUS.length), format: 'claude-code' as const, bytes: readFileSync(path) })),
  ),
]

describe('a file that something has happened to', () => {
  // Most of the inputs go to the file that holds everything.
  for (const [i, { name, format, bytes }] of FILES.entries()) {
    const inputs = i === 0 ? Math.ceil(INPUTS / 2) : Math.ceil(INPUTS / 2 / (FILES.length - 1))

    it(`${name}: ${inputs} times into a log that a session takes, each line in it or reported`, () => {
      for (let seed = 1; seed <= inputs; seed++) {
        const file = mutated(bytes, rng(seed))
        expect(silentLines(file, format), `seed ${seed}`).toEqual([])
      }
    }, 3_600_000)
  }
})

/** What a failure to read says, or what was not told. */
function silentLines(file: Uint8Array, format: FormatName): unknown {
  try {
    return silent(file, opened(file, { format }))
  } catch (error) {
    return error
  }
}

/** Lines that hold something, and that neither an event nor a finding comes from. */
function silent(file: Uint8Array, { places, findings, loss }: ReturnType<typeof opened>): number[] {
  const told = new Set<number>()
  const named = [
    ...places.flatMap(({ where, parts = [] }) => [where, ...parts]),
    ...[...findings, ...loss].map(({ where = '' }) => where),
  ]
  for (const where of named) {
    const [, first, last = first] = /^line (\d+)(?:-(\d+))?/.exec(where) ?? []
    for (let line = Number(first); line <= Number(last); line++) told.add(line)
  }
  return Buffer.from(file)
    .toString('latin1')
    .replace(/^\xef\xbb\xbf/, '')
    .replaceAll('\0', '')
    .split('\n')
    .flatMap((line, i) => (/^[ \t\r]*$/.test(line) || told.has(i + 1) ? [] : [i + 1]))
}
