import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { seqRanges } from '../src/view/figures.js'
import { pathWord } from '../src/view/shell-word.js'
import { plainTitle } from '../src/view/title.js'
import { type Ended, palimpsest, temporaryFolder } from './command.js'

// What somebody reads who fears to have lost weeks of work: the output for people, word by word.

let folder: string
let store: string

beforeEach(() => {
  folder = join(temporaryFolder(), "it's my work")
  mkdirSync(folder)
  store = join(folder, '..', 'the store')
})

const run = (...args: string[]) => palimpsest([...args, '--store', store])
const json = ({ stdout }: Ended) => JSON.parse(stdout)
const failure = ({ stderr }: Ended) => JSON.parse(stderr.trim().split('\n').at(-1)!).error

function write(name: string, text: string | object): string {
  const file = join(folder, name)
  writeFileSync(file, typeof text === 'string' ? text : JSON.stringify(text))
  return file
}

let minute = 0
const row = (id: string, parentId: string | null, message: object) => ({
  type: 'message',
  id,
  parentId,
  timestamp: `2026-01-05T09:${String(minute++).padStart(2, '0')}:00.000Z`,
  message,
})
const said = (...content: object[]) => ({
  role: 'assistant',
  content,
  api: 'anthropic-messages',
  provider: 'anthropic',
  model: 'claude-opus-4-5',
  stopReason: 'toolUse',
})
const call = (id: string) => ({ type: 'toolCall', id, name: 'read', arguments: { path: 'a' } })
const text = (value: string) => ({ type: 'text', text: value })

/** A session of pi with two calls that nobody answered, and a line that was cut. */
function broken(name = 'pi.jsonl'): string {
  minute = 0
  const rows = [
    { type: 'session', version: 3, id: 's1', timestamp: '2026-01-05T08:59:00.000Z', cwd: '/p' },
    row('a1', null, { role: 'user', content: [text('Read it.')] }),
    row('a2', 'a1', said(call('c1'))),
    row('a3', 'a2', { role: 'user', content: [text('And?')] }),
    row('a4', 'a3', said(call('c2'))),
    row('a5', 'a4', { role: 'user', content: [text('Well?')] }),
  ].map(each => JSON.stringify(each))
  return write(name, `${rows.join('\n')}\n{"type":"message","id":"a6","par\n`)
}

const sound = (): string =>
  write('sound.json', [
    { role: 'user', content: 'Hello' },
    { role: 'assistant', content: 'Hello.' },
    { role: 'user', content: 'And now?' },
  ])

