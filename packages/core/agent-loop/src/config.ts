import type { JsonObject, ModelPort, RequestHeader, ToolSchema } from '@palimpsest/session'
import { sealData } from './seal.js'
import { type PreparedTool, prepareTool, type Tool } from './tool.js'

/** What may change between steps. Members that are left out stay; an empty `system` is none. */
export interface AgentSettings {
  model?: ModelPort
  settings?: JsonObject
  system?: string
  tools?: readonly Tool[]
}

/** What one step works with: a snapshot that no later `configure` reaches. */
export interface Config {
  readonly model: ModelPort
  /** Frozen, as it would be logged. */
  readonly header: RequestHeader
  readonly tools: ReadonlyMap<string, PreparedTool>
}

/** Throws `NOT_LOSSLESS_JSON` for settings or schemas that cannot be logged, a `TypeError` for tools that are none. */
export function createConfig({
  model,
  settings = {},
  system,
  tools = [],
}: AgentSettings & { model: ModelPort }): Config {
  const byName = new Map<string, PreparedTool>()
  for (const tool of tools) {
    const prepared = prepareTool(tool)
    if (byName.has(tool.name)) throw new TypeError(`tools: expected each name once, found "${tool.name}" twice`)
    byName.set(tool.name, prepared)
  }
  const header: RequestHeader = { model: model.model, settings }
  if (system) header.system = system
  if (byName.size > 0) header.tools = [...byName.values()].map(schemaOf)
  const rules = rulesOf(model)
  if (rules) header.rules = rules
  return { model, header: sealData('request/header', header), tools: byName }
}

// --- internal ---

/** A port that changes what it is given says by which rules. */
function rulesOf({ rules }: ModelPort & Pick<RequestHeader, 'rules'>): RequestHeader['rules'] {
  return rules
}

function schemaOf({ tool, inputSchema }: PreparedTool): ToolSchema {
  const { name, description } = tool
  return description === undefined ? { name, inputSchema } : { name, description, inputSchema }
}
