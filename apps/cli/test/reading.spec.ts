import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { SessionEvent } from '@palimpsest/session'
import { describe, expect, it } from 'vitest'
import { jsonLines, palimpsest, temporaryFolder } from './command.js'
import { fillStory, storeWith, text } from './stores.js'

const story = () => storeWith('story', fillStory)

describe('ls', () => {
  it('lists title, turns, events and state; an array under --json', async () => {
    const { directory } = await story()
    const human = await palimpsest(['ls', '--store', directory])
    expect(human).toMatchObject({ code: 0, stderr: '' })
    expect(human.stdout).toMatch(/ID +AGE +TURNS +EVENTS +SIZE +STATE +TITLE\nstory .* 1 +13 .* ok +read the file\n/)
    const json = await palimpsest(['--json', 'ls', '--store', directory])
    expect(JSON.parse(json.stdout)).toMatchObject([
      { id: 'story', turns: 1, openTurn: false, length: 13, title: 'read the file' },
    ])
  })

  it('is an empty list where there is no store yet, and makes none', async () => {
    const state = temporaryFolder()
    const ended = await palimpsest(['ls', '--json'], { env: { XDG_STATE_HOME: state } })
    expect(ended).toMatchObject({ code: 0, stdout: '[]\n', stderr: '' })
    expect(readdirSync(state)).toEqual([])
  })

  it('shows the open turn, however long its tail is', async () => {
    const { directory } = await storeWith('open', session => {
      for (const turn of [1, 2]) {
        session.append('turn/start', { turn })
        session.append('user/message', { turn, message: text('go') }, { surfaceOp: 'append' })
        if (turn === 1) session.append('turn/end', { turn, reason: { kind: 'completed' } })
      }
      for (let i = 0; i < 600; i++)
        session.append('assistant/chunk', { turn: 2, step: 1, chunk: { type: 'text-delta', id: '0', text: 'x' } })
    })
    const { stdout } = await palimpsest(['ls', '--json', '--store', directory])
    expect(JSON.parse(stdout)).toMatchObject([{ id: 'open', turns: 2, openTurn: true }])
  })
})

describe('show', () => {
  it('prints the surface and says what a replacement stands for', async () => {
    const { directory, session } = await story()
    const human = await palimpsest(['show', 'story', '--store', directory])
    expect(human.code).toBe(0)
    expect(human.stdout).toContain('#12 user user/message  in place of 1, 5, 7\n  second summary')
    expect(human.stdout).not.toContain('alpha')
    const json = JSON.parse((await palimpsest(['show', '--json', '--store', directory])).stdout)
    expect(json).toEqual({
      id: 'story',
      length: 13,
      messages: [{ seq: 12, type: 'user/message', shadows: [1, 5, 7], message: session.deriveMessages()[0] }],
    })
  })
})

describe('log', () => {
  it('prints every event on a line, and under --json exactly what is stored', async () => {
    const { directory, file, session } = await story()
    const human = await palimpsest(['log', 'story', '--store', directory])
    expect(human.stdout.split('\n').filter(line => line !== '')).toHaveLength(13)
    const json = await palimpsest(['log', 'story', '--json', '--store', directory])
    const stored = readFileSync(file, 'utf8').split('\n').slice(1, -1)
    expect(json.stdout.split('\n').slice(0, -1)).toEqual(
      stored.map(line => line.replace(/,"crc":"[0-9a-f]{8}"\}$/, '}')),
    )
    expect(jsonLines(json.stdout)).toEqual(session.events)
  })

  it.each<[string[], number[]]>([
    [
      ['--type', 'tool/*'],
      [6, 7],
    ],
    [
      ['--type', 'tool/call,step/end'],
      [6, 8],
    ],
    [
      ['--from', '3', '--to', '5'],
      [3, 4],
    ],
    [['--turn', '1', '--type', '*/message'], []],
    [
      ['--turn', '1', '--from', '7'],
      [7, 8, 9],
    ],
    [['--grep', 'ALPHA'], [7]],
    [['--grep', 'second summary', '--type', 'turn/*'], []],
  ])('filters with %s', async (flags, seqs) => {
    const { directory } = await story()
    const { code, stdout } = await palimpsest(['log', 'story', '--json', '--store', directory, ...flags])
    expect(code).toBe(0)
    expect((jsonLines(stdout) as SessionEvent[]).map(({ seq }) => seq)).toEqual(seqs)
  })
})