describe('doctor FILE', () => {
  test('first the verdict with number and date, then equal findings once, the worst first, then what to run', async () => {
    const { code, stdout } = await run('doctor', broken())
    expect(code).toBe(1)
    const order = [
      'This session cannot be continued as it is: Anthropic would refuse it. It can be mended.',
      '3 things of 2 kinds are wrong, the first at line 3 (2026-01-05 09:01 UTC).',
      '\nRecovered\n  5 messages for the next request, up to 2026-01-05 09:04 UTC: 3 prompts, 2 answers\n',
      '\nLost\n  a record was cut short: left aside\n      line 7',
      'what 2 calls gave back was never written (line 3 … line 5)',
      '\nStops a resume\n  2 × a call has no result',
      'line 3 (2026-01-05 09:01 UTC) and line 5; the first: id c1  [call.unanswered]',
      '\nNext\n',
    ].map(each => stdout.indexOf(each))
    expect(order).not.toContain(-1)
    expect(order).toEqual([...order].sort((a, b) => a - b))
    expect(stdout.match(/call\.unanswered/g)).toHaveLength(1)
  })

  test('each command that it names runs as it was printed, whatever the path holds', async () => {
    const { stdout } = await run('doctor', broken())
    const commands = stdout.split('\n').flatMap(line => / {2}palimpsest (.+)$/.exec(line)?.[1] ?? [])
    expect(commands).toHaveLength(2)
    for (const command of commands) {
      const words = execFileSync('sh', ['-c', `printf '%s\\0' ${command}`], { encoding: 'utf8' }).split('\0')
      expect((await palimpsest(words.slice(0, -1))).code).toBe(0)
    }
  })

  test('of a sound session says so; tools without a schema are one note', async () => {
    const { code, stdout } = await run('doctor', sound())
    expect(code).toBe(0)
    expect(stdout).toContain('This session can be continued as it is. Nothing is wrong with it.')
    expect(stdout).not.toMatch(/Lost|Stops a resume|wrong,/)
    const called = write('called.json', [
      { role: 'user', content: 'Go' },
      ...['a', 'b'].flatMap(name => [
        {
          role: 'assistant',
          content: null,
          tool_calls: [{ id: name, type: 'function', function: { name, arguments: '{}' } }],
        },
        { role: 'tool', tool_call_id: name, content: 'ok' },
      ]),
    ])
    expect((await run('doctor', called)).stdout.match(/not recorded/g)).toHaveLength(1)
  })

  test('a newline that is missing at the end is a calm note', async () => {
    const lines = ['{"type":"session","version":3,"id":"s1","timestamp":"2026-01-05T09:00:00.000Z","cwd":"/p"}']
    lines.push(JSON.stringify(row('a1', null, { role: 'user', content: [text('Hello')] })))
    const { code, stdout } = await run('doctor', write('short.jsonl', lines.join('\n')))
    // The exit code is that of a finding above info.
    expect(code).toBe(1)
    expect(stdout).toContain('Nothing is wrong with it.')
    expect(stdout).toMatch(
      /Notes: nothing to worry about\n {2}the last line has no newline at its end: nothing is missing/,
    )
  })

  test.each([
    ['', 1, 'This file is empty: there is nothing to continue in it, and nothing to mend.'],
    ['hm\n', 2, 'This file is no transcript of a kind that is known here.'],
    [
      '{"type":"session","version":3,"id":"s1","timestamp":"2026-01-05T09:00:00.000Z","cwd":"/p"}\n',
      0,
      'There is no message in this file: nothing was said, so nothing is lost.',
    ],
  ])('of %j says plainly that there is nothing', async (content, code, sentence) => {
    expect(await run('doctor', write('odd.jsonl', content))).toMatchObject({
      code,
      stdout: expect.stringContaining(sentence),
    })
  })

  test('a format that fits nothing is told with the one that was found', async () => {
    const file = broken()
    const ended = await run('doctor', file, '--format', 'codex')
    expect(ended.code).toBe(2)
    expect(ended.stdout).toContain('Read as codex, as --format asks, this file holds no message. Its content is pi.')
    expect(ended.stdout).toMatch(/palimpsest doctor '.*pi\.jsonl' --format pi\n/)
    expect(ended.stdout).not.toContain('file.torn-record')
    const { findings, request } = json(await run('doctor', file, '--format', 'codex', '--json'))
    expect(findings).toEqual([{ code: 'format.other', severity: 'info', where: 'file', detected: 'pi' }])
    expect(request).toBe(null)
    for (const args of [
      ['doctor', file, '--fix'],
      ['export', file, '--to', 'openai-chat'],
    ]) {
      const refused = await run(...args, '--format', 'codex', '--json')
      expect({ code: refused.code, error: failure(refused).code }).toEqual({ code: 2, error: 'FORMAT_MISMATCH' })
    }
  })

  test('a conversation that the file does not hold is refused, and so is a pipe', async () => {
    for (const args of [['doctor'], ['export', '--to', 'openai-chat']]) {
      const refused = await run(args[0]!, sound(), ...args.slice(1), '--conversation', '3', '--json')
      expect({ code: refused.code, error: failure(refused).code }).toEqual({ code: 3, error: 'CONVERSATION_UNKNOWN' })
    }
    expect(json(await run('import', sound(), '--conversation', '3', '--json'))).toMatchObject([
      { error: { code: 'CONVERSATION_UNKNOWN' } },
    ])
    const fifo = join(folder, 'pipe')
    execFileSync('mkfifo', [fifo])
    const refused = await run('doctor', fifo, '--json')
    expect({ code: refused.code, error: failure(refused).code }).toEqual({ code: 2, error: 'TRANSCRIPT_UNREADABLE' })
  })

  test('--fix counts by kind what stays in the old file only', async () => {
    const file = broken()
    writeFileSync(
      file,
      `${JSON.stringify({ type: 'label', id: 'l1', parentId: 'a5', timestamp: '2026-01-05T10:00:00.000Z', targetId: 'a1', label: 'x' })}\n`,
      { flag: 'a' },
    )
    const { code, stdout } = await run('doctor', file, '--fix')
    expect(code).toBe(0)
    expect(stdout).toMatch(/2 rows that no request holds: 1 session, 1 label/)
    expect(stdout).toMatch(/Next\n {2}pi --session '.*mended\.jsonl'/)
    const other = await run('doctor', sound(), '--fix')
    expect(other.stderr).toMatch(/palimpsest export '.*sound\.json' --to openai-chat --out '.*sound\.mended\.json'/)
  })
})

