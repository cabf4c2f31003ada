import { chmodSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { MAIN, palimpsest, scriptFile, startProgram, temporaryFolder } from './command.js'

const page = readFileSync(new URL('../../../docs/history.md', import.meta.url), 'utf8')

/** The session that the page speaks of: three turns, two of which read a long file. */
async function buildSession(folder: string, env: Record<string, string>): Promise<void> {
  writeFileSync(join(folder, 'build.log'), 'src/a.ts(3,7): error: expected a semicolon, found a brace\n'.repeat(120))
  writeFileSync(join(folder, 'test.log'), 'ok: every item counts\n'.repeat(120))
  const reading = (path: string, text: string) => [{ toolCalls: [{ toolName: 'read', input: { path } }] }, { text }]
  const turns: [string, unknown[]][] = [
    ['why does the build fail?', reading('build.log', 'A semicolon is missing in src/a.ts, line 3.')],
    ['and the tests?', reading('test.log', 'They pass.')],
    ['mend it', [{ text: 'Mended.' }]],
  ]
  for (const [i, [task, replies]] of turns.entries()) {
    const words = i === 0 ? ['run', task, '--id', 'build'] : ['resume', 'build', task]
    const model = `scripted:${scriptFile(folder, replies, 'model.json')}`
    const ended = await palimpsest([...words, '--model', model, '--system', 'Be brief.'], { cwd: folder, env })
    expect(ended).toMatchObject({ code: 0, stderr: '' })
  }
}

test('docs/history.md prints what the commands print', async () => {
  const folder = temporaryFolder()
  writeFileSync(join(folder, 'palimpsest'), `#!/bin/sh\nexec '${process.execPath}' '${MAIN}' "$@"\n`)
  chmodSync(join(folder, 'palimpsest'), 0o700)
  const env = { XDG_STATE_HOME: join(folder, 'state'), PATH: `${folder}:${process.env.PATH}` }
  await buildSession(folder, env)
  const said = [...page.matchAll(/^```console\n([\s\S]*?)^```$/gm)].map(([, block]) => block!).join('')
  const ran: string[] = []
  for (const [line, command] of said.matchAll(/^\$ (palimpsest .*)$/gm)) {
    const { stdout, stderr } = await startProgram('sh', ['-c', command!], { cwd: folder, env }).ended
    ran.push(line, ...`${stdout}${stderr}`.trimEnd().split('\n'))
  }
  expect(ran.length).toBeGreaterThan(20)
  expect(plain(ran.join('\n'), folder)).toBe(plain(said.trimEnd(), folder))
})

// --- internal ---

/** Without what differs from run to run. */
function plain(text: string, folder: string): string {
  return text
    .replaceAll(folder, '/home/ada')
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME')
    .replace(/ +$/gm, '')
}
