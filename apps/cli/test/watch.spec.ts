import { readFileSync, writeFileSync } from 'node:fs'
import { openSession } from '@palimpsest/session-persistence'
import { createJsonlBackend } from '@palimpsest/session-persistence-jsonl'
import { describe, expect, it } from 'vitest'
import { jsonLines, palimpsest, scriptFile, start, temporaryFolder } from './command.js'
import { fillStory, storeWith } from './stores.js'

const story = () => storeWith('story', fillStory)

describe('watch', () => {
  it('prints the history, a line, and what another process writes, until Ctrl-C', async () => {
    const { directory, session } = await story()
    const model = `scripted:${scriptFile(temporaryFolder(), [{ text: 'Seen from afar.' }])}`
    const human = start(['watch', 'story', '--store', directory])
    const json = start(['watch', 'story', '--json', '--from', '4', '--store', directory])
    await human.printed('— live —\n')
    await json.printed('{"live":true,"length":13}\n')
    const resumed = await palimpsest(['resume', 'story', 'more', '--model', model, '--store', directory])
    expect(resumed.code).toBe(0)
    for (const watch of [human, json]) {
      await watch.printed('Seen from afar.')
      await watch.printed('turn/end')
      watch.child.kill('SIGINT')
    }
    const log = await palimpsest(['log', 'story', '--json', '--from', '4', '--store', directory])
    const ended = await json.ended
    expect(ended).toMatchObject({ code: 130, signal: null, stderr: '' })
    const lines = jsonLines(ended.stdout)
    expect(lines.slice(0, 9)).toEqual(session.slice(4))
    expect(lines[9]).toEqual({ live: true, length: 13 })
    expect([...lines.slice(0, 9), ...lines.slice(10)]).toEqual(jsonLines(log.stdout))
    const { stdout, code } = await human.ended
    expect(code).toBe(130)
    const [history = '', live = ''] = stdout.split('— live —\n')
    expect(history.split('\n')).toHaveLength(14)
    expect(live.split('\n')[0]).toMatch(/^ +13 .* turn\/start/)
  })

  it('goes on over a takeover', async () => {
    const { directory } = await story()
    const [first, second] = [createJsonlBackend({ directory }), createJsonlBackend({ directory })]
    const held = await openSession(first, 'story')
    const watch = start(['watch', 'story', '--json', '--store', directory])
    await watch.printed('"live":true')
    const taken = await openSession(second, 'story', { takeover: true })
    taken.session.append('turn/start', { turn: 7 })
    await taken.flush()
    await watch.printed('"turn":7')
    watch.child.kill('SIGINT')
    expect(jsonLines((await watch.ended).stdout)).toHaveLength(taken.session.length + 1)
    await held.close()
    await taken.close()
  })

  it('ends with a code when its session is removed', async () => {
    const { directory } = await story()
    const watch = start(['watch', 'story', '--store', directory])
    await watch.printed('— live —')
    expect(await palimpsest(['rm', 'story', '--force', '--store', directory])).toMatchObject({ code: 0 })
    const ended = await watch.ended
    expect(ended.code).toBe(3)
    expect(ended.stderr).toContain('SESSION_NOT_FOUND')
  })

  it('ends with a code at a hole, behind what comes before it', async () => {
    const { directory, file } = await story()
    writeFileSync(file, readFileSync(file, 'utf8').replace('"seq":5', '"seq";5'))
    const ended = await palimpsest(['watch', 'story', '--json', '--store', directory])
    expect(ended.code).toBe(1)
    expect(jsonLines(ended.stdout)).toHaveLength(5)
    expect(JSON.parse(ended.stderr)).toMatchObject({ error: { code: 'HISTORY_UNREADABLE' } })
    expect(ended.stderr).toContain('event 5 ')
  })

  it('says what is wrong with the tail, and goes on', async () => {
    const { directory, file } = await story()
    writeFileSync(file, `${readFileSync(file, 'utf8')}{"seq":13,"ty`)
    const watch = start(['watch', 'story', '--json', '--store', directory])
    await watch.printed('"live":true')
    watch.child.kill('SIGTERM')
    const ended = await watch.ended
    expect(ended.code).toBe(143)
    expect(ended.stderr).toContain('RECORD_TORN')
  })

  it.each([
    [['watch', 'nobody'], 3, 'SESSION_NOT_FOUND'],
    [['watch', 'story', '--from', '-1'], 2, 'USAGE'],
  ] as const)('refuses %j', async (args, code, word) => {
    const { directory } = await story()
    const ended = await palimpsest([...args, '--store', directory])
    expect(ended).toMatchObject({ code, stdout: '' })
    expect(ended.stderr).toContain(word)
  })
})