describe('at', () => {
  it.each(['5', '1.1'])('prints the request at %s exactly', async position => {
    const { directory, session } = await story()
    const { code, stdout } = await palimpsest(['at', 'story', position, '--json', '--store', directory])
    expect(code).toBe(0)
    expect(stdout).toBe(`${JSON.stringify(session.requestAt(4))}\n`)
  })

  it('prints it readably, of the newest session where no id is given', async () => {
    const { directory } = await story()
    const { stdout } = await palimpsest(['at', '9', '--store', directory])
    for (const part of [
      'the request of the first 9 events',
      'model-a',
      'be brief',
      '→ read (c1) {"path":"a"}',
      'alpha',
    ])
      expect(stdout).toContain(part)
  })
})

describe('explain', () => {
  it.each([
    [12, { state: 'visible', shadows: [1, 5, 7], sources: [1, 5, 7] }],
    [5, { state: 'shadowed', by: 12, since: 12, sources: [4], citedBy: [10, 12] }],
    [10, { state: 'undone', by: 11, citedBy: [11] }],
    [4, { state: 'never', citedBy: [5] }],
  ])('knows where event %i is', async (seq, expected) => {
    const { directory } = await story()
    const json = await palimpsest(['explain', 'story', String(seq), '--json', '--store', directory])
    expect(JSON.parse(json.stdout)).toMatchObject({ id: 'story', seq, ...expected })
    const human = await palimpsest(['explain', String(seq), '--store', directory])
    expect(human.code).toBe(0)
    expect(human.stdout.toLowerCase()).toContain(expected.state)
  })
})

describe('fork and rm', () => {
  it('forks at a place and says how to go on', async () => {
    const { directory } = await story()
    const forked = await palimpsest(['fork', 'sto', '--at', '1.1', '--id', 'child', '--json', '--store', directory])
    expect(forked.code).toBe(0)
    const result = JSON.parse(forked.stdout)
    expect(result).toMatchObject({ id: 'child', parent: { id: 'story', length: 4 } })
    expect(result.repaired.map(({ type }: SessionEvent) => type)).toEqual(['step/end', 'turn/end'])
    const again = await palimpsest(['fork', 'story', '--id', 'child', '--store', directory])
    expect(again).toMatchObject({ code: 3 })
    expect(again.stderr).toContain('SESSION_EXISTS')
  })

  it('removes whole ids only where nobody is asked, and the fork lives on', async () => {
    const { directory } = await story()
    await palimpsest(['fork', 'story', '--id', 'child', '--store', directory])
    const guessed = await palimpsest(['rm', 'sto', '--force', '--store', directory])
    expect(guessed).toMatchObject({ code: 3, stdout: '' })
    const removed = await palimpsest(['rm', 'story', '--force', '--json', '--store', directory])
    expect(removed).toMatchObject({ code: 0, stdout: '{"removed":["story"]}\n' })
    const left = await palimpsest(['log', 'child', '--json', '--store', directory])
    expect(jsonLines(left.stdout)).toHaveLength(13)
  })

  it('reads without writing anything', async () => {
    const { directory } = await story()
    const before = snapshot(directory)
    for (const args of [['ls'], ['show'], ['log'], ['at', 'last', '9'], ['explain', 'last', '1'], ['doctor']])
      await palimpsest([...args, '--store', directory])
    expect(snapshot(directory)).toEqual(before)
  })
})

// --- internal ---

function snapshot(directory: string): [string, string][] {
  return readdirSync(directory)
    .sort()
    .map(name => [name, readFileSync(join(directory, name), 'base64')])
}
