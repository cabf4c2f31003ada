import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { compact, type EditCost, prune } from '@palimpsest/history'
import { Session } from '@palimpsest/session'
import { openSession } from '@palimpsest/session-persistence'
import { createJsonlBackend } from '@palimpsest/session-persistence-jsonl'
import { describe, expect, it } from 'vitest'
import { assertRestorable } from '../src/restorable.js'
import { jsonLines, palimpsest, scriptFile, temporaryFolder } from './command.js'
import { fillStory, storeWith, text } from './stores.js'

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

  it('says how many messages a signed tool loop keeps beyond what was asked, and restores them as a range', async () => {
    const append = { surfaceOp: 'append' as const }
    const { directory } = await storeWith('loop', session => {
      for (let i = 0; i < 3; i++) session.append('user/message', { message: text('word '.repeat(500)) }, append)
      for (const toolCallId of ['a', 'b']) {
        const signed = { type: 'reasoning', text: 'hm', providerOptions: { anthropic: { signature: 's' } } } as const
        const call = { type: 'tool-call', toolCallId, toolName: 'read', input: {} } as const
        const result = {
          type: 'tool-result',
          toolCallId,
          toolName: 'read',
          output: { type: 'text', value: 'ok' },
        } as const
        const at = { turn: 1, step: 1 }
        const message = { role: 'assistant' as const, content: [signed, call] }
        session.append('assistant/message', { ...at, message, finishReason: 'tool-calls' }, append)
        session.append('tool/result', { ...at, toolCallId, message: { role: 'tool', content: [result] } }, append)
      }
    })
    const store = ['--store', directory]
    const compacted = await palimpsest(['compact', 'loop', '--summary', 'words', ...store])
    expect(compacted.stdout).toMatch(/compacted {2}3 messages into event (\d+)/)
    expect(compacted.stdout).toContain('2 more messages stay than was asked')
    const node = / into event (\d+)/.exec(compacted.stdout)![1]!
    expect((await palimpsest(['restore', 'loop', node, ...store])).stdout).toMatch(
      /restored {2}3 messages, events 0…2, in the place of \d+/,
    )
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
    expect(await palimpsest(['restore', 'x', ...store])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('found "x"'),
    })
  })

  it('names the replacement near a seq that is none', async () => {
    const { session } = await storeWith('story', fillStory)
    const node = 12
    const [startSeq, endSeq] = [session.length, session.length + 1]
    const refused = (seq: number) => {
      try {
        assertRestorable(session, seq, ' --store s')
        return undefined
      } catch (error) {
        return `${(error as { code: string }).code} ${(error as Error).message}`
      }
    }
    expect(refused(node)).toBeUndefined()
    expect(refused(10)).toMatch(/SURFACE_RESTORE_INVALID .*10, which was undone already; palimpsest explain story 10/)
    expect(refused(7)).toMatch(/7 below 12; level by level: palimpsest restore story 12 --store s$/)
    expect(refused(0)).toMatch(/turn\/start, which replaced nothing; palimpsest log story --edits --store s/)
    expect(refused(99)).toMatch(/EVENT_UNKNOWN .*99/)
    const open = Session.create({ header: session.header, seed: session.events })
    const { pruned } = prune(open, { keepRecent: 0, minTokens: 0 })
    expect(pruned).toEqual([])
    const report = await compact(open, {
      range: { start: node, end: node },
      keepUserText: false,
      summarize: async () => 's',
    })
    expect([report.startSeq, report.endSeq]).toEqual([startSeq, endSeq + 1])
    for (const seq of [report.startSeq, report.endSeq]) {
      expect(() => assertRestorable(open, seq, '')).toThrow(`palimpsest restore story ${report.node}`)
    }
  })

  it('tells on stderr what a damaged session still allows, and edits nothing of it', async () => {
    const { directory, file } = await storeWith('holed', fillStory)
    const lines = readFileSync(file, 'utf8').split('\n')
    lines[9] = 'x'
    writeFileSync(file, lines.join('\n'))
    const before = readFileSync(file, 'utf8')
    for (const args of [['prune'], ['restore', '7'], ['compact', '--summary', 's']]) {
      const ended = await palimpsest([...args, '--store', directory])
      expect(ended).toMatchObject({ code: 1, stdout: '' })
      expect(ended.stderr).toMatch(/SESSION_READ_ONLY.*doctor holed --fix.*fork holed --at 8/)
    }
    expect(readFileSync(file, 'utf8')).toBe(before)
    const edits = await palimpsest(['log', '--edits', '--store', directory])
    expect(edits).toMatchObject({ code: 1, stderr: expect.stringContaining('behind the hole at event 8') })
  })
})

describe('log --edits', () => {
  it('lists what was done, undone, failed and never ended, as JSON and for people', async () => {
    const { directory } = await storeWith('story', session => {
      fillStory(session)
      session.append('compaction/start', { start: 12, end: 12, seqs: [12] }) // 13
      const error = { code: 'COMPACTION_SUMMARY_VOID', message: 'empty\u001b[2J' }
      session.append('compaction/end', { start: 13, error })
      session.append('compaction/start', { start: 12, end: 12, seqs: [12] }) // 15
    })
    const store = ['story', '--store', directory]
    const listed = jsonLines((await palimpsest(['log', '--edits', ...store, '--json'])).stdout)
    expect(listed).toMatchObject([
      { kind: 'replace', seq: 10, turn: 1, off: [1, 5, 7], on: [10], undoneBy: [11], countedBy: 'o200k_base' },
      { kind: 'restore', seq: 11, off: [10], on: [1, 5, 7], nodes: [10] },
      { kind: 'replace', seq: 12, off: [1, 5, 7], on: [12] },
      { kind: 'compaction', seq: 13, state: 'failed', off: [], error: { code: 'COMPACTION_SUMMARY_VOID' } },
      { kind: 'compaction', seq: 15, state: 'interrupted', off: [] },
    ])
    const [first, second] = listed as EditCost[]
    expect(first!.tokensSaved).toBe(first!.tokensBefore - first!.tokensAfter)
    expect(second!.tokensSaved).toBe(-first!.tokensSaved)
    const human = await palimpsest(['log', '--edits', ...store])
    expect(human).toMatchObject({ code: 0, stderr: '' })
    expect(human.stdout).toMatch(/^ *SEQ .*\n *10 .*replace .*1…7 \(3\) .*undone by 11\n/)
    expect(human.stdout).toContain('failed, nothing was replaced: COMPACTION_SUMMARY_VOID: empty\\x1b[2J')
    expect(human.stdout).toContain('begun and never ended: nothing was replaced')
    const last = jsonLines((await palimpsest(['log', '--edits', ...store, '--last', '1', '--json'])).stdout)
    expect(last).toEqual(listed.slice(-1))
    expect(await palimpsest(['log', '--edits', ...store, '--grep', 'x'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--grep'),
    })
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
    expect(await palimpsest(['diff', 'last', '1.1', ...store])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('expected two places'),
    })
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
