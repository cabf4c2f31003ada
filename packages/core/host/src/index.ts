export type { Admission, Agent, AgentStatus, Input } from './agent.js'
export type {
  AroundHandler,
  AroundMap,
  AroundName,
  ModelOutcome,
  ModelRequestCall,
  ToolExecution,
  ToolShape,
  TurnAdmission,
} from './around.js'
export type { HostEvent, HostEventMap, HostListener } from './events.js'
export { createHost, type Host, type HostOptions } from './host.js'
export type { Plugin, PluginContext, Scope } from './plugin.js'
