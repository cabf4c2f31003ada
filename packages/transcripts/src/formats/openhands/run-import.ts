import type { AssistantPart, JsonObject, UserPart } from '@palimpsest/session'
import type { Import } from '../../format.js'
import { isObject, type Json, listOf, objectsOf, stringOf, timeOf } from '../../json/shapes.js'
import type { Place } from '../../place.js'
import { inputOfValue } from '../../tool-input.js'
import { vendorOf } from '../../vendor.js'
import { chatTool } from '../chat-content.js'
import { imagePart } from '../image-part.js'
import { completionOf, textParts } from './completion.js'
import { Condensation } from './condensation.js'

/**
 * The events of one run: actions and what was observed of them. The whole answer of the model lies in each action
 * that was taken from it; an action without one is taken for a call by itself.
 */
export class RunImport {
  readonly #into: Import
  readonly #where: string
  readonly #condensation: Condensation
  readonly #answered = new Set<string>()
  /** Calls that were made from actions, by the action's id, in order. */
  readonly #made: { id: unknown; toolCallId: string; toolName: string }[] = []
  #model: string | undefined
  #hasPrompt = false
  #count = 0

  constructor(into: Import, where: string) {
    this.#into = into
    this.#where = where
    this.#condensation = new Condensation(into.log)
  }

  run(instance: Json): void {
    const { history, ...rest } = instance
    this.#model = modelOf(instance.metadata)
    if (this.#model !== undefined) this.#use(this.#model)
    this.#note('instance', rest, this.#placeOf({}))
    // Early runs keep an action and its observation as a pair.
    for (const event of listOf(history).flat()) {
      if (!isObject(event)) {
        this.#into.lose({ kind: 'record', count: 1, reason: 'not an event', where: this.#where })
        continue
      }
      this.#count += 1
      this.#condensation.noting(event.id, () => this.#event(event))
    }
    this.#into.log.finish(this.#placeOf({}))
  }

  // --- internal ---

  #event(event: Json): void {
    const place = this.#placeOf(event)
    if (typeof event.observation === 'string') this.#observation(event, place)
    else if (event.action === 'system') this.#system(event, place)
    else if (event.action === 'message') this.#message(event, place)
    else if (event.action === 'finish') this.#finish(event, place)
    else if (event.action === 'condensation') this.#condense(event, place)
    else if (QUIET.has(String(event.action)) || event.source === 'user') this.#note(String(event.action), event, place)
    else this.#action(event, place)
  }

  #system(event: Json, place: Place): void {
    const args = argsOf(event)
    const tools = objectsOf(args.tools).flatMap(([, tool]) => chatTool(tool))
    const system = stringOf(args.content) ?? stringOf(event.message) ?? ''
    const header = { model: this.#model ?? '', settings: {}, system, ...(tools.length > 0 && { tools }) }
    this.#into.log.header(header, place)
  }

  /** Early events do not say who sent them: the first is the task. */
  #message(event: Json, place: Place): void {
    const args = argsOf(event)
    const text = stringOf(args.content) ?? stringOf(event.message) ?? ''
    const isUser = event.source === 'user' || (event.source === undefined && !this.#hasPrompt)
    if (!isUser) {
      this.#assistant([{ type: 'text', text }], place)
      return
    }
    this.#hasPrompt = true
    const images = listOf(args.image_urls ?? args.images_urls).flatMap((url): UserPart[] =>
      typeof url === 'string' ? [imagePart(url)] : [],
    )
    this.#into.log.user([{ type: 'text', text }, ...images], place)
  }

