import { appendFileSync, mkdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import type { SessionEvent } from '@palimpsest/session'
import { describe, expect, it } from 'vitest'
import { jsonLines, palimpsest, temporaryFolder } from './command.js'
import { fillStory, storeWith, text } from './stores.js'

const lines = (file: string) => readFileSync(file, 'utf8').split('\n')

/** A whole line of which all but the checksum is given. */
const sealed = (head: string) => `${head},"crc":"${crc32(head).toString(16).padStart(8, '0')}"}\n`

/** The log with one event's bytes spoilt. */
async function storeWithHole(seq: number) {
  const store = await storeWith('hole', fillStory)
  const all = lines(store.file)
  all[seq + 1] = 'x'.repeat(all[seq + 1]!.length)
  writeFileSync(store.file, all.join('\n'))
  await storeWith('sound', fillStory, store.directory)
  return store
}

describe('a log with a hole', () => {
  it('is listed beside the others, and doctor says where the hole is', async () => {
    const { directory } = await storeWithHole(8)
    const listed = await palimpsest(['ls', '--store', directory])
    expect(listed.code).toBe(0)
    expect(listed.stdout).toMatch(/hole .*damaged/)
    expect(listed.stdout).toMatch(/sound .* ok/)
    const all = await palimpsest(['doctor', '--json', '--store', directory])
    expect(all.code).toBe(1)
    const [hole, sound] = JSON.parse(all.stdout).sort((a: { id: string }, b: { id: string }) => (a.id < b.id ? -1 : 1))
    expect(sound).toMatchObject({ id: 'sound', ok: true, findings: [] })
    expect(hole).toMatchObject({ id: 'hole', ok: false })
    expect(hole.findings.map(({ code }: { code: string }) => code)).toContain('LOG_HOLE')
    expect(hole.findings[0].damage).toMatchObject({ where: { line: 10 }, kept: null })
    const human = await palimpsest(['doctor', 'hole', '--store', directory])
    expect(human.code).toBe(1)
    expect(human.stdout).toMatch(/LOG_HOLE at .*bytes.*doctor hole --fix/)
    expect(human.stdout).not.toContain('resume')
  })

  it('is shown up to there and logged on both sides, with a warning and exit code 1', async () => {
    const { directory } = await storeWithHole(8)
    const log = await palimpsest(['log', 'hole', '--json', '--store', directory])
    expect(log.code).toBe(1)
    expect(log.stderr).toContain('LOG_HOLE')
    expect(jsonLines(log.stdout).map(event => (event as { seq: number }).seq)).toEqual([
      0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12,
    ])
    const human = await palimpsest(['log', 'hole', '--store', directory])
    expect(human.stdout).toContain('-- 8 cannot be read')
    const show = await palimpsest(['show', 'hole', '--store', directory])
    expect(show.code).toBe(1)
    expect(show.stdout).toContain('alpha')
    expect(show.stdout).not.toContain('summary')
  })

  it('is mended into a new session, and its own bytes are left alone', async () => {
    const { directory, file } = await storeWithHole(8)
    const before = readFileSync(file)
    expect((await palimpsest(['doctor', 'hole', '--fix', '--store', directory])).stdout).toContain('  8 is lost (')
    const mended = await palimpsest(['doctor', 'hole', '--fix', '--json', '--store', directory])
    expect(mended.code).toBe(0)
    expect(readFileSync(file)).toEqual(before)
    const { fixed, holes, leftOut } = JSON.parse(mended.stdout)
    expect({ holes, leftOut }).toMatchObject({ holes: [{ from: 8, to: 9, kept: null }], leftOut: [] })
    expect(await palimpsest(['doctor', fixed, '--store', directory])).toMatchObject({ code: 0 })
    const log = jsonLines((await palimpsest(['log', fixed, '--json', '--store', directory])).stdout) as SessionEvent[]
    expect(log[8]).toMatchObject({ type: 'log/lost', data: { from: 8, to: 9 } })
    expect(log.map(({ type }) => type).slice(9)).toEqual([
      'turn/end',
      'user/message',
      'surface/restore',
      'user/message',
    ])
    const surface = await palimpsest(['show', fixed, '--store', directory])
    expect(surface.stdout).toContain('in place of 1, 5, 7\n  second summary')
    expect(await palimpsest(['doctor', 'sound', '--fix', '--store', directory])).toMatchObject({ code: 3 })
    expect(await palimpsest(['doctor', '--fix', '--store', directory])).toMatchObject({ code: 2 })
  })

  it('cannot be resumed, and the way on that is named works', async () => {
    const { directory } = await storeWithHole(8)
    const resumed = await palimpsest(['resume', 'hole', 'go', '--model', 'scripted:x', '--store', directory])
    expect(resumed.code).toBe(1)
    expect(resumed.stderr).toContain('doctor hole --fix')
    expect(resumed.stderr).toContain('fork hole --at 8')
    const forked = await palimpsest(['fork', 'hole', '--at', '8', '--id', 'on', '--store', directory])
    expect(forked.code).toBe(0)
    expect(await palimpsest(['doctor', 'on', '--store', directory])).toMatchObject({ code: 0 })
  })
})

describe('an event of good bytes that no session can hold', () => {
  it('is shown up to there, goes on from there as a fork, and is mended', async () => {
    const { directory, file } = await storeWith('odd', fillStory)
    const all = lines(file)
    const at = all.findIndex(line => line.startsWith('{"seq":3,'))
    const [head] = all[at]!.split(',"crc":')
    all[at] = sealed(head!.replace('"temperature":0', '"temperature":-0')).trimEnd()
    writeFileSync(file, all.join('\n'))
    const bytes = readFileSync(file)

    const show = await palimpsest(['show', 'odd', '--store', directory])
    expect(show).toMatchObject({ code: 1, stderr: expect.stringContaining('RECORD_DAMAGED at seq 3') })
    expect(show.stdout).toContain('read the file')
    const doctor = await palimpsest(['doctor', 'odd', '--store', directory])
    expect(doctor).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/NOT_LOSSLESS_JSON.*event 3.*doctor odd --fix/),
    })
    const fork = await palimpsest(['fork', 'odd', '--at', '3', '--json', '--store', directory])
    expect(fork.code).toBe(0)
    const fixed = await palimpsest(['doctor', 'odd', '--fix', '--json', '--store', directory])
    expect(JSON.parse(fixed.stdout)).toMatchObject({ holes: [{ from: 3, to: 4 }], leftOut: [] })
    expect(readFileSync(file).equals(bytes)).toBe(true)
  })
})

