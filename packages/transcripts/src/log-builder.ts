import type {
  AssistantMessage,
  AssistantPart,
  EventMap,
  FinishReason,
  JsonObject,
  ProviderOptions,
  RequestHeader,
  RestoreOp,
  SessionEvent,
  SurfaceOp,
  ToolCallPart,
  ToolMessage,
  ToolOutput,
  ToolResultPart,
  Usage,
  UserPart,
} from '@palimpsest/session'
import { losslessJson } from './json/lossless.js'
import type { Json } from './json/shapes.js'
import type { Place } from './place.js'

/** Takes each event as it is made, in order, with its place in the file. */
export type EventSink = (event: SessionEvent, place: Place) => void

interface Intent {
  surfaceOp?: SurfaceOp | RestoreOp
  sourceEventSeqs?: readonly number[]
  ignorable?: true
}

/** A stretch of the surface, by the seqs of its first and last node, that a message takes the place of. */
export interface Replaced {
  start: number
  end: number
}

export interface AssistantMeta {
  /** Who wrote it: kept as `providerOptions.palimpsest`, so that state which only its vendor reads never goes to another. */
  model?: string | undefined
  vendor?: string | undefined
  /** Further state of the message as a whole. */
  providerOptions?: ProviderOptions
  finishReason?: FinishReason
  usage?: Usage | undefined
  interrupted?: boolean
  replacing?: Replaced
  /** Ids of its calls that the file shows as not begun: no `tool/call` is written for them. */
  waiting?: ReadonlySet<string>
}

/**
 * Writes a log from what a transcript says was said, with turns and steps around it: a user's message begins a turn
 * (or steers the one that waits for results), an answer begins a step, each call of it stands before its result.
 */
export class LogBuilder {
  length = 0
  /** Set by who knows that a log can hold the record at hand as it is, so that its values are not looked through. */
  isLossless = false
  readonly #emit: EventSink
  readonly #surface: number[] = []
  /** What each visible replacement took the place of. */
  readonly #beneath = new Map<number, readonly number[]>()
  #time = 0
  #turn = 0
  #step = 0
  #isTurnOpen = false
  #isStepOpen = false
  #hasAnswer = false
  /** Calls of the open step without a result. */
  readonly #open = new Map<string, ToolCallPart>()
  /** The last answer has calls that never began. */
  #waits = false
  #header = ''

  constructor(emit: EventSink) {
    this.#emit = emit
  }

  /** The seqs of the visible nodes, in surface order. */
  get surface(): readonly number[] {
    return this.#surface
  }

