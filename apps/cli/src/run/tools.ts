import type { Tool } from '@palimpsest/agent-loop'
import { codingTools, connectMcp, type McpConnection } from '@palimpsest/tools'

export interface ToolBox {
  readonly tools: readonly Tool[]
  /** Ends the MCP servers that were started. Never rejects. */
  close(): Promise<void>
}

/** The built-in tools on `root`, and those of MCP servers: an address, or a command for the shell. */
export async function openToolBox(root: string, servers: readonly string[]): Promise<ToolBox> {
  const builtIn = codingTools({ root })
  const connections: McpConnection[] = []
  const close = async () => {
    await Promise.all(connections.map(connection => connection.close()))
  }
  try {
    for (const server of servers) connections.push(await connectMcp(parseServer(server, root)))
  } catch (error) {
    await close()
    throw error
  }
  return { tools: withUniqueNames([builtIn, ...connections.map(({ tools }) => tools)]), close }
}

// --- internal ---

function parseServer(server: string, cwd: string) {
  if (/^https?:\/\//i.test(server)) return { url: server }
  return { command: '/bin/sh', args: ['-c', server], cwd, name: server }
}

/** A name that is taken gets the number of its server in front. */
function withUniqueNames(groups: readonly (readonly Tool[])[]): Tool[] {
  const taken = new Set<string>()
  return groups.flatMap((tools, group) =>
    tools.map(tool => {
      let { name } = tool
      while (taken.has(name)) name = `mcp${group}_${name}`.slice(0, 64)
      taken.add(name)
      return name === tool.name ? tool : { ...tool, name }
    }),
  )
}
