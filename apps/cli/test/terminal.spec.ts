import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { SessionEvent } from '@palimpsest/session'
import { describe, expect, it } from 'vitest'
import { jsonLines, MAIN, palimpsest, scriptFile, startProgram, temporaryFolder } from './command.js'

/** Gives its program a pseudo-terminal; util-linux has it on every Linux, others take other options. */
const SCRIPT = 'script'
const hasScript = spawnSync(SCRIPT, ['-qec', 'true', '/dev/null'], { stdio: 'ignore' }).status === 0
if (!hasScript) console.warn('skipped: the terminal tests need the program `script` of util-linux')

const ENTER = '\r'
const ESCAPE = '\u001b'
const CTRL_C = '\u0003'
const CTRL_D = '\u0004'

const calling = (calls: { toolName: string; input: unknown }[]) => calls.map(call => ({ toolCalls: [call] }))

async function onTerminal(replies: unknown[], task = 'go') {
  const folder = temporaryFolder()
  const script = scriptFile(folder, [...replies, { text: 'The end.' }])
  const command = `stty cols 100 rows 40; exec '${process.execPath}' '${MAIN}' run ${task} --model 'scripted:${script}' --store store`
  const terminal = startProgram(SCRIPT, ['-qefc', command, '/dev/null'], { cwd: folder })
  const log = async () => {
    const { stdout } = await palimpsest(['log', '--json', '--store', 'store'], { cwd: folder })
    return jsonLines(stdout) as SessionEvent[]
  }
  const faults = async () =>
    (await log()).flatMap(event => (event.type === 'tool/result' ? [event.data.error?.code ?? 'ran'] : []))
  return { ...terminal, type: (keys: string) => terminal.child.stdin!.write(keys), folder, log, faults }
}

const touch = (name: string) => ({ toolName: 'bash', input: { command: `touch ${name}` } })

describe.skipIf(!hasScript)('the question before a tool writes or executes', () => {
  it('shows what would run; yes runs it once, no denies it', async () => {
    const { folder, type, printed, ended, faults } = await onTerminal(calling([touch('a'), touch('b')]))
    await printed('command: touch a')
    await printed('Run bash? (execute)')
    type(`y${ENTER}`)
    await printed('command: touch b')
    await printed('Run bash? (execute)')
    type(`n${ENTER}`)
    expect((await ended).code).toBe(0)
    expect([existsSync(join(folder, 'a')), existsSync(join(folder, 'b'))]).toEqual([true, false])
    expect(await faults()).toEqual(['ran', 'TOOL_DENIED'])
  })

  it('is not asked again about a tool after "always", but about others', async () => {
    const write = { toolName: 'write', input: { path: 'c', content: 'x\u001b[2J' } }
    const { folder, type, printed, ended, faults } = await onTerminal(calling([touch('a'), touch('b'), write]))
    await printed('command: touch a')
    await printed('Run bash? (execute)')
    type(`A${ENTER}`)
    await printed('content: x\\x1b[2J')
    await printed('Run write? (write)')
    type(`yes${ENTER}`)
    expect((await ended).code).toBe(0)
    expect(existsSync(join(folder, 'b'))).toBe(true)
    expect(await faults()).toEqual(['ran', 'ran', 'ran'])
  })

  it.each([
    ['Enter alone', ENTER],
    ['Escape', ESCAPE],
    ['Ctrl-D', CTRL_D],
  ])('takes %s for a no, and the turn goes on', async (_, key) => {
    const { folder, type, printed, ended, faults } = await onTerminal(calling([touch('a')]))
    await printed('Run bash? (execute)')
    type(key)
    const { code, stdout } = await ended
    expect(code).toBe(0)
    expect(stdout).toContain('The end.')
    expect(stdout).not.toContain('Ctrl-C')
    expect(existsSync(join(folder, 'a'))).toBe(false)
    expect(await faults()).toEqual(['TOOL_DENIED'])
  })

  it('asks again after a word that is no answer', async () => {
    const { folder, type, printed, ended } = await onTerminal(calling([touch('a')]))
    await printed('Run bash? (execute)')
    type(`maybe${ENTER}`)
    await printed('Type y, n or a')
    expect(existsSync(join(folder, 'a'))).toBe(false)
    type(ENTER)
    type(`\u0015y${ENTER}`)
    expect((await ended).code).toBe(0)
    expect(existsSync(join(folder, 'a'))).toBe(true)
  })

  it('takes Ctrl-C as the end of the turn', async () => {
    const { folder, type, printed, ended, log } = await onTerminal(calling([touch('a')]))
    await printed('Run bash? (execute)')
    type(CTRL_C)
    const { code, stdout } = await ended
    expect(code).toBe(130)
    expect(stdout).toContain('palimpsest resume')
    expect(existsSync(join(folder, 'a'))).toBe(false)
    expect((await log()).at(-1)).toMatchObject({ type: 'turn/end', data: { reason: { kind: 'aborted' } } })
  })
})

describe.skipIf(!hasScript)('run without a task', () => {
  it.each([
    ['Ctrl-D', CTRL_D],
    ['Ctrl-C', CTRL_C],
  ])('asks for one after another until %s, and leaves the session closed', async (_, key) => {
    const { folder, type, printed, ended, log } = await onTerminal([{ text: 'One.' }], '')
    await printed('Task')
    type(`first\r`)
    await printed('One.')
    await printed('Task')
    type(`second\r`)
    await printed('The end.')
    await printed('Task')
    type(key)
    const { code, stdout } = await ended
    expect(code).toBe(0)
    expect(stdout).toContain('palimpsest resume')
    expect((await log()).filter(({ type }) => type === 'turn/end')).toHaveLength(2)
    const [id] = /(?<=session )[\w-]+/.exec(stdout)!
    expect(await palimpsest(['rm', id!, '--force', '--store', 'store'], { cwd: folder })).toMatchObject({ code: 0 })
  })
})

describe.skipIf(!hasScript)('rm on a terminal', () => {
  it.each([
    ['Enter', ENTER],
    ['Ctrl-D', CTRL_D],
  ])('asks, and takes %s for no', async (_, key) => {
    const folder = temporaryFolder()
    const model = `scripted:${scriptFile(folder, [{ text: 'hi' }])}`
    await palimpsest(['run', 'go', '--id', 'kept', '--model', model, '--store', 'store'], { cwd: folder })
    const command = `stty cols 100 rows 40; exec '${process.execPath}' '${MAIN}' rm ke --store store`
    const asked = startProgram(SCRIPT, ['-qefc', command, '/dev/null'], { cwd: folder })
    await asked.printed('Remove kept for good?')
    asked.child.stdin!.write(key)
    expect((await asked.ended).code).toBe(3)
    expect(await palimpsest(['show', 'kept', '--store', 'store'], { cwd: folder })).toMatchObject({ code: 0 })
  })
})
