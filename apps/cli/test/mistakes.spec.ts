import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { MAIN, palimpsest, scriptFile, startProgram, temporaryFolder } from './command.js'
import { fillStory, storeWith } from './stores.js'

const FULL = '/dev/full'
const STACK = /\n\s+at .*[:(]\d|node:internal/

describe('mistakes', () => {
  it.each<[string, string[], number, string]>([
    ['an unknown command', ['bogus'], 2, "unknown command 'bogus'; palimpsest --help"],
    ['a misspelt command', ['rsume'], 2, "unknown command 'rsume'; did you mean resume?"],
    ['help for an unknown command', ['help', 'rsume'], 2, "unknown command 'rsume'; did you mean resume?"],
    ['a misspelt option', ['ls', '--sto', 'x'], 2, "'--sto'; did you mean --store?"],
    ['an unknown option', ['ls', '--bogus'], 2, "unknown option '--bogus'; palimpsest help COMMAND"],
    ['a missing argument', ['at'], 2, 'palimpsest help COMMAND'],
    ['too many arguments', ['show', 'a', 'b'], 2, 'too many arguments'],
    ['an id that leaves the store', ['show', '../../etc/passwd'], 3, 'SESSION_ID_INVALID'],
    ['an id with a control character', ['log', 'a\u001b[2Jb'], 3, 'SESSION_ID_INVALID'],
    ['an id to be removed that leaves the store', ['rm', '--force', '../story'], 3, 'SESSION_ID_INVALID'],
    ['a fork to an unsafe id', ['fork', 'story', '--id', '../x'], 3, 'SESSION_ID_INVALID'],
    ['an unknown id', ['show', 'nope'], 3, 'SESSION_NOT_FOUND'],
    ['a place that is none', ['at', 'story', 'x'], 2, 'turn.step'],
    ['a place beyond the end', ['at', 'story', '99'], 3, '0 to 13'],
    ['a step that is not there', ['at', 'story', '7.1'], 3, 'the last one 1.1'],
    ['a place before the first request', ['at', 'story', '2'], 3, 'REQUEST_UNKNOWN'],
    ['an unknown seq', ['explain', 'story', '13'], 3, 'seqs 0 to 12'],
    ['a seq that is no number', ['explain', 'story', '-1'], 2, ''],
    ['a broken pattern', ['log', '--grep', '('], 2, 'regular expression'],
    ['no model', ['run', 'hi'], 2, 'PALIMPSEST_MODEL'],
    ['a model without a name', ['run', 'hi', '--model', 'anthropic:'], 2, 'anthropic:'],
    ['no key', ['run', 'hi', '--model', 'anthropic:claude-x'], 2, 'ANTHROPIC_API_KEY'],
    [
      'a named key that is not set',
      ['run', 'hi', '--model', 'm', '--base-url', 'http://127.0.0.1:9', '--api-key-env', 'NO_KEY'],
      2,
      'NO_KEY',
    ],
    ['an address that is none', ['run', 'hi', '--model', 'm', '--base-url', 'ftp://x'], 2, 'http://'],
    ['a script that is not there', ['run', 'hi', '--model', 'scripted:nope.json'], 3, 'nope.json'],
    ['no task and no terminal', ['run'], 2, 'expected a task'],
    ['an empty task', ['run', ' '], 2, 'empty'],
    ['a folder that is not there', ['run', 'hi', '--cwd', 'nope'], 3, 'FOLDER_NOT_FOUND'],
    ['a limit that is none', ['run', 'hi', '--max-steps', '0'], 2, 'from 1'],
    ['a task in the place of the id', ['resume', 'go on then'], 2, 'palimpsest resume last'],
  ])('%s: a sentence, no stack trace', async (_, args, code, says) => {
    const { directory } = await storeWith('story', fillStory)
    const [human, json] = await Promise.all([
      palimpsest([...args, '--store', directory]),
      palimpsest([...args, '--json', '--store', directory]),
    ])
    expect(human).toMatchObject({ code, stdout: '' })
    expect(human.stderr).toContain(says)
    expect(human.stderr).not.toMatch(STACK)
    expect(human.stderr).not.toContain('\u001b')
    expect(human.stderr.trimEnd().split('\n')).toHaveLength(1)
    expect(json).toMatchObject({ code, stdout: '' })
    const { error } = JSON.parse(json.stderr)
    expect(Object.keys(error)).toEqual(['code', 'message'])
  })

  it('refuses a store that is a file, or named and not there', async () => {
    const folder = temporaryFolder()
    writeFileSync(join(folder, 'file'), '')
    for (const command of [['ls'], ['show'], ['doctor'], ['log', 'x']]) {
      expect(await palimpsest([...command, '--store', join(folder, 'file')])).toMatchObject({ code: 3 })
      const missing = await palimpsest([...command, '--store', join(folder, 'missing')])
      expect(missing).toMatchObject({ code: 3 })
      expect(missing.stderr).toContain('STORE_NOT_FOUND')
    }
  })

  it('names several sessions with the same beginning', async () => {
    const { directory } = await storeWith('same-a', fillStory)
    await storeWith('same-b', fillStory, directory)
    const ended = await palimpsest(['show', 'same', '--store', directory])
    expect(ended.code).toBe(2)
    expect(ended.stderr).toMatch(/same-a.*same-b|same-b.*same-a/)
    expect(await palimpsest(['show', 'same-b', '--store', directory])).toMatchObject({ code: 0 })
  })

  it.each([
    ['no JSON', '[{'],
    ['no array', '{}'],
    ['a member that does not exist', '[{"texts":"hi"}]'],
    ['a wrong type', '[{"text":1}]'],
  ])('refuses a script with %s', async (_, content) => {
    const folder = temporaryFolder()
    writeFileSync(join(folder, 'script.json'), content)
    const ended = await palimpsest(['run', 'hi', '--model', 'scripted:script.json', '--store', 'store'], {
      cwd: folder,
    })
    expect(ended).toMatchObject({ code: 2, stdout: '' })
    expect(ended.stderr).toContain('script.json')
    expect(ended.stderr).not.toMatch(STACK)
  })

  it('refuses a name in --allow that is neither effect nor tool', async () => {
    const folder = temporaryFolder()
    const model = `scripted:${scriptFile(folder, [{ text: 'hi' }])}`
    const ended = await palimpsest(['run', 'hi', '--model', model, '--allow', 'wirte', '--store', 'store'], {
      cwd: folder,
    })
    expect(ended).toMatchObject({ code: 2 })
    expect(ended.stderr).toContain('"wirte"')
  })
})

describe('help', () => {
  it('exists for every command, with examples', async () => {
    const { stdout, code } = await palimpsest(['--help'])
    expect(code).toBe(0)
    expect(stdout).toContain('Exit codes:')
    for (const name of ['run', 'resume', 'ls', 'show', 'log', 'at', 'explain', 'doctor', 'fork', 'rm']) {
      expect(stdout).toContain(`  ${name} `)
      const help = await palimpsest(['help', name])
      expect(help.code).toBe(0)
      expect(help.stdout).toContain(`$ palimpsest ${name}`)
      expect(help.stdout).toContain('--store <place>')
    }
  })

  it('is what a bare command prints, as a mistake', async () => {
    const { code, stderr } = await palimpsest([])
    expect(code).toBe(2)
    expect(stderr).toContain('Usage: palimpsest')
    expect(stderr).not.toMatch(/^error|outputHelp/m)
  })
})

describe('a full device behind stdout', () => {
  it.skipIf(!existsSync(FULL))('is a failure and no fault of ours', async () => {
    const { directory } = await storeWith('story', fillStory)
    for (const args of [['ls'], ['log', 'story'], ['show', 'story', '--json']]) {
      const words = [process.execPath, MAIN, ...args, '--store', directory]
      const { code, stderr } = await startProgram('sh', ['-c', `"$@" >${FULL}`, 'sh', ...words]).ended
      expect([code, stderr]).toEqual([1, expect.stringContaining('ENOSPC')])
      expect(stderr).not.toMatch(STACK)
    }
  })
})