describe('a bad end or beginning', () => {
  it('reports a torn tail, and shows what is whole', async () => {
    const { directory, file } = await storeWith('torn', fillStory)
    appendFileSync(file, '{"seq":13,"time":1')
    expect((await palimpsest(['doctor', 'torn', '--store', directory])).stdout).toContain('RECORD_TORN')
    const log = await palimpsest(['log', 'torn', '--json', '--store', directory])
    expect(log).toMatchObject({ code: 0 })
    expect(log.stderr).toContain('RECORD_TORN')
    expect(jsonLines(log.stdout)).toHaveLength(13)
  })

  it.each([
    ['an empty file', ''],
    ['a file of something else', 'not a session\n'],
    ['a header of another version', sealed('{"version":7,"id":"bad","createdAt":0')],
  ])('lists %s, and names what is wrong', async (_, content) => {
    const { directory, file } = await storeWith('bad', fillStory)
    truncateSync(file)
    writeFileSync(file, content)
    await storeWith('sound', fillStory, directory)
    const listed = await palimpsest(['ls', '--json', '--store', directory])
    expect(listed.code).toBe(0)
    expect(JSON.parse(listed.stdout)).toHaveLength(2)
    expect(await palimpsest(['doctor', 'bad', '--store', directory])).toMatchObject({ code: 1 })
    for (const command of ['show', 'log', 'resume']) {
      const ended = await palimpsest([command, 'bad', '--store', directory])
      expect([1, 3]).toContain(ended.code)
      expect(ended.stderr).toMatch(/^error \w+: /m)
      expect(ended.stderr).not.toMatch(/\n\s+at /)
    }
  })
})

