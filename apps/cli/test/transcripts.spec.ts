import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { brokenSession } from '../../../test/broken-session.js'
import { type Ended, palimpsest, temporaryFolder } from './command.js'

/** A published example of AWS's documentation; it opens nothing. */
const SECRET = 'AKIAIOSFODNN7EXAMPLE'

const call = (id: string, name: string) => ({ id, type: 'function', function: { name, arguments: '{"path":"a"}' } })
const CHAT = [
  { role: 'user', content: 'Read it.' },
  { role: 'assistant', content: null, tool_calls: [call('call_1', 'read'), call('call_2', 'list')] },
  { role: 'tool', tool_call_id: 'call_1', content: `key ${SECRET}` },
  { role: 'user', content: 'And the second?' },
]

let folder: string
let store: string

beforeEach(() => {
  folder = temporaryFolder()
  store = join(folder, 'store')
})

function write(name: string, value: unknown): string {
  const file = join(folder, name)
  writeFileSync(file, typeof value === 'string' ? value : JSON.stringify(value))
  return file
}

function loop(): string {
  const path = join(folder, 'loop')
  if (!readdirSync(folder).includes('loop')) symlinkSync('loop', path)
  return path
}

const run = (...args: string[]) => palimpsest([...args, '--store', store])
const json = ({ stdout }: Ended) => JSON.parse(stdout)
const failure = ({ stderr }: Ended) => JSON.parse(stderr.trim().split('\n').at(-1)!).error

