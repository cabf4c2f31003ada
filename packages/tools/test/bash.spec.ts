import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { bash } from '../src/index.js'
import { call, eventually, isRunning, refusal, temporaryFolder } from './fixtures/call.js'

afterEach(() => {
  vi.unstubAllEnvs()
})

async function run(command: string, options: object = {}, input: object = {}): Promise<string> {
  return (await call(bash({ root: temporaryFolder(), ...options }), { command, ...input })) as string
}

/** Pids that a command wrote, one a line, once there are `count` of them. */
async function pidsIn(file: string, count: number): Promise<number[]> {
  const read = () => (existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n').filter(Boolean).map(Number) : [])
  await eventually(`${count} pids in the file`, () => read().length >= count)
  return read()
}

describe('what a command gives', () => {
  test('output and exit code', async () => {
    expect(await run('echo hello')).toBe('hello\n[exit code 0]')
    expect(await run('true')).toBe('[exit code 0]')
    expect(await run('printf x; exit 3')).toBe('x\n[exit code 3]')
    expect(await run('no-such-program-here')).toMatch(/not found\n\[exit code 127\]$/)
    expect(await run('echo "unclosed')).toMatch(/\[exit code 2\]$/)
  })

  test('the signal that ended it', async () => {
    expect(await run('kill -SEGV $$')).toBe('[ended by signal SIGSEGV]')
  })

  test('both streams, in the order of writing', async () => {
    const command = 'for i in $(seq 1 300); do echo out$i; echo err$i >&2; done'
    const expected = Array.from({ length: 300 }, (_, i) => `out${i + 1}\nerr${i + 1}\n`).join('')
    expect(await run(command)).toBe(`${expected}[exit code 0]`)
    expect(await run('echo a > /dev/stderr; echo b | tee /dev/stdout >&2')).toBe('a\nb\nb\n[exit code 0]')
  })

  test('runs in the root, with bash, without input or terminal', async () => {
    const root = temporaryFolder()
    const tool = bash({ root })
    expect(
      await call(tool, {
        command:
          'pwd; [[ a == a ]] && echo $0 | grep -c bash; cat; test -t 0 || echo no terminal; read x </dev/tty || true',
      }),
    ).toMatch(new RegExp(`^${root}\n1\nno terminal\n`))
  })

  test('bytes that are not UTF-8 are replaced, escapes and NUL kept', async () => {
    expect(await run("printf 'a\\xff\\xfeb\\0\\033[31m'")).toBe('a\ufffd\ufffdb\0\u001b[31m\n[exit code 0]')
  })

  test('what was written just before the end is there', async () => {
    const text = await run('head -c 200000 /dev/zero | tr "\\0" x; printf END', { maxOutputBytes: 300_000 })
    expect(text).toBe(`${'x'.repeat(200_000)}END\n[exit code 0]`)
  })
})

describe('limits', () => {
  test('head and tail of long output are kept and the rest is counted', async () => {
    const text = await run('seq 1 200000', { maxOutputBytes: 2_000 })
    const whole = Array.from({ length: 200_000 }, (_, i) => `${i + 1}\n`).join('')
    const [head, out, tail] = text.split(/\n\[… (\d+) bytes left out …\]\n/)
    expect(whole.startsWith(head!)).toBe(true)
    expect(`${whole}[exit code 0]`.endsWith(tail!)).toBe(true)
    expect(head!.length + Number(out) + tail!.length - '[exit code 0]'.length).toBe(whole.length)
    expect(head!.length + tail!.length).toBeLessThan(2_100)
  })

  test('a cut splits no character', async () => {
    const text = await run('for i in $(seq 1 2000); do printf 😀; done', { maxOutputBytes: 1_003 })
    expect(text).not.toContain('\ufffd')
    expect(text).toContain('bytes left out')
  })

  test('a flood without end is held to the limits of memory and time', async () => {
    const { code, message } = await refusal(run('yes flood', { maxOutputBytes: 1_000 }, { timeoutSeconds: 2 }))
    expect(code).toBe('COMMAND_TIMED_OUT')
    expect(message.length).toBeLessThan(1_600)
    expect(message).toMatch(/flood\nflood\n[\s\S]*bytes left out/)
  })

  test('the time limit ends the command, with what it wrote in the message', async () => {
    const { code, message } = await refusal(run('echo before; sleep 1000', {}, { timeoutSeconds: 1.5 }))
    expect(code).toBe('COMMAND_TIMED_OUT')
    expect(message).toContain('within 1.5 s')
    expect(message).toContain('before')
  })

  test('a call cannot ask for more than the maximum', async () => {
    expect((await refusal(run('sleep 1000', { maxTimeoutMs: 200 }, { timeoutSeconds: 9_999 }))).code).toBe(
      'COMMAND_TIMED_OUT',
    )
  })

  test('commands that no shell can take are refused', async () => {
    expect((await refusal(run('echo a\0b'))).code).toBe('COMMAND_INVALID')
    expect((await refusal(run(' \n'))).code).toBe('COMMAND_INVALID')
    expect((await refusal(run(`: ${'x'.repeat(200_000)}`))).code).toBe('COMMAND_INVALID')
    expect(await run(`: ${'x'.repeat(131_000)}; echo fits`)).toBe('fits\n[exit code 0]')
  })

  test('a root that has gone is said so', async () => {
    const root = temporaryFolder()
    const tool = bash({ root })
    rmSync(root, { recursive: true })
    expect((await refusal(call(tool, { command: 'true' }))).code).toBe('COMMAND_NOT_STARTED')
  })
})

describe('nothing outlives the call', () => {
  const tree = (file: string) => `
    echo $$ >> ${file}
    (trap '' TERM INT HUP; echo $BASHPID >> ${file}; while :; do sleep 100; done) &
    setsid bash -c 'echo $$ >> ${file}; exec sleep 1000' &
    setsid env -i bash -c 'echo $$ >> ${file}; exec /bin/sleep 1000' &
    (setsid bash -c '(echo $BASHPID >> ${file}; exec sleep 1000 >/dev/null 2>&1) &' &)
    nohup sleep 1000 >/dev/null 2>&1 & echo $! >> ${file}
  `

  test('at the time limit: children that ignore SIGTERM, new sessions, orphans, cleared environments', async () => {
    const root = temporaryFolder()
    const file = join(root, 'pids')
    const outcome = call(bash({ root, killGraceMs: 100 }), { command: `${tree(file)}\nwait`, timeoutSeconds: 3 })
    expect((await refusal(outcome)).code).toBe('COMMAND_TIMED_OUT')
    expect((await pidsIn(file, 1)).filter(isRunning)).toEqual([])
  })

  test('on abort, before the rejection', async () => {
    const root = temporaryFolder()
    const file = join(root, 'pids')
    const controller = new AbortController()
    const reason = new Error('cancelled by the user')
    const outcome = call(bash({ root, killGraceMs: 100 }), { command: `${tree(file)}\nwait` }, controller.signal)
    const caught = outcome.catch((error: unknown) => error)
    const pids = await pidsIn(file, 6)
    controller.abort(reason)
    expect(await caught).toBe(reason)
    expect(pids.filter(isRunning)).toEqual([])
  })

  test('when the command itself has ended: a background child that holds the pipe does not hang the call', async () => {
    const root = temporaryFolder()
    const file = join(root, 'pids')
    const text = await call(bash({ root }), {
      command: `sleep 1000 & echo $! > ${file}; setsid sleep 1000 & echo $! >> ${file}; echo done`,
    })
    expect(text).toBe('done\n[exit code 0]\n[2 background processes were ended with the command]')
    expect((await pidsIn(file, 2)).filter(isRunning)).toEqual([])
  })

  test('a background flood does not hang the call either', async () => {
    expect(await run('yes & echo started; exit 0', { maxOutputBytes: 200 })).toContain(
      '[1 background process was ended with the command]',
    )
  })

  test('a fork tree that goes on forking', async () => {
    const root = temporaryFolder()
    const file = join(root, 'pids')
    writeFileSync(
      join(root, 'fork.sh'),
      `echo $$ >> ${file}\n[ "$1" -gt 0 ] && { bash fork.sh $(($1 - 1)) & bash fork.sh $(($1 - 1)) & }\ntrap '' TERM\nwhile :; do sleep 50; done\n`,
    )
    const controller = new AbortController()
    const caught = call(bash({ root, killGraceMs: 50 }), { command: 'bash fork.sh 4' }, controller.signal).catch(
      () => 'ended',
    )
    await pidsIn(file, 10) // of 31: the others are forking right now
    controller.abort()
    expect(await caught).toBe('ended')
    expect((await pidsIn(file, 10)).filter(isRunning)).toEqual([])
  })

  test('an aborted call starts nothing', async () => {
    const root = temporaryFolder()
    const reason = new Error('stop')
    await expect(call(bash({ root }), { command: 'touch started' }, AbortSignal.abort(reason))).rejects.toBe(reason)
    expect(existsSync(join(root, 'started'))).toBe(false)
  })

  test('a command that obeys SIGTERM may still say so', async () => {
    const command = "trap 'echo cleaned up; exit 0' TERM; while :; do sleep 0.05; done"
    const { message } = await refusal(run(command, { killGraceMs: 5_000 }, { timeoutSeconds: 2 }))
    expect(message).toContain('cleaned up')
  })
})

test('the environment is an allow-list', async () => {
  vi.stubEnv('OPENAI_API_KEY', 'sk-leak')
  vi.stubEnv('ANTHROPIC_API_KEY', 'sk-leak')
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'sk-leak')
  vi.stubEnv('NODE_OPTIONS', '--max-old-space-size=900')
  vi.stubEnv('LD_PRELOAD_LIKE', 'sk-leak')
  vi.stubEnv('BASH_ENV', '/nonexistent/sk-leak')
  vi.stubEnv('LC_ALL', 'C.UTF-8')
  vi.stubEnv('BASH_FUNC_ls%%', '() { echo sk-leak; }')
  const text = await run('env; set', { env: { GIVEN: 'on purpose' } })
  const names = (await run('env', { env: { GIVEN: 'on purpose' } })).split('\n').map(line => line.split('=')[0]!)
  expect(text).not.toContain('sk-leak')
  expect(text).not.toContain('NODE_OPTIONS')
  expect(names).toEqual(expect.arrayContaining(['PATH', 'LC_ALL', 'GIVEN']))
  const allowed =
    /^(PATH|HOME|USER|LOGNAME|SHELL|TERM|COLORTERM|NO_COLOR|LANG|LANGUAGE|TZ|TMPDIR|TMP|TEMP|LC_[A-Z]+|GIVEN|PWD|OLDPWD|SHLVL|_|PALIMPSEST_CALL|\[exit code 0\])$/
  expect(names.filter(name => !allowed.test(name))).toEqual([])
})