describe('import', () => {
  test('counts as doctor does, says what to run next, and takes a file without a message for none', async () => {
    broken()
    sound()
    write('bare.jsonl', '{"type":"session","version":0,"id":"s2","createdAt":0,"cwd":"/p"}\n')
    const { code, stdout } = await run('import', folder)
    expect(code).toBe(0)
    expect(stdout).toMatch(/pi → s1, \d+ events, 3 things are wrong, of which 1 lost\n/)
    expect(stdout).toContain('2 imported, 0 known already, 1 without a message, 0 failed')
    expect(stdout).toMatch(/Next\n[\s\S]*palimpsest ls --store '.*the store'\n[\s\S]*palimpsest resume last/)
    const looked = await run('doctor', folder)
    expect(looked.stdout).toMatch(/wrong .*pi\.jsonl {2}pi {2}3 things are wrong, of which 1 lost: /)
    expect(looked.stdout).toContain('3 transcripts; something is wrong with 1 of them')
  })
})

describe('a session that was imported', () => {
  test('names what its agent did to the history, and has nothing to replay yet', async () => {
    const rows = [
      { type: 'session', version: 3, id: 's3', timestamp: '2026-01-05T08:59:00.000Z', cwd: '/p' },
      row('a1', null, { role: 'user', content: [text('Read it.')] }),
      row('a2', 'a1', said(text('I have.'))),
      row('a3', 'a2', { role: 'user', content: [text('Then go on.')] }),
      {
        type: 'compaction',
        id: 'k1',
        parentId: 'a3',
        timestamp: '2026-01-05T09:30:00.000Z',
        summary: 'It was read.',
        firstKeptEntryId: 'a3',
        tokensBefore: 100,
      },
      row('a4', 'k1', said(text('Going on.'))),
    ]
    await run('import', write('k.jsonl', `${rows.map(each => JSON.stringify(each)).join('\n')}\n`))
    expect((await run('log', 's3', '--edits')).stdout).toMatch(/imported compaction/)
    expect(JSON.parse((await run('log', 's3', '--edits', '--json')).stdout)).toMatchObject({
      kind: 'replace',
      imported: 'compaction',
    })
    const refused = await run('replay', 's3', '--json')
    expect({ code: refused.code, error: failure(refused).code }).toEqual({ code: 3, error: 'NOTHING_TO_REPLAY' })
    expect(failure(refused).message).toMatch(/imported from pi; palimpsest resume s3 "…" --store '.*'/)
  })

  test('is counted in the words of doctor FILE, and each hint holds its id', async () => {
    await run('import', broken())
    const { code, stdout } = await run('doctor', 's1')
    expect(code).toBe(1)
    expect(stdout).toMatch(/wrong +s1 {2}\d+ events {2}2 things are wrong\n/)
    expect(stdout).toMatch(
      /TURN_OPEN: .*palimpsest doctor s1 --fix --store '.*' closes .* palimpsest resume s1 --store '/,
    )
    expect(stdout).toMatch(/in what it sends 2 things are wrong, and put right in each request: 2 × call\.unanswered/)
    expect(stdout).toMatch(/palimpsest doctor s1 --target anthropic --store '/)
  })

  test('is not written to by a resume that lacks its key', async () => {
    await run('import', broken())
    const before = (await run('log', 's1', '--json')).stdout
    const refused = await run('resume', 's1', 'go on', '--model', 'anthropic:claude-opus-4-5', '--json')
    expect({ code: refused.code, error: failure(refused) }).toMatchObject({ code: 2, error: { code: 'USAGE' } })
    expect((await run('log', 's1', '--json')).stdout).toBe(before)
  })
})

describe('under --json', () => {
  test('each line on stderr is JSON', async () => {
    const ended = await run('export', broken(), '--to', 'openai-chat', '--json')
    expect(ended.code).toBe(0)
    const chat = write('orphan.json', [
      { role: 'user', content: 'Go' },
      { role: 'tool', tool_call_id: 'x', content: 'of no call' },
    ])
    const noted = await run('export', chat, '--to', 'openai-chat', '--json')
    const notes = noted.stderr.trim().split('\n')
    expect(notes.map(line => JSON.parse(line))).toEqual([{ note: expect.stringContaining('left out: ') }])
  })
})

test('demo refuses a store that it would not use', async () => {
  const refused = await run('demo', '--json')
  expect({ code: refused.code, error: failure(refused).code }).toEqual({ code: 2, error: 'USAGE' })
})

describe('ls', () => {
  test('shows the first prompt that was typed, in plain text on one line', async () => {
    const said = (content: string) => ({ role: 'user', content })
    const [reminder, command] = [
      '<system-reminder>\nDo not tell.\n</system-reminder>',
      '<command-name>/clear</command-name>\n<command-message>clear</command-message>',
    ]
    await run('import', write('a.json', [said(command), said(`${reminder}\nMend the\n<b>build</b>, please`)]))
    await run('import', write('b.json', [said(command)]))
    const { stdout } = await run('ls')
    expect(stdout).toMatch(/ Mend the build , please\n/)
    expect(stdout).toMatch(/ \/clear\n/)
  })

  test.each([
    ['plain <text> with 1 < 2', 'plain with 1 < 2'],
    ['<system-reminder>cut in the mid', ''],
    ['<command-message>x</command-message>\n<command-na', ''],
  ])('%j reads %j', (text, title) => {
    expect(plainTitle(text)).toBe(title)
  })
})

const PATHS = ['plain.jsonl', "it's", 'two words', '$(reboot)`x`', '-x', '~', 'a\\b\u0007', '%s\t', '\\1\u001b[1m']
const ODD_PATHS = ['new\nline', '-\n', '\u009bcsi', 'right\u202eleft', '\u{e0041}tag', "it's\r7", '\u00e9']
for (const shell of ['sh', 'bash']) {
  test.each([...PATHS, ...ODD_PATHS])(`the path %j comes through ${shell} as it is`, path => {
    const printed = execFileSync(shell, ['-c', `printf '%s.' ${pathWord(path)}`], { encoding: 'utf8' })
    expect(printed).toBe(`${path.startsWith('-') ? './' : ''}${path}.`)
    expect(pathWord(path).replace(/\n*'$/, "'")).not.toMatch(/[\p{Cc}\u202e]/u)
  })
}

test('seqs in surface order are told as ranges', () => {
  expect(seqRanges([3, 5, 9])).toBe('3…9')
  expect(seqRanges([40, 3, 5, 31])).toBe('40, 3…31')
  expect(seqRanges([9, 8, 7, 6, 5, 4, 3, 2])).toBe('9, 8, 7, 6, 5 … 2')
})