  /** The last word: it answers the user, and waits for nothing. */
  #finish(event: Json, place: Place): void {
    const { final_thought, thought, outputs } = argsOf(event)
    const said = completionOf(metadataOf(event)?.model_response)?.said ?? []
    const output = isObject(outputs) ? stringOf(outputs.content) : undefined
    const text = [stringOf(final_thought), stringOf(thought), output].find(each => each !== undefined && each !== '')
    this.#assistant(said.length > 0 ? said : [{ type: 'text', text: text ?? '' }], place)
    if (said.length > 0) this.#note('finish', event, place)
  }

  #condense(event: Json, place: Place): void {
    const {
      forgotten_event_ids: ids,
      forgotten_events_start_id: start,
      forgotten_events_end_id: end,
      summary,
    } = argsOf(event)
    const isRange = Number.isSafeInteger(start) && Number.isSafeInteger(end) && Number(end) - Number(start) < 1e6
    const range = isRange
      ? Array.from({ length: Math.max(0, Number(end) - Number(start) + 1) }, (_, i) => Number(start) + i)
      : []
    this.#condensation.forget(Array.isArray(ids) ? ids : range, stringOf(summary) ?? '', place)
  }

  #action(event: Json, place: Place): void {
    const metadata = metadataOf(event)
    const completion = completionOf(metadata?.model_response)
    if (completion === undefined || completion.calls.length === 0) this.#ownCall(event, place)
    else if (completion.id === undefined || !this.#answered.has(completion.id)) {
      if (completion.id !== undefined) this.#answered.add(completion.id)
      if (completion.model !== undefined) this.#use(completion.model)
      this.#assistant([...completion.said, ...completion.calls], place, completion)
    }
  }

  /** An action of a run that kept no answers, or whose answer named none. */
  #ownCall(event: Json, place: Place): void {
    const { thought, ...input } = argsOf(event)
    const { toolName, toolCallId } = {
      toolName: stringOf(metadataOf(event)?.function_name) ?? String(event.action ?? 'unknown'),
      toolCallId: stringOf(metadataOf(event)?.tool_call_id) ?? `action-${this.#count}`,
    }
    this.#made.push({ id: event.id, toolCallId, toolName })
    const call: AssistantPart = { type: 'tool-call', toolCallId, toolName, ...inputOfValue(input) }
    this.#assistant([...textParts(thought), call], place)
  }

  #observation(event: Json, place: Place): void {
    const text = stringOf(event.content) ?? stringOf(event.message) ?? ''
    const metadata = metadataOf(event)
    const made = metadata === undefined ? this.#madeFor(event) : undefined
    const toolCallId = stringOf(metadata?.tool_call_id) ?? made?.toolCallId
    if (QUIET.has(String(event.observation))) this.#note(String(event.observation), event, place)
    else if (toolCallId === undefined) {
      this.#into.log.context([{ type: 'text', text }], 'environment', place)
    } else {
      const toolName = stringOf(metadata?.function_name) ?? made?.toolName
      const output = { type: event.observation === 'error' ? ('error-text' as const) : ('text' as const), value: text }
      this.#into.log.result({ toolCallId, toolName, output }, place)
    }
  }

  /** By its cause; early observations name none and follow their action. */
  #madeFor({ cause }: Json) {
    const at = cause === undefined ? 0 : this.#made.findIndex(each => each.id === cause)
    return at < 0 ? undefined : this.#made.splice(at, 1)[0]
  }

  #assistant(parts: AssistantPart[], place: Place, more: { model?: string | undefined; usage?: unknown } = {}): void {
    const model = more.model ?? this.#model
    const usage = more.usage as never
    this.#into.log.assistant(parts, place, { model, vendor: vendorOf(undefined, model), usage })
  }

  #use(model: string): void {
    const vendor = vendorOf(undefined, model)
    this.#into.about({ model, ...(vendor !== undefined && { vendor }) })
  }

  #note(type: string, data: Json, place: Place): void {
    this.#into.log.note(`import/openhands.${type}`, data as JsonObject, place)
  }

  #placeOf({ timestamp }: Json): Place {
    return { where: this.#where, time: timeOf(timestamp) }
  }
}

/** What the program tells itself. */
const QUIET = new Set([
  'recall',
  'null',
  'change_agent_state',
  'agent_state_changed',
  'pause',
  'resume',
  'loop_recovery',
])

/** Early events have their arguments among their own members. */
function argsOf(event: Json): Json {
  if (isObject(event.args)) return event.args
  const { id, timestamp, source, message, action, observation, ...args } = event
  return args
}

function metadataOf({ tool_call_metadata: metadata }: Json): Json | undefined {
  return isObject(metadata) ? metadata : undefined
}

function modelOf(metadata: unknown): string | undefined {
  const config = isObject(metadata) && isObject(metadata.llm_config) ? metadata.llm_config : {}
  return stringOf(config.model)
}