describe('an index beside the log that tells another surface', () => {
  it('is found by its fold, and no trouble once it is removed', async () => {
    const { directory, file } = await storeWith('long', session => {
      fillStory(session)
      session.append('surface/restore', {}, { surfaceOp: { op: 'restore', node: 12 }, sourceEventSeqs: [12] }) // 13
      session.append('turn/start', { turn: 2 })
      session.append('step/start', { turn: 2, step: 1 })
      const chunk = { type: 'text-delta' as const, id: '0', text: 'x'.repeat(60) }
      for (let i = 0; i < 4_200; i++) session.append('assistant/chunk', { turn: 2, step: 1, chunk })
      session.append('step/end', { turn: 2, step: 1 })
      session.append('turn/end', { turn: 2, reason: { kind: 'completed' } })
    })
    const doctor = () => palimpsest(['doctor', 'long', '--json', '--store', directory])
    expect(await doctor()).toMatchObject({ code: 0 })
    const index = file.replace('.jsonl', '.index')
    const [, line] = /^(.*),"crc":"[0-9a-f]{8}"}$/m.exec(readFileSync(index, 'utf8').split('\n')[0]!)!
    // Without the last restore the summary that it took off would still be visible.
    const lying = line!.replace(/,\[13,"surface\/restore".*?\]\]/, '')
    expect(lying).not.toBe(line)
    writeFileSync(index, sealed(lying))
    const found = await doctor()
    expect(found.code).toBe(1)
    expect(JSON.parse(found.stdout).findings).toMatchObject([{ code: 'RELATION_BROKEN', relation: 'surface-folds' }])
    rmSync(index)
    expect(await doctor()).toMatchObject({ code: 0 })
  })
})

describe('doctor on what the kernel does not check', () => {
  it('finds a call without a result, and a result without a call', async () => {
    const { directory } = await storeWith('odd', session => {
      const append = { surfaceOp: 'append' as const }
      session.append('turn/start', { turn: 1 })
      session.append('user/message', { turn: 1, message: text('go') }, append)
      const call = { type: 'tool-call' as const, toolCallId: 'c1', toolName: 'read', input: {} }
      session.append(
        'assistant/message',
        { turn: 1, step: 1, finishReason: 'tool-calls', message: { role: 'assistant', content: [call] } },
        { ...append, sourceEventSeqs: [0] },
      )
      session.append(
        'tool/result',
        { turn: 1, step: 1, toolCallId: 'c2', message: { role: 'tool', content: [] } },
        append,
      )
      session.append('turn/end', { turn: 1, reason: { kind: 'completed' } })
    })
    const { code, stdout } = await palimpsest(['doctor', 'odd', '--json', '--store', directory])
    expect(code).toBe(1)
    const { findings } = JSON.parse(stdout) as { findings: { code: string; relation: string; seqs: number[] }[] }
    expect(new Set(findings.map(each => each.code))).toEqual(new Set(['RELATION_BROKEN']))
    expect(findings.map(({ relation, seqs }) => [relation, seqs])).toEqual([
      ['turns-nest', [2]],
      ['provenance-holds', [2]],
      ['turns-nest', [3]],
      ['calls-pair', [3]],
      ['calls-pair', [2, 4]],
    ])
    const human = await palimpsest(['doctor', 'odd', '--store', directory])
    expect(human.stdout).toMatch(/calls-pair at events 2, 4: expected a result of call "c1".*a provider may refuse/)
  })

  it('looks at the session of a name, also where a folder of that name is at hand', async () => {
    const { directory } = await storeWith('story', fillStory)
    const cwd = temporaryFolder()
    mkdirSync(join(cwd, 'story'))
    const ended = await palimpsest(['doctor', 'story', '--store', directory], { cwd })
    expect(ended).toMatchObject({ code: 0, stdout: 'ok       story  13 events\n' })
  })

  it('shows messages whose parts are anything at all', async () => {
    const parts = [null, 7, 'x', { type: 'text' }, { type: 'tool-result' }, { type: 'file', data: 5 }, [[]]] as never
    const { directory } = await storeWith('wild', session => {
      session.append('user/message', { message: { role: 'user', content: parts } }, { surfaceOp: 'append' })
      session.append('turn/start', {} as never)
      session.append('request/header', { model: 5 } as never)
      session.append('tool/call', { arguments: [] } as never)
    })
    for (const args of [['show'], ['log'], ['ls'], ['explain', 'last', '0'], ['at', 'last', '4']]) {
      const ended = await palimpsest([...args, '--store', directory])
      expect([ended.code, ended.stderr]).toEqual([0, ''])
    }
  })
})
