import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { SessionEvent } from '@palimpsest/session'
import { describe, expect, it } from 'vitest'
import { jsonLines, palimpsest, scriptFile, start, temporaryFolder, until } from './command.js'
import { storeWith, text } from './stores.js'

/** The tool leaves its process id behind, so that a test can wait for it and end it. */
const HANG = 'echo $$ > pid.tmp; mv pid.tmp pid; exec sleep 600'

/** A run that hangs in a tool, and what its tool needs to be told. */
async function hanging(command = HANG) {
  const folder = temporaryFolder()
  const model = `scripted:${scriptFile(folder, [{ text: 'I run it.', toolCalls: [{ toolName: 'bash', input: { command } }] }, { text: 'ok' }])}`
  const more = (...args: string[]) => palimpsest([...args, '--store', 'store'], { cwd: folder })
  const log = async () => jsonLines((await more('log', 'held', '--json')).stdout) as SessionEvent[]
  const run = start(['run', 'go', '--id', 'held', '--allow', 'execute', '--model', model, '--store', 'store'], {
    cwd: folder,
  })
  await until(() => existsSync(join(folder, 'pid')) || run.child.exitCode !== null)
  const pid = Number(readFileSync(join(folder, 'pid'), 'utf8'))
  const endTool = () => {
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // It has ended by itself.
    }
  }
  return { folder, model, more, log, run, pid, endTool }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

describe('Ctrl-C', () => {
  it('cancels the turn once: the log is closed, the tool has ended, resume goes on', async () => {
    const { model, more, log, run, pid } = await hanging()
    run.child.kill('SIGINT')
    const ended = await run.ended
    expect(ended.code).toBe(130)
    expect(ended.stderr).toContain('cancelling')
    expect(ended.stdout).toContain('palimpsest resume held')
    await until(() => !isAlive(pid))
    const events = await log()
    expect(events.at(-1)).toMatchObject({ type: 'turn/end', data: { reason: { kind: 'aborted' } } })
    // Which of the two is a question of whether the machine had a second for the tool to end; both are the truth.
    expect(events.find(({ type }) => type === 'tool/result')).toMatchObject({
      data: { error: { code: expect.stringMatching(/^TOOL_(ABORTED|OUTCOME_UNKNOWN)$/) } },
    })
    const resumed = await more('resume', 'held', '--model', model, '--max-steps', '1')
    expect(resumed.code).toBe(4)
  })

  it('quits at once the second time, and what it did not close recovery closes', async () => {
    const { log, run, endTool, more, model } = await hanging(
      `trap '' TERM INT; ${HANG.replace('exec sleep 600', 'while :; do sleep 1; done')}`,
    )
    try {
      run.child.kill('SIGINT')
      run.child.kill('SIGINT')
      const ended = await run.ended
      expect([ended.code, ended.signal]).toEqual([130, null])
      expect((await log()).map(({ type }) => type)).toContain('tool/call')
      expect(await more('resume', 'held', 'go on', '--model', model, '--max-steps', '1')).toMatchObject({ code: 4 })
    } finally {
      endTool()
    }
  })

  it('gives SIGTERM its own exit code', async () => {
    const { run, log } = await hanging()
    run.child.kill('SIGTERM')
    expect(await run.ended).toMatchObject({ code: 143, signal: null })
    expect((await log()).at(-1)).toMatchObject({ type: 'turn/end' })
  })
})

describe('SIGKILL in the middle of a tool', () => {
  it('leaves an open turn; resume says that the outcome is unknown, and goes on', async () => {
    const { folder, more, log, run, endTool } = await hanging()
    run.child.kill('SIGKILL')
    await run.ended
    endTool()
    expect((await log()).at(-1)).toMatchObject({ type: 'tool/call' })
    const doctor = await more('doctor', 'held', '--json')
    expect(doctor.code).toBe(1)
    expect(JSON.parse(doctor.stdout)).toMatchObject({ ok: false, findings: [{ code: 'TURN_OPEN', seq: 0 }] })
    expect((await more('ls')).stdout).toContain('open turn')

    const script = scriptFile(folder, [{ text: 'I look first.' }], 'second.json')
    const resumed = await more('resume', 'held', '--model', `scripted:${script}`)
    expect(resumed.code).toBe(0)
    expect(resumed.stdout).toContain('TOOL_OUTCOME_UNKNOWN')
    expect(resumed.stdout).toContain('I look first.')
    const events = await log()
    const call = events.find(({ type }) => type === 'tool/call')!
    const result = events.find(({ type }) => type === 'tool/result')
    expect(result).toMatchObject({ sourceEventSeqs: [call.seq], data: { synthetic: true } })
    expect(await more('doctor', 'held')).toMatchObject({ code: 0 })
  })
})

describe('a session that somebody holds', () => {
  it('can be read, not resumed and not removed', async () => {
    const { more, run, log, model } = await hanging()
    for (const args of [['show', 'held'], ['ls'], ['at', 'held', '1.1'], ['explain', 'held', '1']])
      expect(await more(...args)).toMatchObject({ code: 0, stderr: '' })
    expect((await log()).at(-1)).toMatchObject({ type: 'tool/call' })
    for (const args of [
      ['resume', 'held', 'hi', '--model', model],
      ['rm', 'held', '--force'],
    ]) {
      const refused = await more(...args)
      expect(refused.code).toBe(3)
      expect(refused.stderr).toContain('SESSION_LOCKED')
      expect(refused.stderr).toContain('palimpsest resume held --takeover --store store')
    }
    run.child.kill('SIGINT')
    expect(await run.ended).toMatchObject({ code: 130 })
  })
})

describe('--takeover', () => {
  it('takes a session from an owner that sleeps; the sleeper is told when it wakes', async () => {
    const { folder, more, run, log, endTool } = await hanging()
    run.child.kill('SIGSTOP')
    try {
      const script = scriptFile(folder, [{ text: 'Mine now.' }], 'second.json')
      const args = ['resume', 'held', '--model', `scripted:${script}`]
      expect(await more(...args)).toMatchObject({ code: 3 })
      const taken = await more(...args, '--takeover')
      expect(taken.code).toBe(0)
      expect(taken.stdout).toContain('TOOL_OUTCOME_UNKNOWN')
    } finally {
      run.child.kill('SIGCONT')
      endTool()
    }
    const ended = await run.ended
    expect(ended.code).toBe(1)
    expect(ended.stderr).toContain('SESSION_FENCED')
    expect((await log()).map(({ type }) => type).filter(type => type === 'turn/end')).toHaveLength(2)
    expect(await more('doctor', 'held')).toMatchObject({ code: 0 })
  })
})

describe('a reader that goes away', () => {
  it('ends the command quietly', async () => {
    const { directory } = await storeWith('long', session => {
      for (let i = 0; i < 20_000; i++)
        session.append('user/message', { message: text(`line ${i} ${'x'.repeat(60)}`) }, { surfaceOp: 'append' })
    })
    const log = start(['log', 'long', '--store', directory])
    log.child.stdout!.once('data', () => log.child.stdout!.destroy())
    expect(await log.ended).toMatchObject({ code: 0, signal: null, stderr: '' })
  })
})
