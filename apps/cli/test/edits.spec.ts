import { join } from 'node:path'
import { openSession } from '@palimpsest/session-persistence'
import { createJsonlBackend } from '@palimpsest/session-persistence-jsonl'
import { describe, expect, it } from 'vitest'
import { palimpsest, scriptFile, temporaryFolder } from './command.js'
import { storeWith, text } from './stores.js'

/** A scripted agent's session with `turns` turns that each read a large file. */
async function worked(turns: number) {
  const folder = temporaryFolder()
  const directory = join(folder, 'store')
  const replies = [{ toolCalls: [{ toolName: 'bash', input: { command: 'seq 2000' } }] }, { text: 'done' }]
  const run = ['--store', directory, '--model', `scripted:${scriptFile(folder, replies)}`, '--allow', 'read,execute']
  const first = await palimpsest(['run', 'count', ...run], { cwd: folder })
  expect(first).toMatchObject({ code: 0 })
  for (let turn = 2; turn <= turns; turn++)
    await palimpsest(['resume', 'last', `count ${turn}`, ...run], { cwd: folder })
  return { directory, store: ['--store', directory] }
}

const json = async (args: string[]) => {
  const ended = await palimpsest([...args, '--json'])
  expect(ended.stderr).toBe('')
  return { code: ended.code, ...JSON.parse(ended.stdout) }
}

describe('edits of a stored session', () => {
  it('prunes, explains, restores; the request of every earlier step stays', async () => {
    const { store } = await worked(5)
    const before = await palimpsest(['at', '3.2', ...store, '--json'])
    const whole = await palimpsest(['show', ...store, '--json'])
    const pruned = await json(['prune', ...store, '--keep-recent', '1'])
    expect(pruned.pruned.length).toBe(4)
    expect(pruned.tokensSaved).toBeGreaterThan(1_000)
    const [{ seq, node }] = pruned.pruned
    expect(await json(['explain', String(seq), ...store])).toMatchObject({ state: 'shadowed', by: node, since: node })
    expect((await palimpsest(['at', '3.2', ...store, '--json'])).stdout).toBe(before.stdout)
    for (const each of pruned.pruned) {
      const restored = await json(['restore', String(each.node), ...store, '--reason', 'needed'])
      expect(restored).toMatchObject({ node: each.node, back: [each.seq] })
    }
    const messages = ({ stdout }: { stdout: string }) =>
      JSON.parse(stdout).messages.map((each: { message: unknown }) => each.message)
    expect(messages(await palimpsest(['show', ...store, '--json']))).toEqual(messages(whole))
    expect(await palimpsest(['prune', ...store, '--keep-recent', '1'])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('Nothing'),
    })
  })

  it('compacts with a model or a given text, and says how to undo it', async () => {
    const { store, directory } = await worked(3)
    const script = scriptFile(temporaryFolder(), [{ text: 'counted twice' }])
    const first = await json(['compact', ...store, '--model', `scripted:${script}`])
    expect(first.shadowed.length).toBeGreaterThan(3)
    const human = await palimpsest(['compact', ...store, '--summary', 'counted', '--keep-recent', '0'])
    expect(human.stdout).toMatch(
      /compacted {2}\d+ messages into event (\d+); undo with palimpsest restore [\w-]+ \1 --store /,
    )
    const backend = createJsonlBackend({ directory })
    const { session, close } = await openSession(backend, (await json(['log', ...store, '--last', '1'])).id ?? first.id)
    expect(session.surface.size).toBe(1)
    await close()
  })

  it('refuses what cannot be edited, in words and codes', async () => {
    const { directory } = await storeWith('small', session => {
      session.append('user/message', { message: text('hello') }, { surfaceOp: 'append' })
    })
    const store = ['--store', directory]
    expect(await palimpsest(['restore', '0', ...store])).toMatchObject({
      code: 3,
      stderr: expect.stringContaining('SURFACE_RESTORE_INVALID'),
    })
    expect(await palimpsest(['compact', ...store, '--summary', 's'])).toMatchObject({
      code: 3,
      stderr: expect.stringContaining('COMPACTION_NOTHING_TO_DO'),
    })
    expect(await palimpsest(['prune', 'nobody', ...store])).toMatchObject({ code: 3 })
  })
})

describe('diff', () => {
  it('tells what changed between two requests, the first divergence marked', async () => {
    const { store } = await worked(3)
    const plain = await json(['diff', '1.1', '2.1', ...store])
    expect(plain.members).toEqual([])
    expect(plain.divergence).toBe(1)
    expect(plain.messages.every(({ kind }: { kind: string }) => kind !== 'removed')).toBe(true)
    await palimpsest(['prune', ...store, '--keep-recent', '0'])
    const human = await palimpsest(['diff', '3.2', '999999', ...store])
    expect(human).toMatchObject({ code: 3, stderr: expect.stringContaining('POSITION_UNKNOWN') })
    const length = (await json(['show', ...store])).length
    const pruned = await palimpsest(['diff', '3.2', String(length), ...store])
    expect(pruned.stdout).toContain('first divergence\n- message 2 (tool)')
    expect(pruned.stdout).toContain('+ message 2 (tool)')
    expect(await palimpsest(['diff', '1.1', 'last@1.1', ...store])).toMatchObject({
      stdout: 'The same request: 1 message.\n',
    })
  })
})

describe('replay', () => {
  it('writes the same log again, also after edits, and up to a place', async () => {
    const { store } = await worked(3)
    await palimpsest(['prune', ...store, '--keep-recent', '0'])
    const { length } = await json(['show', ...store])
    expect(await json(['replay', ...store])).toMatchObject({ code: 0, same: true, length, turns: 3 })
    expect(await json(['replay', ...store, '--until', '2.1'])).toMatchObject({ code: 0, same: true, turns: 2 })
    expect((await palimpsest(['replay', ...store])).stdout).toMatch(
      /^same {2}\d+ events, 3 turns run again; 4 events of others/,
    )
  })
})
