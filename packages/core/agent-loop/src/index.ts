export type { Admission, AgentStatus, Input } from '@palimpsest/host'
export { type Agent, type AgentOptions, createAgent, type DurableSession } from './agent.js'
export { type ParsedArguments, parseArguments } from './arguments.js'
export { assemble } from './assemble.js'
export type { ToolFaultCode } from './call-result.js'
export type { AgentSettings } from './config.js'
export { AgentError, type AgentErrorCode } from './errors.js'
export { type RetryOptions, retry } from './retry.js'
export type { JsonSchema } from './schema.js'
export {
  defineTool,
  type JsonSchemaTool,
  type Tool,
  type ToolContext,
  type ToolOutputEnvelope,
  toolOutput,
} from './tool.js'