describe('doctor FILE', () => {
  test('tells a person what is wrong, where, and what to run next', async () => {
    const file = write('chat.json', CHAT)
    const { code, stdout, stderr } = await run('doctor', file, '--target', 'openai-chat')
    expect({ code, stderr }).toEqual({ code: 1, stderr: '' })
    expect(stdout).toMatch(/openai-chat/)
    expect(stdout).toMatch(/messages\[1\]\.tool_calls\[1\]; id call_2 {2}\[call\.unanswered\]/)
    expect(stdout).toContain(`palimpsest import ${file}`)
    expect(stdout).not.toContain(SECRET)
  })

  test('prints one JSON document, the same in each run, and writes nothing', async () => {
    const file = write('chat.json', CHAT)
    const before = readFileSync(file)
    const [first, second] = [await run('doctor', file, '--json'), await run('doctor', file, '--json')]
    expect(second).toEqual(first)
    const { format, findings, request, loss, appended } = json(first)
    expect({ format, target: request.target }).toEqual({ format: 'openai-chat', target: 'openai-chat' })
    expect(findings.map((finding: { code: string }) => finding.code)).toContain('secret.found')
    expect([loss, appended].every(Array.isArray)).toBe(true)
    expect(readFileSync(file)).toEqual(before)
    expect(readdirSync(folder)).toEqual(['chat.json'])
  })

  test('leaves thinking off where the request it was given says so', async () => {
    const messages = [
      { role: 'user', content: 'Read it.' },
      { role: 'assistant', content: null, tool_calls: [call('call_1', 'read')] },
      { role: 'tool', tool_call_id: 'call_1', content: 'text' },
    ]
    const asked = write('asked.json', { model: 'deepseek-reasoner', messages })
    const first = await run('doctor', asked, '--target', 'deepseek', '--json')
    const { target: _, ...body } = json(first).request
    const again = await run('doctor', write('healed.json', body), '--target', 'deepseek', '--json')
    expect([first.code, again.code]).toEqual([1, 0])
    expect(json(again).request).toEqual(json(first).request)
    expect(json(again).request.thinking).toEqual({ type: 'disabled' })
  })

  test('knows of a log with starts which calls of a turn that ended had begun', async () => {
    const turn = { turn: 1, step: 1 }
    const calls = ['a', 'b'].map(id => ({ type: 'tool-call', id, name: 'run', arguments: '{}' }))
    const said = (role: string, content: object[]) => ({ id: role, role, content })
    const events = [
      { type: 'turn/start', data: { turn: 1 } },
      { type: 'user/message', data: said('user', [{ type: 'text', text: 'Go.' }]), surfaceOp: 'append' },
      { type: 'assistant/message', data: { ...turn, message: said('assistant', calls) }, surfaceOp: 'append' },
      { type: 'tool/call', data: { ...turn, callId: 'b', name: 'run', arguments: '{}' } },
      { type: 'turn/end', data: { turn: 1, reason: { kind: 'interrupted' } } },
    ].map((event, seq) => ({ seq, time: 1000 + seq, ...event }))
    const lines = [{ type: 'session', version: 0, id: 's', createdAt: 1000 }, ...events]
    const file = write('log.jsonl', `${lines.map(line => JSON.stringify(line)).join('\n')}\n`)
    const { findings } = json(await run('doctor', file, '--target', 'openai-chat', '--json'))
    expect(findings).toEqual([
      { code: 'call.not-started', severity: 'error', where: 'line 4', id: 'a' },
      { code: 'call.outcome-unknown', severity: 'error', where: 'line 5', id: 'b' },
    ])
  })

  test('finds a secret by place and kind, and takes it out with --redact', async () => {
    const file = write('chat.json', CHAT)
    const plain = json(await run('doctor', file, '--target', 'openai-chat', '--json'))
    expect(plain.findings).toContainEqual({
      code: 'secret.found',
      severity: 'warning',
      where: 'messages[2]',
      path: '/content',
      kind: 'aws-access-key-id',
    })
    expect(JSON.stringify(plain.findings)).not.toContain(SECRET)
    expect(JSON.stringify(plain.request)).toContain(SECRET)
    const { stdout } = await run('doctor', file, '--target', 'openai-chat', '--json', '--redact')
    expect(stdout).not.toContain(SECRET)
    expect(stdout).toContain('key [redacted:aws-access-key-id]')
  })

  test.each([
    ['', 1, 'file.empty'],
    ['\ufeff \n\n', 1, 'file.empty'],
    ['\0'.repeat(8), 1, 'file.nul-run'],
    ['what is this\n', 2, 'format.unknown'],
    ['{"a":1}\n', 2, 'format.unknown'],
  ])('of %j has no request', async (text, code, finding) => {
    const ended = await run('doctor', write('odd.json', text), '--json')
    expect(ended.code).toBe(code)
    expect(json(ended)).toMatchObject({ request: null, findings: [{ code: finding }] })
  })

  test.each([
    [['--target', 'gpt'], 'USAGE'],
    [['--format', 'word'], 'USAGE'],
    [['--thinking', 'maybe'], 'USAGE'],
    [['--conversation', '-1'], 'USAGE'],
  ])('refuses %j', async (args, code) => {
    const ended = await run('doctor', write('chat.json', CHAT), ...args, '--json')
    expect({ code: ended.code, error: failure(ended).code }).toEqual({ code: 2, error: code })
  })

  test.each([
    ['a path below a file', (file: string) => `${file}/x`],
    ['a name that is too long', () => join(folder, 'x'.repeat(300))],
    ['a link to itself', () => loop()],
  ])('of %s says what is wrong with it, and hinders no other file', async (_, pathOf) => {
    const file = write('chat.json', CHAT)
    const path = pathOf(file)
    for (const command of ['doctor', 'export']) {
      const ended = await run(command, path, '--json', ...(command === 'export' ? ['--to', 'openai-chat'] : []))
      expect(failure(ended).code).toMatch(/^TRANSCRIPT_(NOT_FOUND|UNREADABLE)$/)
    }
    const imported = json(await run('import', path, file, '--json'))
    expect(imported[0].error.code).toMatch(/^TRANSCRIPT_(NOT_FOUND|UNREADABLE)$/)
    expect(imported[1]).toHaveProperty('id')
    expect(failure(await palimpsest(['ls', '--json', '--store', loop()])).code).toBe('STORE_INVALID')
  })

  test.each(['export', 'doctor'])('%s: a place that nothing can be written to is named', async command => {
    const file = write('s.jsonl', brokenSession())
    const given = command === 'export' ? ['--to', 'openai-chat'] : ['--fix']
    const ended = await run(command, file, ...given, '--out', join(folder, 'none', 'x'), '--json')
    expect([ended.code, failure(ended).code]).toEqual([3, 'FILE_NOT_WRITTEN'])
  })

  test('of a file that is not there says so', async () => {
    const ended = await run('doctor', join(folder, 'none.jsonl'), '--json')
    expect({ code: ended.code, error: failure(ended).code }).toEqual({ code: 3, error: 'TRANSCRIPT_NOT_FOUND' })
  })

  test('of a folder looks into each transcript, and leaves other files alone', async () => {
    mkdirSync(join(folder, 'deep'))
    write('deep/broken.json', CHAT)
    write('good.json', CHAT.slice(0, 1))
    write('notes.json', { a: 1 })
    write('read.me', 'text')
    const ended = await run('doctor', folder, '--json')
    expect(ended.code).toBe(1)
    expect(
      json(ended).map(({ path, problems }: { path: string; problems: object }) => [path, Object.keys(problems)]),
    ).toEqual([
      [join(folder, 'deep/broken.json'), ['call.unanswered', 'secret.found']],
      [join(folder, 'good.json'), []],
    ])
  })

  test('--scan looks where agents keep their sessions', async () => {
    const projects = join(folder, '.claude', 'projects', 'p')
    mkdirSync(projects, { recursive: true })
    writeFileSync(join(projects, 'a.json'), JSON.stringify(CHAT))
    const ended = await palimpsest(['doctor', '--scan', '--json', '--store', store], { env: { HOME: folder } })
    expect(json(ended)).toMatchObject([{ agent: 'Claude Code', path: join(projects, 'a.json'), format: 'openai-chat' }])
  })

  test('--fix writes a mended copy that needs no more, without secrets if asked, and never over a file', async () => {
    const row = (id: string, parentId: string | null, message: object) =>
      JSON.stringify({ type: 'message', id, parentId, timestamp: '2026-01-05T09:00:01.000Z', message })
    const toolCall = { type: 'toolCall', id: 'c1', name: 'read', arguments: { path: SECRET } }
    const head = { type: 'session', version: 3, id: 's1', timestamp: '2026-01-05T09:00:00.000Z', cwd: '/p' }
    const file = write(
      'pi.jsonl',
      `${JSON.stringify(head)}
${row('a1', null, { role: 'user', content: 'Read it.' })}
${row('a2', 'a1', { role: 'assistant', content: [{ type: 'thinking', thinking: 'hm' }, toolCall], api: 'anthropic-messages', provider: 'anthropic', model: 'claude-opus-4-5', stopReason: 'toolUse' })}
${row('a3', 'a2', { role: 'user', content: 'And?' })}
`,
    )
    const before = readFileSync(file)
    expect((await run('doctor', file)).code).toBe(1)
    const fixed = json(await run('doctor', file, '--fix', '--redact', '--json'))
    expect(fixed).toMatchObject({ format: 'pi', file: join(folder, 'pi.mended.jsonl') })
    expect((await run('doctor', fixed.file)).code).toBe(0)
    expect(readFileSync(fixed.file, 'utf8')).not.toContain(SECRET)
    expect(readFileSync(file)).toEqual(before)
    expect(failure(await run('doctor', file, '--fix', '--json')).code).toBe('FILE_EXISTS')
    expect(failure(await run('export', 'last', '--to', 'palimpsest', '--redact', '--out', 'x', '--json')).code).toBe(
      'USAGE',
    )
  })

  test.each([
    ['--scan', '--fix'],
    ['--target', 'anthropic'],
  ])('refuses %s %s without a path, and what else it would ignore', async (...args) => {
    const ended = await run('doctor', ...args, '--json')
    expect({ code: ended.code, error: failure(ended).code }).toEqual({ code: 2, error: 'USAGE' })
    expect(failure(await run('doctor', folder, '--fix', '--json')).code).toBe('USAGE')
  })

  test('--fix of what no agent can take back names what can be done', async () => {
    const ended = await run('doctor', write('chat.json', CHAT), '--fix', '--json')
    expect({ code: ended.code, error: failure(ended).code }).toEqual({ code: 3, error: 'FORMAT_NOT_WRITTEN' })
  })
})

