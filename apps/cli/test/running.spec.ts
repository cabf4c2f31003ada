import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { SessionEvent } from '@palimpsest/session'
import { describe, expect, it } from 'vitest'
import { jsonLines, palimpsest, scriptFile, temporaryFolder } from './command.js'

const bash = (command: string) => ({ toolName: 'bash', input: { command } })
const write = (path: string, content: string) => ({ toolName: 'write', input: { path, content } })

/** Runs a script in a folder of its own; `more` runs another command on the same store. */
async function setUp(replies: unknown) {
  const folder = temporaryFolder()
  const common = ['--store', 'store', '--model', `scripted:${scriptFile(folder, replies)}`]
  const more = (...args: string[]) => palimpsest([...args, '--store', 'store'], { cwd: folder })
  const log = async () => jsonLines((await more('log', '--json')).stdout) as SessionEvent[]
  return {
    folder,
    common,
    more,
    log,
    run: (...args: string[]) => palimpsest(['run', ...args, ...common], { cwd: folder }),
  }
}

describe('run', () => {
  it('works with the real tools, streams what happens and names the next commands', async () => {
    const { folder, run, more, log } = await setUp([
      { reasoning: 'hm\nso', text: 'I write.', toolCalls: [write('a.txt', 'one\n'), bash('cat a.txt; exit 3')] },
      { text: 'Done.', usage: { inputTokens: 12, outputTokens: 3 } },
    ])
    const ended = await run('do it', '--allow', 'write,execute', '--id', 'first')
    expect(ended).toMatchObject({ code: 0, stderr: '' })
    expect(readFileSync(join(folder, 'a.txt'), 'utf8')).toBe('one\n')
    for (const part of [
      'thinking: hm\nthinking: so\nI write.\n→ write {"path":"a.txt"',
      '← bash',
      'one … [exit code 3]',
      'Done.',
      '12 tokens in, 3 out',
      'palimpsest resume first',
    ])
      expect(ended.stdout).toContain(part)
    const events = await log()
    expect(events.at(-1)).toMatchObject({ type: 'turn/end', data: { reason: { kind: 'completed' } } })
    expect(JSON.parse((await more('ls', '--json')).stdout)).toMatchObject([{ id: 'first', header: { cwd: folder } }])
    expect((await more('show')).stdout).toContain('  thinking: hm\n  thinking: so\n  I write.')
    expect(await more('doctor')).toMatchObject({ code: 0 })
  })

  it('denies what nobody allowed, and the model reads why', async () => {
    const { folder, run, log } = await setUp([
      { toolCalls: [write('a.txt', 'x'), bash('touch b.txt'), { toolName: 'grep', input: { pattern: 'x' } }] },
      { text: 'Denied.' },
    ])
    const { code, stdout } = await run('do it', '--allow', 'write')
    expect(code).toBe(0)
    expect(stdout).toContain('→ bash {"command":"touch b.txt"}\n← bash TOOL_DENIED')
    expect(stdout.match(/→ /g)).toHaveLength(3)
    expect(existsSync(join(folder, 'a.txt'))).toBe(true)
    expect(existsSync(join(folder, 'b.txt'))).toBe(false)
    const results = (await log()).filter(event => event.type === 'tool/result')
    expect(results.map(({ data }) => data.error?.code)).toEqual([undefined, 'TOOL_DENIED', undefined])
    expect(JSON.stringify(results[1]!.data.message)).toContain('--allow')
  })

  it('names once what is both an effect and a tool', async () => {
    const { run } = await setUp([{ toolCalls: [write('a.txt', 'x'), bash('true')] }, { text: 'Denied.' }])
    const { stdout } = await run('do it')
    expect(stdout).toContain('--allow does not name write.')
    expect(stdout).toContain('--allow names neither execute nor bash.')
  })

  it('allows one tool by name', async () => {
    const { folder, run } = await setUp([{ toolCalls: [bash('touch b.txt'), write('a.txt', 'x')] }, { text: 'Done.' }])
    await run('do it', '--allow', 'bash')
    expect([existsSync(join(folder, 'a.txt')), existsSync(join(folder, 'b.txt'))]).toEqual([false, true])
  })

  it('prints one object under --json, and nothing else', async () => {
    const { run } = await setUp([{ text: 'Hello \u001b[31m' }])
    const { code, stdout, stderr } = await run('hi', '--json', '--id', 'j')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(JSON.parse(stdout)).toMatchObject({
      id: 'j',
      turn: 1,
      reason: { kind: 'completed' },
      text: 'Hello \u001b[31m',
      repaired: [],
      damage: [],
    })
  })

  it('escapes what a model and a tool print', async () => {
    const { run, more } = await setUp([
      {
        text: 'red \u001b[31m \u202e bidi \u0007',
        toolCalls: [{ toolName: 'bash\u001b[2J', input: {} }, bash("printf '\\033]0;title\\007'")],
      },
      {
        chunks: [
          { type: 'text-delta', id: '0', text: 'a\ud83d' },
          { type: 'text-delta', id: '0', text: '\ude00b' },
          { type: 'finish', finishReason: 'stop' },
        ],
      },
    ])
    const { stdout } = await run('ta\u001b[1msk', '--allow', 'execute')
    expect(stdout).toContain('red \\x1b[31m \\u202e bidi \\x07')
    expect(stdout).toContain('a😀b')
    for (const args of [['show'], ['log'], ['ls'], ['at', 'last', '1.2'], ['explain', 'last', '1']]) {
      const human = await more(...args)
      expect(human.code).toBe(0)
      expect(human.stdout + stdout).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202e]/)
    }
  })

  it.each<[string, unknown, string[], number, string]>([
    ['a model that fails', [{ text: 'par', error: { code: 'SERVER_SAD', message: 'no' } }], [], 1, 'SERVER_SAD'],
    ['a used-up script', [], [], 1, 'SCRIPT_EXHAUSTED'],
    ['a limit', [{ toolCalls: [{ toolName: 'grep', input: { pattern: 'x' } }] }], ['--max-steps', '1'], 4, 'max-steps'],
  ])('tells by its exit code how the turn ended: %s', async (_, replies, flags, code, says) => {
    const { run, more } = await setUp(replies)
    const ended = await run('go', ...flags)
    expect(ended.code).toBe(code)
    expect(ended.stdout).toContain(says)
    expect(await more('doctor')).toMatchObject({ code: 0 })
  })

  it('shows a retry', async () => {
    const { run } = await setUp([
      { text: 'half', error: { code: 'BUSY', message: 'later', retryable: true } },
      { text: 'whole' },
    ])
    const { code, stdout } = await run('go')
    expect(code).toBe(0)
    expect(stdout).toContain('half\nthe model failed: BUSY: later\nasking the model again (attempt 2)\nwhole\n')
  })

  it('offers the tools of an MCP server, and asks about those that do not only read', async () => {
    const server = fileURLToPath(new URL('../../../packages/tools/test/fixtures/mcp-server.mjs', import.meta.url))
    const { run, log } = await setUp([
      {
        toolCalls: [
          { toolName: 'echo', input: { text: 'from afar' } },
          { toolName: 'mixed', input: {} },
        ],
      },
      { text: 'ok' },
    ])
    const { code, stdout } = await run('go', '--mcp', `'${process.execPath}' '${server}'`)
    expect(code).toBe(0)
    expect(stdout).toContain('from afar')
    expect(stdout).toContain('← mixed TOOL_DENIED')
    const header = (await log()).find(({ type }) => type === 'request/header') as SessionEvent<'request/header'>
    expect(header.data.tools!.map(({ name }) => name)).toContain('echo')
    const unreachable = await run('go', '--mcp', 'exit 3')
    expect(unreachable).toMatchObject({ code: 3, stdout: '' })
    expect(unreachable.stderr).toContain('MCP_UNREACHABLE')
    expect(unreachable.stderr).toContain('"exit 3"')
  })

  it('reads the task from stdin, and refuses an id that is taken', async () => {
    const { folder, common, more, run } = await setUp([{ text: 'ok' }])
    const ended = await palimpsest(['run', '-', '--id', 'one', ...common], { cwd: folder, input: 'from stdin\n' })
    expect(ended.code).toBe(0)
    expect(ended.stdout).toContain('· 1 step\n')
    expect(JSON.parse((await more('ls', '--json')).stdout)).toMatchObject([{ title: 'from stdin' }])
    expect(await run('again', '--id', 'one')).toMatchObject({ code: 3 })
  })
})

describe('resume', () => {
  it('goes on with model, system text and folder of the session', async () => {
    const { folder, run, more, log } = await setUp([{ text: 'first' }])
    await run('one', '--system', 'be odd')
    const ended = await more('resume', 'last', 'two')
    expect(ended.code).toBe(0)
    const events = await log()
    expect(events.filter(({ type }) => type === 'request/header')).toHaveLength(1)
    expect(events.filter(({ type }) => type === 'turn/end')).toHaveLength(2)
    const request = JSON.parse((await more('at', 'last', '2.1', '--json')).stdout)
    expect(request).toMatchObject({ model: `scripted:${folder}/script.json`, system: 'be odd' })
    expect(request.messages).toHaveLength(3)
  })

  it('says "Continue." after a turn that did not complete, and wants a task after one that did', async () => {
    const { folder, run, more, common } = await setUp([])
    await run('one')
    const other = scriptFile(folder, [{ text: 'better' }], 'other.json')
    const ended = await more('resume', '--model', `scripted:${other}`)
    expect(ended.code).toBe(0)
    expect((await more('show')).stdout).toContain('  Continue.')
    expect(await palimpsest(['resume', ...common], { cwd: folder })).toMatchObject({ code: 2 })
  })
})
