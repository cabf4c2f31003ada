import type { AssistantPart, JsonObject } from '@palimpsest/session'
import type { Import } from '../../format.js'
import { isObject, type Json, listOf, objectsOf, stringOf, timeOf } from '../../json/shapes.js'
import type { Place } from '../../place.js'
import { inputOfText, inputOfValue } from '../../tool-input.js'
import { chatTool, textOf } from '../chat-content.js'
import { textParts, thoughts } from './completion.js'
import { Condensation } from './condensation.js'

/** The events of the SDK, told apart by `kind`. Actions of one answer follow each other. */
export class SdkImport {
  readonly #into: Import
  readonly #condensation: Condensation
  #actions: { event: Json; place: Place }[] = []

  constructor(into: Import) {
    this.#into = into
    this.#condensation = new Condensation(into.log)
  }

  event(event: Json, where: string): void {
    const place = { where, time: timeOf(event.timestamp) }
    const [first] = this.#actions
    const isSameAnswer = first !== undefined && event.llm_response_id === first.event.llm_response_id
    if (event.kind === 'ActionEvent' && (first === undefined || isSameAnswer)) {
      this.#actions.push({ event, place })
      return
    }
    this.#answer()
    if (event.kind === 'ActionEvent') this.#actions.push({ event, place })
    else this.#condensation.noting(event.id, () => this.#write(event, place))
  }

  finish(where: string): void {
    this.#answer()
    this.#into.log.finish({ where })
  }

  // --- internal ---

  #answer(): void {
    const [first] = this.#actions
    if (first === undefined) return
    const { event, place } = first
    const calls = this.#actions.map(each => ({ part: callOf(each.event), where: each.place.where }))
    const said = [...thoughts(event), ...textParts(event.thought)]
    const places = [...said.map(() => place.where), ...calls.map(({ where }) => where)]
    this.#condensation.noting(event.id, () =>
      this.#into.log.assistant([...said, ...calls.map(({ part }) => part)], { ...place, parts: places }),
    )
    this.#actions = []
  }

  #write(event: Json, place: Place): void {
    const { kind } = event
    if (kind === 'SystemPromptEvent') this.#system(event, place)
    else if (kind === 'MessageEvent') this.#message(event, place)
    else if (kind === 'ObservationEvent' || kind === 'AgentErrorEvent' || kind === 'UserRejectObservation') {
      this.#result(event, place)
    } else if (kind === 'Condensation') {
      const { forgotten_event_ids: ids, summary } = event
      this.#condensation.forget(listOf(ids), stringOf(summary) ?? '', place)
    } else this.#into.log.note(`import/openhands.${String(kind)}`, event as JsonObject, place)
  }

  #system({ system_prompt: prompt, tools }: Json, place: Place): void {
    const system = isObject(prompt) ? (stringOf(prompt.text) ?? '') : (stringOf(prompt) ?? '')
    const declared = objectsOf(tools).flatMap(([, tool]) => chatTool(tool))
    const header = { model: '', settings: {}, system, ...(declared.length > 0 && { tools: declared }) }
    this.#into.log.header(header, place)
  }

  #message({ source, llm_message: message }: Json, place: Place): void {
    const text = isObject(message) ? textOf(message.content) : ''
    if (source === 'user') this.#into.log.user([{ type: 'text', text }], place)
    else if (source === 'agent') {
      const lead = isObject(message) ? thoughts(message) : []
      this.#into.log.assistant([...lead, { type: 'text', text }], place)
    } else this.#into.log.context([{ type: 'text', text }], String(source ?? 'environment'), place)
  }

  #result(event: Json, place: Place): void {
    const { kind, observation, error, rejection_reason } = event
    const shown = isObject(observation) ? (observation.content ?? observation.output) : observation
    const isError = kind !== 'ObservationEvent' || (isObject(observation) && observation.is_error === true)
    const text = stringOf(error) ?? stringOf(rejection_reason) ?? textOf(shown)
    const output = { type: isError ? ('error-text' as const) : ('text' as const), value: text }
    const [toolCallId, toolName] = [stringOf(event.tool_call_id) ?? '', stringOf(event.tool_name)]
    this.#into.log.result({ toolCallId, toolName, output }, place)
  }
}

function callOf({ tool_call: call, tool_call_id: id, tool_name: name, action }: Json): AssistantPart {
  const made = isObject(call) ? call : {}
  const named = isObject(made.function) ? made.function : made
  const input = typeof named.arguments === 'string' ? inputOfText(named.arguments) : inputOfValue(action)
  const toolCallId = stringOf(id) ?? stringOf(made.id) ?? ''
  return { type: 'tool-call', toolCallId, toolName: stringOf(name) ?? stringOf(named.name) ?? '', ...input }
}
