import { type AgentOptions, createAgent, defineTool, type Tool } from '@palimpsest/agent-loop'
import { type ScriptedReply, scriptedModel } from '@palimpsest/model-scripted'
import { type Chunk, type ModelPort, type ModelRequest, Session, type SessionEvent } from '@palimpsest/session'

/** An agent over a fresh session with a frozen clock. */
export function setup(script: ScriptedReply[] | ModelPort, options: Partial<AgentOptions> = {}) {
  const session = (options.session as Session | undefined) ?? Session.create({ id: 's', now: () => 0 })
  const model = Array.isArray(script) ? scriptedModel(script) : script
  const agent = createAgent({ session, model, ...options })
  return { session, agent, log: () => transcript(session.events) }
}

/** One line an event, chunks and headers left out: what happened, to whom, and what it cites. */
export function transcript(events: readonly SessionEvent[]): string[] {
  return events.flatMap(event => lineOf(event, events) ?? [])
}

function lineOf(event: SessionEvent, events: readonly SessionEvent[]): string | undefined {
  const cited = () => events[event.sourceEventSeqs?.[0] ?? -1]?.type ?? 'nothing'
  switch (event.type) {
    case 'assistant/chunk':
    case 'request/header':
      return undefined
    case 'turn/start':
      return `turn ${event.data.turn} {`
    case 'turn/end': {
      const { reason } = event.data
      const why = reason.kind === 'error' ? reason.error.code : reason.kind === 'aborted' ? (reason.reason ?? '') : ''
      return `} ${reason.kind}${why && ` ${why}`}`
    }
    case 'step/start':
      return `step ${event.data.step} (`
    case 'step/end':
      return ')'
    case 'user/message':
      return `user ${textOf(event.data.message.content)}`
    case 'context/message':
      return `context ${textOf(event.data.message.content)} from ${event.data.origin}`
    case 'steering/message':
      return `steering ${textOf(event.data.message.content)}`
    case 'assistant/message':
      return `assistant ${textOf(event.data.message.content)}${event.data.interrupted ? ' interrupted' : ''}`
    case 'tool/call':
      return `call ${event.data.toolCallId}`
    case 'tool/settled':
      return `settled ${event.data.toolCallId}${event.data.error ? ` ${event.data.error.code}` : ''}`
    case 'tool/result': {
      const { output } = event.data.message.content[0]!
      const shown = event.data.error?.code ?? ('value' in output ? JSON.stringify(output.value) : output.type)
      return `result ${event.data.toolCallId} ${shown} < ${cited()}`
    }
    default:
      return event.type
  }
}

function textOf(content: readonly { type: string; text?: string; toolCallId?: string }[]): string {
  return content.map(part => part.text ?? part.toolCallId ?? part.type).join('+')
}

export interface Deferred<T> {
  promise: Promise<T>
  resolve(value: T): void
  reject(error: unknown): void
}

export function deferred<T = void>(): Deferred<T> {
  let resolve!: (value: T) => void
  let reject!: (error: unknown) => void
  const promise = new Promise<T>((yes, no) => {
    resolve = yes
    reject = no
  })
  return { promise, resolve, reject }
}

/** Resolves with the first event that fits, heard or already logged. */
export function seen(session: Session, fits: (event: SessionEvent) => boolean): Promise<SessionEvent> {
  const known = session.events.find(fits)
  if (known) return Promise.resolve(known)
  return new Promise(resolve => {
    const off = session.on(event => {
      if (!fits(event)) return
      off()
      resolve(event)
    })
  })
}

/** A tool without conditions that answers what `run` says. */
export function tool(name: string, run: Tool['execute'], options: Partial<Tool> = {}): Tool {
  return defineTool({ name, inputSchema: { type: 'object' }, execute: run, ...options })
}

export function call(toolName: string, toolCallId?: string, input: unknown = {}) {
  return toolCallId === undefined ? { toolName, input } : { toolName, input, toolCallId }
}

/** A port that keeps what it was asked and answers with whatever generator is given. */
export function port(stream: (request: ModelRequest, signal: AbortSignal, n: number) => AsyncIterable<Chunk>) {
  const requests: ModelRequest[] = []
  const model: ModelPort = {
    model: 'port',
    stream(request, signal) {
      requests.push(request)
      return stream(request, signal, requests.length - 1)
    },
  }
  return { model, requests }
}

export const never = new Promise<never>(() => {})

export function text(value: string, id = 't'): Chunk {
  return { type: 'text-delta', id, text: value }
}

export const finish: Chunk = { type: 'finish', finishReason: 'stop' }

export function ofType<T extends SessionEvent['type']>(session: Session, type: T): SessionEvent<T>[] {
  return session.events.filter(event => event.type === type) as SessionEvent<T>[]
}