describe('import', () => {
  test('makes a session of a transcript, which resumes and shows what was said', async () => {
    const file = write('chat.json', CHAT)
    const before = readFileSync(file)
    const [{ id, length, isKnown }] = json(await run('import', file, '--json'))
    expect(isKnown).toBe(false)
    expect(length).toBeGreaterThan(CHAT.length)
    expect(readFileSync(file)).toEqual(before)
    expect((await run('show', id)).stdout).toContain('And the second?')
    const ls = json(await run('ls', '--json'))
    expect(ls[0].header.importedFrom).toMatchObject({ format: 'openai-chat' })
    // The same request as of the file, but for the words with which the open call is answered.
    const ofFile = json(await run('doctor', file, '--target', 'openai-chat', '--json'))
    const ofSession = json(await run('doctor', id, '--target', 'openai-chat', '--json'))
    const shape = ({ request }: { request: { messages: { role: string; tool_call_id?: string }[] } }) =>
      request.messages.map(({ role, tool_call_id }) => [role, tool_call_id])
    expect(shape(ofSession)).toEqual(shape(ofFile))
  })

  test('of the same file again changes nothing; of one that has grown makes another session', async () => {
    const file = write('chat.json', { id: 'x', messages: CHAT })
    const [{ id }] = json(await run('import', file, '--json'))
    expect(json(await run('import', file, '--json'))).toMatchObject([{ id, isKnown: true }])
    expect(json(await run('ls', '--json'))).toHaveLength(1)
    const pi = (
      text: string,
    ) => `{"type":"session","version":3,"id":"s1","timestamp":"2026-01-05T09:00:00.000Z","cwd":"/p"}
{"type":"message","id":"a1","parentId":null,"timestamp":"2026-01-05T09:00:01.000Z","message":{"role":"user","content":"${text}"}}
`
    const ids = []
    for (const text of ['one', 'two', 'one', 'two'])
      ids.push(json(await run('import', write('s.jsonl', pi(text)), '--json'))[0].id)
    expect(ids[0]).toBe('s1')
    expect(ids[1]).toMatch(/^s1-[0-9a-f]{8}$/)
    expect(ids.slice(2)).toEqual(ids.slice(0, 2))
  })

  test('of a folder goes on behind what fails, and says how many', async () => {
    write('a.json', CHAT)
    write('b.json', CHAT.slice(0, 1))
    write('c.json', '{"no": "transcript"}')
    const { code, stdout } = await run('import', folder)
    expect(code).toBe(0)
    expect(stdout).toMatch(/\[1\/2\].*a\.json[\s\S]*\[2\/2\].*b\.json[\s\S]*2 imported, 0 known already, 0 failed/)
    const broken = await run('import', join(folder, 'c.json'), join(folder, 'a.json'), '--json')
    expect(broken.code).toBe(1)
    expect(json(broken)).toMatchObject([{ error: { code: 'FORMAT_UNKNOWN' } }, { isKnown: true }])
  })

  test('of a file with several conversations makes a session of each', async () => {
    const file = write('runs.json', [{ traj: CHAT }, { traj: CHAT.slice(0, 1) }])
    expect(json(await run('import', file, '--json'))).toHaveLength(2)
    expect(json(await run('import', file, '--conversation', '1', '--json'))).toMatchObject([{ isKnown: true }])
  })
})

