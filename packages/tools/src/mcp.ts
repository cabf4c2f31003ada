import type { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { CallToolResultSchema, ListToolsResultSchema, type Tool as McpTool } from '@modelcontextprotocol/sdk/types.js'
import { defineTool, type Tool, type ToolContext } from '@palimpsest/agent-loop'
import type { JsonObject } from '@palimpsest/session'
import { quote, ToolError } from './errors.js'
import { outputOf } from './mcp-output.js'

export interface McpToolsOptions {
  prefix?: string // put before every name, to tell two servers apart
  timeoutMs?: number // without a sign of life (an answer or progress); 120,000
  maxTimeoutMs?: number // in all; 600,000
  maxOutputBytes?: number // of one text; 65,536
}

/**
 * The tools of a connected MCP server, all pages of them. Names are made fit for every provider and unique. A tool that
 * says it only reads (`readOnlyHint`) has the effect `read`, which is the server's word; every other is `execute`.
 */
export async function mcpTools(client: Client, options: McpToolsOptions = {}): Promise<Tool[]> {
  const limits = { ...LIMITS, ...options }
  const taken = new Set<string>()
  return (await listTools(client, limits)).map(tool =>
    toolOf(client, tool, uniqueName(limits.prefix + tool.name, taken), limits),
  )
}

// --- internal ---

type Limits = Required<McpToolsOptions>

const LIMITS: Limits = { prefix: '', timeoutMs: 120_000, maxTimeoutMs: 600_000, maxOutputBytes: 65_536 }
const MAX_PAGES = 1_000
const MAX_NAME = 64

async function listTools(client: Client, limits: Limits): Promise<McpTool[]> {
  if (client.getServerCapabilities()?.tools === undefined) return []
  const tools: McpTool[] = []
  let cursor: string | undefined
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const request = { method: 'tools/list' as const, ...(cursor === undefined ? {} : { params: { cursor } }) }
    const answer = await client.request(request, ListToolsResultSchema, { timeout: limits.timeoutMs }).catch(cause => {
      throw new ToolError('MCP_UNREACHABLE', `The MCP server did not list its tools: ${reasonOf(cause)}`, { cause })
    })
    tools.push(...answer.tools)
    cursor = answer.nextCursor
    if (cursor === undefined) return tools
  }
  throw new ToolError(
    'MCP_UNREACHABLE',
    `The MCP server's list of tools did not end after ${MAX_PAGES} pages. It is broken; do not use it.`,
  )
}

function toolOf(client: Client, tool: McpTool, name: string, limits: Limits): Tool {
  const reads = tool.annotations?.readOnlyHint === true
  const description = tool.description ?? tool.title ?? tool.annotations?.title
  const inputSchema = tool.inputSchema as JsonObject
  const rest = {
    name,
    ...(description === undefined ? {} : { description }),
    effect: reads ? ('read' as const) : ('execute' as const),
    parallelSafe: reads,
    execute: (input: JsonObject, { signal }: ToolContext) => call(client, tool.name, input, limits, signal),
  }
  try {
    return defineTool<JsonObject>({ ...rest, inputSchema })
  } catch {
    // A schema that cannot be compiled is still told to the model; the server itself then checks what comes.
    return defineTool<JsonObject>({ ...rest, inputSchema: { type: 'object' }, inputJsonSchema: inputSchema })
  }
}

async function call(
  client: Client,
  name: string,
  input: JsonObject,
  limits: Limits,
  signal: AbortSignal,
): Promise<unknown> {
  signal.throwIfAborted()
  const waiting = {
    timeout: Math.min(limits.timeoutMs, limits.maxTimeoutMs), // the SDK looks at the total only when progress comes
    maxTotalTimeout: limits.maxTimeoutMs,
    resetTimeoutOnProgress: true,
    onprogress: () => {},
  }
  const request = { method: 'tools/call' as const, params: { name, arguments: input } }
  const result = await client.request(request, CallToolResultSchema, { ...waiting, signal }).catch(cause => {
    signal.throwIfAborted()
    throw new ToolError('MCP_CALL_FAILED', `The MCP server did not carry out ${quote(name)}: ${reasonOf(cause)}`, {
      cause,
    })
  })
  return outputOf(result, limits.maxOutputBytes)
}

/** Letters, digits, `_` and `-`, at most 64, not beginning with a digit or `-`: what every provider takes. */
function uniqueName(wanted: string, taken: Set<string>): string {
  const plain = wanted
    .replace(/[^A-Za-z0-9_-]/g, '_')
    .replace(/^(?![A-Za-z_])/, '_')
    .slice(0, MAX_NAME)
  let name = plain
  for (let n = 2; taken.has(name); n += 1) name = `${plain.slice(0, MAX_NAME - `_${n}`.length)}_${n}`
  taken.add(name)
  return name
}

function reasonOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause)
}
