import { randomBytes } from 'node:crypto'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import type { Tool } from '@palimpsest/agent-loop'
import { childEnvironment } from './environment.js'
import { quote, ToolError } from './errors.js'
import { type McpToolsOptions, mcpTools } from './mcp.js'
import { OutputWindow } from './output-window.js'
import { endTree } from './process-tree.js'

/** A program that speaks MCP on stdin and stdout, or the address of a streamable HTTP server. Errors call a program by `name`, default `command`. */
export type McpServer =
  | { command: string; args?: readonly string[]; env?: Readonly<Record<string, string>>; cwd?: string; name?: string }
  | { url: string | URL; headers?: Readonly<Record<string, string>> }

export interface McpConnection {
  readonly client: Client
  readonly tools: readonly Tool[]
  /** Ends the session; a program that was started is ended with its children. Never rejects; calling twice is fine. */
  close(): Promise<void>
}

/**
 * Connects, lists the tools, and owns what it started. A program gets the allow-listed environment and `env`, nothing
 * else. Rejects with `MCP_UNREACHABLE` (and leaves nothing running) where no session comes about.
 */
export async function connectMcp(server: McpServer, options: McpToolsOptions = {}): Promise<McpConnection> {
  const link = 'command' in server ? startProgram(server) : openAddress(server)
  const client = new Client({ name: 'palimpsest', version: '0.1.0' })
  let closing: Promise<void> | undefined
  const close = () => {
    closing ??= link.close(client)
    return closing
  }
  try {
    await client.connect(link.transport, { timeout: options.timeoutMs ?? CONNECT_MS })
    return { client, tools: await mcpTools(client, options), close }
  } catch (cause) {
    await close()
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new ToolError(
      'MCP_UNREACHABLE',
      `No session with the MCP server ${link.name}: ${reason}.${link.said()} Check how it is started or addressed.`,
      { cause },
    )
  }
}

// --- internal ---

const CONNECT_MS = 30_000
const GRACE_MS = 500
const STDERR_BYTES = 2_048

interface Link {
  readonly name: string
  readonly transport: Transport
  said(): string
  close(client: Client): Promise<void>
}

function startProgram(server: Extract<McpServer, { command: string }>): Link {
  const mark = randomBytes(12).toString('hex')
  const transport = new StdioClientTransport({
    command: server.command,
    args: [...(server.args ?? [])],
    env: { ...childEnvironment(server.env), PALIMPSEST_CALL: mark },
    stderr: 'pipe',
    ...(server.cwd === undefined ? {} : { cwd: server.cwd }),
  })
  const stderr = new OutputWindow(STDERR_BYTES)
  transport.stderr?.on('data', chunk => stderr.push(chunk)) // read always: a full pipe would stop the server
  return {
    name: quote(server.name ?? server.command),
    transport,
    said: () => (stderr.total === 0 ? '' : ` It wrote: ${quote(stderr.text())}.`),
    close: async client => {
      await client.close().catch(() => undefined) // gone already
      await endTree({ leader: undefined, marker: `PALIMPSEST_CALL=${mark}` }, GRACE_MS)
    },
  }
}

function openAddress(server: Extract<McpServer, { url: string | URL }>): Link {
  const url = addressOf(server.url)
  const transport = new StreamableHTTPClientTransport(url, { requestInit: { headers: { ...server.headers } } })
  return {
    name: quote(`${url.origin}${url.pathname}`), // without user, password and query, which may be secret
    transport: transport as Transport, // the SDK's own class misses its interface under exactOptionalPropertyTypes
    said: () => '',
    close: async client => {
      await transport.terminateSession().catch(() => undefined) // not every server keeps sessions
      await client.close().catch(() => undefined)
    },
  }
}

function addressOf(url: string | URL): URL {
  const parsed = URL.canParse(String(url)) ? new URL(url) : undefined
  if (parsed?.protocol === 'http:' || parsed?.protocol === 'https:') return parsed
  throw new ToolError(
    'MCP_UNREACHABLE',
    `An http or https address was expected for the MCP server, found ${quote(String(url))}.`,
  )
}
