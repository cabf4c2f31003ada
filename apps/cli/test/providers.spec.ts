import { writeFileSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { palimpsest, temporaryFolder } from './command.js'

interface Asked {
  url: string
  headers: IncomingHttpHeaders
  body: { [member: string]: unknown }
}

const closers: (() => void)[] = []
afterEach(() => {
  for (const close of closers.splice(0)) close()
})

/** A server that answers the n-th request with the n-th list of server-sent events; a number is a status. */
async function serve(answers: (unknown[] | number)[]) {
  const asked: Asked[] = []
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const piece of request) body += piece
    const answer = answers[asked.push({ url: request.url!, headers: request.headers, body: JSON.parse(body) }) - 1]!
    if (typeof answer === 'number')
      return response.writeHead(answer, { 'retry-after-ms': '1' }).end('{"error":{"message":"sad"}}')
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const event of answer) {
      const { type } = event as { type?: string }
      response.write(`${type === undefined ? '' : `event: ${type}\n`}data: ${JSON.stringify(event)}\n\n`)
    }
    response.end('data: [DONE]\n\n')
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  closers.push(() => {
    server.closeAllConnections()
    server.close()
  })
  return { asked, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

const openAi = (delta: object, finish: string | null = null) => ({
  id: 'x',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'm',
  choices: [{ index: 0, delta, finish_reason: finish }],
})
const call = {
  index: 0,
  id: 'c1',
  type: 'function',
  function: { name: 'bash', arguments: '{"command": "echo made > a.txt; cat a.txt"}' },
}

describe('an OpenAI-compatible server', () => {
  it('gets the real history, its retries are shown, and resume needs no more than the environment', async () => {
    const cwd = temporaryFolder()
    const { asked, url } = await serve([
      429,
      [openAi({ role: 'assistant', content: 'I make it. ' }), openAi({ tool_calls: [call] }), openAi({}, 'tool_calls')],
      [openAi({ role: 'assistant', content: 'Made.' }), openAi({}, 'stop')],
      [openAi({ role: 'assistant', content: 'Again.' }), openAi({}, 'stop')],
    ])
    const store = ['--store', join(cwd, 'store')]
    const flags = ['--base-url', `${url}/v1`, '--model', 'small', '--allow', 'execute', '--system', 'be brief']
    const ran = await palimpsest(['run', 'make it', ...flags, ...store], { cwd, env: { OPENAI_API_KEY: 'sk-secret' } })
    expect(ran.code).toBe(0)
    expect(ran.stdout).toContain('asking the model again (attempt 2)')
    expect(ran.stdout).toContain('← bash')
    expect(ran.stdout).toContain('Made.')

    const env = { OPENAI_BASE_URL: `${url}/v1`, OPENAI_API_KEY: 'sk-secret' }
    const resumed = await palimpsest(['resume', 'last', 'again', ...store], { cwd, env })
    expect(resumed.code).toBe(0)
    expect(asked.map(({ url }) => url)).toEqual(Array(4).fill('/v1/chat/completions'))
    expect(asked.at(-1)!.headers.authorization).toBe('Bearer sk-secret')
    expect(asked.at(-1)!.body).toMatchObject({
      model: 'small',
      stream: true,
      stream_options: { include_usage: true },
    })
    expect((asked.at(-1)!.body.messages as { role: string }[]).map(({ role }) => role)).toEqual([
      'system',
      'user',
      'assistant',
      'tool',
      'assistant',
      'user',
    ])
    const sent = asked[2]!.body.messages as { tool_calls?: { function: { arguments: string } }[]; content: string }[]
    expect(sent[2]!.tool_calls![0]!.function.arguments).toBe(call.function.arguments)
    expect(sent[3]!.content).toContain('made')
    const log = await palimpsest(['log', 'last', '--json', ...store])
    expect(log.stdout).not.toContain('sk-secret')
  })

  it('that refuses ends the turn with error and exit code 1', async () => {
    const cwd = temporaryFolder()
    const { url } = await serve([401])
    const ended = await palimpsest(['run', 'x', '--base-url', url, '--model', 'm', '--store', 'store'], { cwd })
    expect(ended.code).toBe(1)
    expect(ended.stdout).toContain('MODEL_HTTP_ERROR')
  })
})

describe('Anthropic', () => {
  const hello = [
    {
      type: 'message_start',
      message: {
        id: 'm',
        type: 'message',
        role: 'assistant',
        model: 'claude-x',
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage: { input_tokens: 5, output_tokens: 1 },
      },
    },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hello' } },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { output_tokens: 2 } },
    { type: 'message_stop' },
  ]

  it('always gets a limit, the key and the version in the path', async () => {
    const cwd = temporaryFolder()
    const { asked, url } = await serve([hello, hello, hello])
    const env = { ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: 'key', PALIMPSEST_MODEL: 'claude-x' }
    const ended = await palimpsest(['run', 'hi', '--store', 'store'], { cwd, env })
    expect(ended.code).toBe(0)
    expect(ended.stdout).toContain('Hello')
    expect(asked).toMatchObject([
      { url: '/v1/messages', headers: { 'x-api-key': 'key' }, body: { model: 'claude-x', max_tokens: 8192 } },
    ])
    const limits = async (...args: string[]) => {
      await palimpsest([...args, '--store', 'store'], { cwd, env })
      return asked.at(-1)!.body.max_tokens
    }
    expect(await limits('run', 'hi', '--max-output-tokens', '99')).toBe(99)
    expect(await limits('resume', 'last', 'again')).toBe(99)
  })

  it('takes a session that its agent cannot resume, imported and gone on with', async () => {
    const cwd = temporaryFolder()
    const { asked, url } = await serve([hello])
    const chat = [
      { role: 'user', content: 'Read it.' },
      { role: 'tool', tool_call_id: 'gone', content: 'a result without its call' },
      { role: 'assistant', content: ' ', tool_calls: [{ ...call, id: 'call:1' }] },
      { role: 'user', content: 'Are you there?' },
      { role: 'assistant', content: null, tool_calls: [{ ...call, id: 'call:1' }] },
    ]
    writeFileSync(join(cwd, 'broken.json'), JSON.stringify(chat))
    expect((await palimpsest(['import', 'broken.json', '--store', 'store'], { cwd })).code).toBe(0)
    const env = { ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: 'key' }
    const flags = ['--model', 'anthropic:claude-x', '--store', 'store']
    expect((await palimpsest(['resume', 'last', 'Go on.', ...flags], { cwd, env })).stdout).toContain('Hello')
    const messages = asked[0]!.body.messages as {
      role: string
      content: { type: string; id?: string; tool_use_id?: string }[]
    }[]
    expect(messages.map(({ role, content }) => [role, ...content.map(({ type }) => type)])).toEqual([
      ['user', 'text'],
      ['assistant', 'tool_use'],
      ['user', 'tool_result', 'text'],
      ['assistant', 'tool_use'],
      ['user', 'tool_result', 'text'],
    ])
    const ids = messages.flatMap(({ content }) => content.flatMap(({ id }) => id ?? []))
    expect(new Set(ids).size).toBe(2)
    for (const id of ids) expect(id).toMatch(/^[A-Za-z0-9_-]+$/)
    // What was asked is a function of the log and the rules that its header names.
    const log = (await palimpsest(['log', 'last', '--json', '--store', 'store'], { cwd })).stdout
    expect(log).toContain('"rules":{"target":"anthropic","version":"1"}')
    const replayed = await palimpsest(['replay', 'last', '--store', 'store'], { cwd })
    expect(replayed).toMatchObject({ code: 0 })
  })
})
