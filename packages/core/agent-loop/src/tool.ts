import type { Fault, JsonObject, Session, ToolOutput } from '@palimpsest/session'
import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { Agent } from './agent.js'
import { messageOf } from './errors.js'
import { type Check, createCheck, describeSchema, type JsonSchema } from './schema.js'

export interface ToolContext {
  readonly toolCallId: string
  /** Aborted by a cancel and by `timeoutMs`. Stop then: throw, or return what is true. */
  readonly signal: AbortSignal
  readonly agent: Agent
  readonly session: Session
  readonly turn: number
  readonly step: number
}

/** A plain object of this shape is a tool. */
export interface Tool<I = unknown> {
  readonly name: string
  /** For the model; default none. */
  readonly description?: string
  /** Checked before the tool runs; a Standard Schema's transformed value is what `execute` gets. */
  readonly inputSchema: JsonSchema | StandardSchemaV1<unknown, I>
  /** What the model is told instead of what `inputSchema` says of itself; for a Standard Schema that says nothing. */
  readonly inputJsonSchema?: JsonSchema
  /** The worst it can do; default `execute`. */
  readonly effect?: 'read' | 'write' | 'execute'
  /** May run beside its neighbours that say the same; default false: it runs alone. */
  readonly parallelSafe?: boolean
  /** Milliseconds after which it is told to stop, and gets `TOOL_TIMED_OUT`; default none: it ends when it ends. */
  readonly timeoutMs?: number
  /** Gets a copy of the logged input. Returns a string, other lossless JSON, or `toolOutput(…)`. */
  execute(input: I, context: ToolContext): unknown
}

/** A tool whose input is described by a JSON Schema, which says nothing to the types: see `defineTool`. */
export interface JsonSchemaTool extends Tool<JsonObject> {
  readonly inputSchema: JsonSchema
}

/**
 * Fills in the defaults and throws a `TypeError` where the tool's schema is none. A Standard Schema types the input. With
 * a JSON Schema it is a `JsonObject`, as such a schema should demand, unless you name its type: `defineTool<{ a: number }>`.
 */
export function defineTool(tool: JsonSchemaTool): Tool
export function defineTool<I>(tool: Tool<I>): Tool
export function defineTool<I>(tool: Tool<I>): Tool {
  requireTool(tool as Tool)
  const { effect = 'execute', parallelSafe = false } = tool
  const execute = (input: I, context: ToolContext) => tool.execute(input, context)
  const defined = Object.freeze({ ...tool, effect, parallelSafe, execute }) as Tool
  prepareTool(defined)
  return defined
}

/** What a tool returns to have an output of the AI SDK's shape (images, mixed content) passed on as it is. */
export interface ToolOutputEnvelope {
  readonly [ENVELOPE]: { readonly output: ToolOutput; readonly error?: Fault }
}

/** With `error` the result is a fault with a code of the tool's own; the output is what the model reads of it. */
export function toolOutput(output: ToolOutput, error?: Fault): ToolOutputEnvelope {
  return { [ENVELOPE]: error === undefined ? { output } : { output, error } }
}

// --- internal ---

const ENVELOPE: unique symbol = Symbol.for('@palimpsest/agent-loop/tool-output') as never

export function openEnvelope(value: unknown): ToolOutputEnvelope[typeof ENVELOPE] | undefined {
  return typeof value === 'object' && value !== null && ENVELOPE in value
    ? (value as ToolOutputEnvelope)[ENVELOPE]
    : undefined
}

/** A tool with its compiled check. */
export interface PreparedTool {
  readonly tool: Tool
  readonly check: Check
  readonly inputSchema: JsonSchema
}

const prepared = new WeakMap<Tool, PreparedTool>()

/** Once per tool object: compiling a schema is dear. */
export function prepareTool(tool: Tool): PreparedTool {
  const known = prepared.get(tool)
  if (known) return known
  requireTool(tool)
  const made = { tool, ...prepareSchema(tool) }
  prepared.set(tool, made)
  return made
}

function requireTool(tool: Tool): void {
  const { name, inputSchema, execute } = Object(tool) as Tool
  if (typeof name === 'string' && name !== '' && Object(inputSchema) === inputSchema && typeof execute === 'function')
    return
  throw new TypeError('a tool: expected an object with a name, an inputSchema and execute(), as defineTool takes it')
}

function prepareSchema({ name, inputSchema, inputJsonSchema }: Tool): Omit<PreparedTool, 'tool'> {
  try {
    return { check: createCheck(inputSchema), inputSchema: inputJsonSchema ?? describeSchema(inputSchema) }
  } catch (error) {
    throw new TypeError(
      `tool ${name}: expected a JSON Schema or a Standard Schema as inputSchema: ${messageOf(error)}`,
      {
        cause: error,
      },
    )
  }
}
