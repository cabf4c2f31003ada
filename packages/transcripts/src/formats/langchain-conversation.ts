import type { JsonObject } from '@palimpsest/session'
import type { Import } from '../format.js'
import { isObject, type Json, listOf } from '../json/shapes.js'
import { type LangchainMessage, messageOf, withChunk } from './langchain-message.js'

export interface PlacedMessage {
  readonly message: LangchainMessage
  readonly where: string
}

/**
 * The messages of a list, a state or a stream, in order. A state is the whole list as it is then: it says what stands
 * and in which order. A chunk goes on with the message of its id, a whole message takes its place.
 */
export class LangchainConversation {
  #messages: PlacedMessage[] = []

  constructor(private readonly into: Import) {}

  get messages(): readonly PlacedMessage[] {
    return this.#messages
  }

  /** An entry of the file: a message, a state, or `[mode, payload]` with the names of the graph before it. */
  add(entry: unknown, where: string): void {
    const message = messageOf(entry)
    if (message !== undefined) this.#message(message, where)
    else if (Array.isArray(entry)) this.#streamed(entry, where)
    else if (isObject(entry)) this.#object(entry, where)
    else this.into.lose({ kind: 'record', count: 1, reason: 'not a message', where: where || 'file' })
  }

  // --- internal ---

  #streamed(entry: readonly unknown[], where: string): void {
    const namespace = entry.find(each => Array.isArray(each) && each.every(name => typeof name === 'string'))
    const isSubgraph = Array.isArray(namespace) && namespace.length > 0 && entry[0] === namespace
    const mode = entry.find(each => typeof each === 'string')
    const last = entry.length - 1
    if (isSubgraph) this.#note('subgraph', entry, where)
    else if (messageOf(entry[0]) !== undefined) this.add(entry[0], `${where}[0]`)
    else if (mode === 'messages' || mode === undefined) this.#piece(entry[last], `${where}[${last}]`)
    else if (mode === 'values') this.#object(entry[last], `${where}[${last}]`)
    else if (mode === 'updates') this.#updates(entry[last], `${where}[${last}]`)
    else this.#note(String(mode), entry, where)
  }

  /** `[message, metadata]`. */
  #piece(payload: unknown, where: string): void {
    const message = messageOf(Array.isArray(payload) ? payload[0] : payload)
    if (message !== undefined) this.#message(message, Array.isArray(payload) ? `${where}[0]` : where)
    else this.into.lose({ kind: 'record', count: 1, reason: 'not a message', where })
  }

  #updates(payload: unknown, where: string): void {
    for (const [node, update] of Object.entries(isObject(payload) ? payload : {})) {
      for (const [i, each] of listOf(isObject(update) ? update.messages : undefined).entries()) {
        const message = messageOf(each)
        if (message !== undefined) this.#message(message, `${where}.${node}.messages[${i}]`)
      }
    }
  }

  #object(state: unknown, where: string): void {
    const found = stateOf(state, where)
    if (found === undefined && isObject(state) && 'content' in state) {
      this.into.lose({ kind: 'record', count: 1, reason: 'a message of an unknown type', where: where || 'file' })
    } else if (found === undefined) this.#note('state', state, where)
    else this.#state(found.messages, found.where)
  }

  #state(messages: readonly unknown[], where: string): void {
    const before = this.#messages
    this.#messages = []
    for (const [i, each] of messages.entries()) {
      const message = messageOf(each)
      const at = `${where}[${i}]`
      if (message === undefined) this.into.lose({ kind: 'record', count: 1, reason: 'not a message', where: at })
      else {
        const known = message.id === undefined ? undefined : before.find(each => each.message.id === message.id)
        this.#messages.push({ message, where: known?.where ?? at })
      }
    }
  }

  #message(message: LangchainMessage, where: string): void {
    const at = message.id === undefined ? -1 : this.#messages.findIndex(each => each.message.id === message.id)
    const known = this.#messages[at]
    if (message.kind === 'remove') {
      if (message.id === '__remove_all__') this.#messages = []
      else if (at >= 0) this.#messages.splice(at, 1)
    } else if (known === undefined) this.#messages.push({ message, where })
    else {
      const whole = message.isChunk ? withChunk(known.message, message) : message
      this.#messages[at] = { message: whole, where: known.where }
    }
  }

  #note(type: string, data: unknown, where: string): void {
    this.into.log.note(`import/langchain.${type}`, { record: data } as JsonObject, { where: where || 'file' })
  }
}

/** The list of messages in a state, a checkpoint or a saved run. */
function stateOf(state: unknown, where: string): { messages: unknown[]; where: string } | undefined {
  if (!isObject(state)) return undefined
  if (Array.isArray(state.messages)) return { messages: state.messages, where: below(where, 'messages') }
  for (const key of ['values', 'channel_values', 'checkpoint', 'output', 'input']) {
    const found = stateOf((state as Json)[key], below(where, key))
    if (found !== undefined) return found
  }
  return undefined
}

function below(where: string, key: string): string {
  return where === '' ? key : where.startsWith('line ') ? where : `${where}.${key}`
}
