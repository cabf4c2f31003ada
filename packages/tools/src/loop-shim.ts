import type { JsonObject, ToolOutput } from '@palimpsest/session'

export interface ToolContext {
  toolCallId: string
  signal: AbortSignal
  turn: number
  step: number
}
export interface Tool {
  name: string
  description?: string
  inputSchema: JsonObject
  effect?: 'read' | 'write' | 'execute'
  parallelSafe?: boolean
  timeoutMs?: number
  execute(input: any, context: ToolContext): unknown
}
export function defineTool<I>(
  tool: Omit<Tool, 'execute'> & { execute(input: I, context: ToolContext): unknown },
): Tool {
  return tool as Tool
}
export function toolOutput(output: ToolOutput): unknown {
  return output
}