describe('export', () => {
  test('writes a body that its provider accepts, of a file and of a session alike', async () => {
    const file = write('chat.json', CHAT)
    const [{ id }] = json(await run('import', file, '--json'))
    for (const format of [
      'anthropic-messages',
      'openai-chat',
      'openai-responses',
      'gemini-contents',
      'ai-sdk-messages',
    ]) {
      const [ofFile, ofSession] = [await run('export', file, '--to', format), await run('export', id, '--to', format)]
      expect(ofFile.code).toBe(0)
      expect(ofSession.stdout).toBe(ofFile.stdout)
      expect(JSON.parse(ofFile.stdout)).toBeTruthy()
    }
  })

  test('--redact keeps secrets out of the file', async () => {
    const { stdout } = await run('export', write('chat.json', CHAT), '--to', 'openai-chat', '--redact')
    expect(stdout).toContain('[redacted:aws-access-key-id]')
    expect(stdout).not.toContain(SECRET)
  })

  test('writes into a new file only', async () => {
    const file = write('chat.json', CHAT)
    const target = join(folder, 'out.json')
    expect((await run('export', file, '--to', 'openai-chat', '--out', target)).code).toBe(0)
    const before = readFileSync(target)
    const again = await run('export', file, '--to', 'openai-chat', '--out', target, '--json')
    expect({ code: again.code, error: failure(again).code }).toEqual({ code: 3, error: 'FILE_EXISTS' })
    expect(readFileSync(target)).toEqual(before)
  })

  test.each(['jsonl', 'sqlite'])('--to palimpsest copies a session into another store (%s)', async kind => {
    const [{ id }] = json(await run('import', write('chat.json', CHAT), '--json'))
    const other = `${kind}:${join(folder, 'other')}`
    expect((await run('export', id, '--to', 'palimpsest', '--out', other)).code).toBe(0)
    const [here, there] = [await run('log', id, '--json'), await palimpsest(['log', id, '--json', '--store', other])]
    expect(there.stdout).toBe(here.stdout)
    const again = await run('export', id, '--to', 'palimpsest', '--out', other, '--json')
    expect(failure(again).code).toBe('SESSION_EXISTS')
  })

  test.each([
    [['--to', 'word'], 'USAGE'],
    [['--to', 'palimpsest'], 'USAGE'],
    [[], 'USAGE'],
  ])('refuses %j', async (args, code) => {
    const ended = await run('export', write('chat.json', CHAT), ...args, '--json')
    expect({ code: ended.code, error: failure(ended).code }).toEqual({ code: 2, error: code })
  })
})