  /** What a person typed. */
  user(
    content: UserPart[],
    place: Place,
    more: { replacing?: Replaced; providerOptions?: ProviderOptions } = {},
  ): number {
    const { replacing, providerOptions } = more
    const isSteering = this.#open.size > 0 && replacing === undefined
    if (!isSteering && this.#hasAnswer) this.endTurn(place)
    this.#startTurn(place)
    const message = { role: 'user' as const, content, ...(providerOptions && { providerOptions }) }
    const type = isSteering ? 'steering/message' : 'user/message'
    return this.append(type, { turn: this.#turn, message }, place, this.#surfaceIntent(replacing))
  }

  /** What a program put in on the user's side: reminders, environment, summaries. `origin` names it. */
  context(
    content: UserPart[],
    origin: string,
    place: Place,
    more: { replacing?: Replaced; providerOptions?: ProviderOptions } = {},
  ): number {
    const { replacing, providerOptions } = more
    const message = { role: 'user' as const, content, ...(providerOptions && { providerOptions }) }
    const turn = this.#isTurnOpen ? { turn: this.#turn } : {}
    return this.append('context/message', { ...turn, message, origin }, place, this.#surfaceIntent(replacing))
  }

  assistant(content: AssistantPart[], place: Place, meta: AssistantMeta = {}): number {
    const { finishReason, usage, interrupted, replacing } = meta
    this.#startTurn(place)
    this.#endStep(place)
    this.#startStep(place)
    const message: AssistantMessage = { role: 'assistant', content }
    const state = stateOf(meta)
    if (state !== undefined) message.providerOptions = state
    const calls = content.filter(isOwnCall)
    const data: EventMap['assistant/message'] = {
      turn: this.#turn,
      step: this.#lastStep,
      message,
      finishReason: finishReason ?? (calls.length > 0 ? 'tool-calls' : 'stop'),
    }
    if (usage) data.usage = usage
    if (interrupted) data.interrupted = interrupted
    const seq = this.append('assistant/message', data, place, this.#surfaceIntent(replacing))
    for (const call of calls) if (!meta.waiting?.has(call.toolCallId)) this.#open.set(call.toolCallId, call)
    this.#waits = meta.waiting !== undefined && meta.waiting.size > 0
    this.#hasAnswer = true
    return seq
  }

  /** A result of a call in the open step brings its `tool/call` before it; one of another call stands by itself. */
  result(
    {
      toolCallId,
      toolName,
      output,
      providerOptions,
    }: { toolCallId: string; toolName?: string | undefined; output: ToolOutput; providerOptions?: ProviderOptions },
    place: Place,
    more: { error?: { code: string; message: string }; replacing?: Replaced } = {},
  ): number {
    const call = this.#open.get(toolCallId)
    const source = call && this.#logCall(call, place)
    this.#startTurn(place)
    const name = toolName ?? call?.toolName ?? ''
    const part: ToolResultPart = { type: 'tool-result', toolCallId, toolName: name, output }
    if (providerOptions) part.providerOptions = providerOptions
    const message: ToolMessage = { role: 'tool', content: [part] }
    const data: EventMap['tool/result'] = { turn: this.#turn, step: this.#lastStep, toolCallId, message }
    if (more.error) data.error = more.error
    const intent = this.#surfaceIntent(more.replacing)
    if (source === undefined || more.replacing) return this.append('tool/result', data, place, intent)
    return this.append('tool/result', data, place, { surfaceOp: 'append', sourceEventSeqs: [source] })
  }

  /** What no message holds: kept as it is, and may be skipped by whoever does not know it. */
  note(type: string, data: JsonObject, place: Place): number {
    return this.append(type, data, place, { ignorable: true })
  }

  /** Logged if it differs from the last one. */
  header(header: RequestHeader, place: Place): void {
    const text = JSON.stringify(header)
    if (text === this.#header) return
    this.#header = text
    this.append('request/header', header, place)
  }

  /** Closes step and turn. Calls without a result stay so. */
  endTurn(place: Place, reason: JsonObject = { kind: 'completed' }): void {
    if (!this.#isTurnOpen) return
    this.#endStep(place)
    this.append('turn/end', { turn: this.#turn, reason }, place)
    this.#isTurnOpen = false
    this.#waits = false
    this.#hasAnswer = false
  }

  /** The end of the file. A turn that still waits for results stays open, as it was when the agent stopped. */
  finish(place: Place): void {
    if (this.#open.size === 0 && !this.#waits) this.endTurn(place)
    else for (const call of [...this.#open.values()]) this.#logCall(call, place)
  }

  /** The nodes that a visible replacement took the place of; `undefined` for what is none. */
  beneath(node: number): readonly number[] | undefined {
    return this.#beneath.get(node)
  }

  /** One event as it is given, behind the others; of its data only what no log can hold is changed. Returns its seq. */
  append(type: string, data: unknown, place: Place, intent: Intent = {}): number {
    const seq = this.length++
    this.#time = place.time !== undefined && Number.isFinite(place.time) ? place.time + 0 : this.#time
    this.#note(seq, intent.surfaceOp)
    const kept = this.isLossless ? data : losslessJson(data)
    const { surfaceOp, sourceEventSeqs, ignorable } = intent
    const event: Json = { seq, time: this.#time, type, data: kept }
    if (surfaceOp !== undefined) event.surfaceOp = surfaceOp
    if (sourceEventSeqs !== undefined) event.sourceEventSeqs = sourceEventSeqs
    if (ignorable !== undefined) event.ignorable = ignorable
    this.#emit(event as unknown as SessionEvent, place)
    return seq
  }

  // --- internal ---

  #startTurn(place: Place): void {
    if (this.#isTurnOpen) return
    this.#isTurnOpen = true
    this.#turn += 1
    this.#step = 0
    this.append('turn/start', { turn: this.#turn }, place)
  }

  #startStep(place: Place): void {
    this.#isStepOpen = true
    this.#step += 1
    this.append('step/start', { turn: this.#turn, step: this.#step }, place)
  }

  #endStep(place: Place): void {
    if (!this.#isStepOpen) return
    if (this.#open.size > 0) for (const call of [...this.#open.values()]) this.#logCall(call, place)
    this.append('step/end', { turn: this.#turn, step: this.#step }, place)
    this.#isStepOpen = false
  }

  #logCall(call: ToolCallPart, place: Place): number {
    this.#open.delete(call.toolCallId)
    const { toolCallId, toolName, input, rawInput } = call
    const text = rawInput ?? JSON.stringify(input)
    const data = { turn: this.#turn, step: this.#lastStep, toolCallId, toolName, arguments: text }
    return this.append('tool/call', data, place)
  }

  get #lastStep(): number {
    return Math.max(1, this.#step)
  }

  #surfaceIntent(replacing: Replaced | undefined): Intent {
    if (replacing === undefined) return APPEND
    const { start, end } = replacing
    const sources = this.#surface.slice(this.#surface.indexOf(start), this.#surface.indexOf(end) + 1)
    return { surfaceOp: { op: 'replace', start, end }, sourceEventSeqs: [...sources].sort((a, b) => a - b) }
  }

  #note(seq: number, op: SurfaceOp | RestoreOp | undefined): void {
    if (op === undefined) return
    if (op === 'append') this.#surface.push(seq)
    else if (op.op === 'restore') {
      this.#surface.splice(this.#surface.indexOf(op.node), 1, ...this.#beneath.get(op.node)!)
      this.#beneath.delete(op.node)
    } else {
      const from = this.#surface.indexOf(op.start)
      this.#beneath.set(seq, this.#surface.splice(from, this.#surface.indexOf(op.end) - from + 1, seq))
    }
  }
}

// --- internal ---

const APPEND: Intent = { surfaceOp: 'append' }

function isOwnCall(part: AssistantPart): part is ToolCallPart {
  return part.type === 'tool-call' && !part.providerExecuted
}

/** State of a message as a whole, with who wrote it. */
function stateOf({ model, vendor, providerOptions }: AssistantMeta): ProviderOptions | undefined {
  if (model === undefined && vendor === undefined) {
    return providerOptions && Object.keys(providerOptions).length > 0 ? providerOptions : undefined
  }
  const by: JsonObject = {}
  if (vendor !== undefined) by.vendor = vendor
  if (model !== undefined) by.model = model
  return { ...providerOptions, palimpsest: by }
}
