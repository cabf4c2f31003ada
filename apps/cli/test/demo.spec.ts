import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { SessionEvent } from '@palimpsest/session'
import { describe, expect, it } from 'vitest'
import { start, temporaryFolder, until } from './command.js'

interface Report {
  directory: string
  file: string
  repaired: SessionEvent[]
  edit: { isSame: boolean }
}

/** The command lines of all processes that name this folder. */
function processesIn(folder: string): string[] {
  const all = execFileSync('ps', ['-eo', 'args'], { encoding: 'utf8' }).split('\n')
  return all.filter(line => line.includes(folder))
}

/** One that has ended and that nobody has collected yet does not run. */
function isRunning(pid: string): boolean {
  const { stdout } = spawnSync('ps', ['-o', 'stat=', '-p', pid], { encoding: 'utf8' })
  return stdout.trim() !== '' && !stdout.trim().startsWith('Z')
}

/** A place of its own for the folders that the demo leaves. */
const demo = (env = { TMPDIR: temporaryFolder() }) => ({ ...start(['demo', '--json'], { env }), folder: env.TMPDIR })

describe('demo', () => {
  it('works twice at once, without a terminal, and leaves no process behind', async () => {
    const runs = [demo(), demo()]
    for (const { ended, folder } of runs) {
      const { code, stdout, stderr } = await ended
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
      const { directory, file, repaired, edit } = JSON.parse(stdout) as Report
      expect(directory.startsWith(folder)).toBe(true)
      expect(existsSync(file)).toBe(true)
      expect(repaired[0]).toMatchObject({ data: { error: { code: 'TOOL_OUTCOME_UNKNOWN' } } })
      expect(edit.isSame).toBe(true)
      expect(processesIn(folder)).toEqual([])
      const releases = readFileSync(join(dirname(directory), 'project', 'release.log'), 'utf8').match(
        /(?<=process )\d+/g,
      )!
      expect(releases).toHaveLength(2)
      for (const pid of releases) expect(isRunning(pid)).toBe(false)
    }
  })

  it('takes its agent along when it is interrupted', async () => {
    const { child, ended, folder } = demo()
    await until(() => processesIn(folder).some(line => line.includes('agent-process')))
    child.kill('SIGTERM')
    expect(await ended).toMatchObject({ code: 143 })
    await until(() => processesIn(folder).every(line => !line.includes('agent-process')))
  })
})
