import { createServer, type Server as HttpServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import type { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import { type Tool, toolOutput } from '@palimpsest/agent-loop'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { connectMcp, type McpConnection, type McpToolsOptions, mcpTools } from '../src/index.js'
import { call, eventually, isRunning, refusal } from './fixtures/call.js'
import { createTestServer } from './fixtures/mcp-server.mjs'

afterEach(() => {
  vi.unstubAllEnvs()
})

const endings: (() => unknown)[] = []
const atTheEnd = (end: () => unknown) => void endings.unshift(end)
afterAll(async () => {
  for (const end of endings) await end()
})

const PROGRAM = fileURLToPath(new URL('./fixtures/mcp-server.mjs', import.meta.url))

async function overStdio(options?: McpToolsOptions, env?: Record<string, string>): Promise<McpConnection> {
  const connection = await connectMcp(
    { command: process.execPath, args: [PROGRAM], ...(env === undefined ? {} : { env }) },
    options,
  )
  atTheEnd(() => connection.close())
  return connection
}

interface Listening {
  url: string
  headers: (string | undefined)[]
  methods: string[]
}

/** A streamable HTTP server with sessions, one MCP server for each. */
async function listen(): Promise<Listening> {
  const seen: Listening = { url: '', headers: [], methods: [] }
  const sessions = new Map<string, StreamableHTTPServerTransport>()
  const http: HttpServer = createServer(async (request, response) => {
    seen.headers.push(request.headers.authorization)
    seen.methods.push(request.method!)
    const id = request.headers['mcp-session-id']
    let transport = typeof id === 'string' ? sessions.get(id) : undefined
    if (transport === undefined) {
      transport = new StreamableHTTPServerTransport({
        sessionIdGenerator: () => `session-${sessions.size + 1}`,
        onsessioninitialized: session => void sessions.set(session, transport!),
      })
      await createTestServer().connect(transport)
    }
    await transport.handleRequest(request, response)
  })
  await new Promise<void>(resolve => http.listen(0, '127.0.0.1', resolve))
  atTheEnd(() => {
    http.closeAllConnections()
    http.close()
  })
  seen.url = `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`
  return seen
}

async function overHttp(options?: McpToolsOptions): Promise<McpConnection> {
  const connection = await connectMcp({ url: (await listen()).url, headers: { authorization: 'Bearer mine' } }, options)
  atTheEnd(() => connection.close())
  return connection
}

function tool(connection: McpConnection, name: string): Tool {
  const found = connection.tools.find(each => each.name === name)
  if (found === undefined) throw new Error(`no tool ${name} among ${connection.tools.map(each => each.name)}`)
  return found
}

describe.each([
  ['stdio', overStdio],
  ['streamable HTTP', overHttp],
])('over %s', (_name, open) => {
  let shared: McpConnection
  beforeAll(async () => {
    shared = await open()
  })
  test('all pages of tools are listed, with names that providers take', async () => {
    const { tools } = shared
    const names = tools.map(each => each.name)
    expect(names).toHaveLength(17)
    expect(new Set(names).size).toBe(17)
    for (const name of names) expect(name).toMatch(/^[A-Za-z_][A-Za-z0-9_-]{0,63}$/)
    expect(names.slice(0, 5)).toEqual(['echo', 'files_list_all', 'files_list_all_2', '_1st', 'x'.repeat(64)])
  })

  test('schemas and descriptions pass through; effects follow the annotations', async () => {
    const connection = shared
    expect(tool(connection, 'echo')).toMatchObject({
      description: 'Says it again.',
      effect: 'read',
      parallelSafe: true,
      inputSchema: {
        type: 'object',
        properties: { text: { type: 'string' } },
        required: ['text'],
        additionalProperties: false,
      },
    })
    expect(tool(connection, 'mixed')).toMatchObject({ effect: 'execute', parallelSafe: false })
    expect(tool(connection, 'hangs')).toMatchObject({ effect: 'execute', parallelSafe: false })
    expect(tool(connection, 'odd-schema')).toMatchObject({
      inputJsonSchema: { properties: { a: { type: 'no-such-type' } } },
    })
  })

  test('answers become outputs', async () => {
    const connection = shared
    const answer = (name: string, input: object = {}) => call(tool(connection, name), input)
    expect(await answer('echo', { text: 'é😀\u2028' })).toBe('é😀\u2028')
    expect(await answer('files_list_all_2')).toBe('called files_list.all')
    expect(await answer('nothing')).toBe('[The tool returned nothing.]')
    expect(await answer('structured')).toEqual(toolOutput({ type: 'json', value: { n: 1 } }))
    expect(await answer('both')).toBe('n is one\n{"n":1}')
    expect(await answer('mixed')).toEqual(
      toolOutput({
        type: 'content',
        value: [
          { type: 'text', text: 'look' },
          { type: 'media', data: 'iVBORw0KGgo=', mediaType: 'image/png' },
          { type: 'media', data: 'AAAA', mediaType: 'audio/wav' },
          { type: 'text', text: '[test://a]\ninner' },
          { type: 'media', data: 'BBBB', mediaType: 'application/pdf' },
          { type: 'text', text: '[c: test://c]' },
        ],
      }),
    )
  })

  test('a text without end is cut', async () => {
    const connection = await open({ maxOutputBytes: 1_000 })
    const text = (await call(tool(connection, 'flood'), {})) as string
    expect(text).toContain('999000 bytes left out')
    expect(text.length).toBeLessThan(1_100)
  })

  test('errors are refusals with the server’s own words', async () => {
    const connection = shared
    expect(await refusal(call(tool(connection, 'fails'), {}))).toEqual({
      code: 'MCP_CALL_FAILED',
      message: 'no such city',
    })
    const thrown = await refusal(call(tool(connection, 'throws'), {}))
    expect(thrown.code).toBe('MCP_CALL_FAILED')
    expect(thrown.message).toContain('broken inside')
  })

  test('an abort reaches the server and rejects with its reason', async () => {
    const connection = shared
    const controller = new AbortController()
    const reason = new Error('cancelled by the user')
    const before = Number(await call(tool(connection, 'cancelled'), {}))
    const outcome = call(tool(connection, 'hangs'), {}, controller.signal)
    const caught = outcome.catch((error: unknown) => error)
    await call(tool(connection, 'echo'), { text: 'the server is up to here' })
    controller.abort(reason)
    expect(await caught).toBe(reason)
    let heard = before
    for (let look = 0; look < 500 && heard === before; look += 1)
      heard = Number(await call(tool(connection, 'cancelled'), {}))
    expect(heard).toBe(before + 1)
    await expect(call(tool(connection, 'echo'), { text: 'x' }, AbortSignal.abort(reason))).rejects.toBe(reason)
  })

  test('the time limit is kept', async () => {
    const hangs = (await mcpTools(shared.client)).findIndex(each => each.name === 'hangs')
    const limited = (await mcpTools(shared.client, { maxTimeoutMs: 300 }))[hangs]!
    const { code, message } = await refusal(call(limited, {}))
    expect(code).toBe('MCP_CALL_FAILED')
    expect(message).toContain('timed out')
  })

  test('after close calls are refused, and closing again is fine', async () => {
    const connection = await open()
    await connection.close()
    await connection.close()
    expect((await refusal(call(tool(connection, 'echo'), { text: 'x' }))).code).toBe('MCP_CALL_FAILED')
  })
})

test('a prefix tells two servers apart', async () => {
  const { tools } = await overStdio({ prefix: 'test__' })
  expect(tools[0]?.name).toBe('test__echo')
})

test('a program gets the allow-listed environment and what is named for it', async () => {
  vi.stubEnv('OPENAI_API_KEY', 'sk-leak')
  vi.stubEnv('NODE_OPTIONS', '--no-warnings')
  const connection = await overStdio({}, { GIVEN: 'on purpose' })
  const text = (await call(tool(connection, 'environment'), {})) as string
  expect(text).not.toContain('sk-leak')
  const names = Object.keys(JSON.parse(text))
  expect(names).toEqual(expect.arrayContaining(['PATH', 'GIVEN']))
  expect(names).not.toContain('NODE_OPTIONS')
})

test('close ends the program and what it started', async () => {
  const connection = await overStdio()
  const child = Number(await call(tool(connection, 'child'), {}))
  const { pid } = connection.client.transport as StdioClientTransport
  expect(isRunning(child)).toBe(true)
  await connection.close()
  expect(isRunning(child)).toBe(false)
  expect(isRunning(pid!)).toBe(false)
})

test('headers are sent, and the session is ended by DELETE', async () => {
  const server = await listen()
  const connection = await connectMcp({ url: server.url, headers: { authorization: 'Bearer mine' } })
  await connection.close()
  expect(new Set(server.headers)).toEqual(new Set(['Bearer mine']))
  await eventually('a DELETE', () => server.methods.includes('DELETE'))
})

test('a server that is not there, ends at once, lists without end, or is no address is refused', async () => {
  const missing = await refusal(connectMcp({ command: 'no-such-program-here' }))
  expect(missing.code).toBe('MCP_UNREACHABLE')
  const ended = await refusal(overStdio({}, { FAIL_WITH: 'no licence \u001b[31m' }))
  expect(ended.code).toBe('MCP_UNREACHABLE')
  expect(ended.message).toContain('no licence \\u001b')
  expect((await refusal(overStdio({}, { ENDLESS: '1' }))).code).toBe('MCP_UNREACHABLE')
  expect((await refusal(connectMcp({ url: 'http://127.0.0.1:1/' }))).code).toBe('MCP_UNREACHABLE')
  for (const url of ['file:///etc/passwd', 'not an address', 'javascript:0']) {
    expect((await refusal(connectMcp({ url }))).code).toBe('MCP_UNREACHABLE')
  }
})
