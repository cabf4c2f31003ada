import type { JsonObject } from '@palimpsest/session'
import type { Import } from '../../format.js'
import { isObject, type Json, objectsOf, stringOf, timeOf } from '../../json/shapes.js'
import type { Place } from '../../place.js'
import { vendorOf } from '../../vendor.js'
import type { RolloutRecord } from './rollout-record.js'

/** Who the session is, and under which model and settings it goes on. */
export class SessionFacts {
  model: string | undefined
  /** Files that name none are older than the choice. */
  provider = 'openai'
  #system: string | undefined
  #tools: { name: string; description?: string; inputSchema: JsonObject }[] = []
  #settings: JsonObject = {}
  #isKnown = false
  #hasHeader = false

  constructor(private readonly into: Pick<Import, 'log' | 'about'>) {}

  /** The first `session_meta` is the identity; a resumed, forked or spawned session holds further ones, of others too. */
  take({ type, payload }: RolloutRecord, place: Place): void {
    if (type === 'session_meta' && !this.#isKnown) this.#identity(payload, place)
    else if (type === 'turn_context') this.#turnContext(payload, place)
  }

  writeHeader(place: Place): void {
    if (!this.#hasHeader) this.#writeHeader(place)
  }

  finish(): void {
    const { model } = this
    const vendor = vendorOf(this.provider, model)
    this.into.about({ ...(model !== undefined && { model }), ...(vendor !== undefined && { vendor }) })
  }

  // --- internal ---

  #identity(meta: Json, place: Place): void {
    this.#isKnown = true
    const createdAt = timeOf(meta.timestamp) ?? place.time
    const [id, cwd] = [stringOf(meta.id), stringOf(meta.cwd)]
    this.into.about({
      ...(id !== undefined && { id }),
      ...(createdAt !== undefined && { createdAt }),
      ...(cwd !== undefined && { cwd }),
    })
    this.provider = stringOf(meta.model_provider) ?? this.provider
    this.#system = stringOf(isObject(meta.base_instructions) ? meta.base_instructions.text : meta.instructions)
    this.#tools = toolsOf(meta.dynamic_tools)
    this.#writeHeader(place)
  }

  #turnContext({ model, effort, summary }: Json, place: Place): void {
    this.model = stringOf(model) ?? this.model
    const openai = {
      ...(typeof effort === 'string' && { reasoningEffort: effort }),
      ...(typeof summary === 'string' && { reasoningSummary: summary }),
    }
    this.#settings = Object.keys(openai).length > 0 ? { providerOptions: { openai } } : {}
    this.#writeHeader(place)
  }

  #writeHeader(place: Place): void {
    this.#hasHeader = true
    const header = {
      model: this.model ?? '',
      settings: this.#settings,
      ...(this.#system !== undefined && { system: this.#system }),
      ...(this.#tools.length > 0 && { tools: this.#tools }),
    }
    this.into.log.header(header, place)
  }
}

/** Of two tools of one name, in two namespaces, the first. */
function toolsOf(tools: unknown) {
  const seen = new Set<string>()
  return objectsOf(tools).flatMap(([, { name, description, inputSchema }]) => {
    if (typeof name !== 'string' || seen.has(name)) return []
    seen.add(name)
    const schema = (isObject(inputSchema) ? inputSchema : { type: 'object' }) as JsonObject
    return [{ name, ...(typeof description === 'string' && { description }), inputSchema: schema }]
  })
}
