import type { Message, RequestHeader, SessionEvent } from '@palimpsest/session'
import type { Place } from '@palimpsest/transcripts'

interface Node {
  readonly event: SessionEvent
  readonly place: Place
  /** What it took the place of; empty where nothing is kept. */
  readonly shadowed: readonly Node[]
}

/** What of a log the next request needs: the visible messages, the last request header, the open turn. */
export class LiveView {
  header: SessionEvent<'request/header'>['data'] | undefined
  #nodes: Node[] = []
  #openTurn: SessionEvent[] = []
  readonly #keepsShadowed: boolean
  readonly #turnPlaces = new Map<number, Place>()
  readonly #started = new Map<string, Place>()

  /** `keepsShadowed`: for logs that may restore what was replaced. Without it, memory follows the surface. */
  constructor({ keepsShadowed = false } = {}) {
    this.#keepsShadowed = keepsShadowed
  }

  /** Nothing was said in any visible message. */
  get isEmpty(): boolean {
    return this.messages.every(({ content }) => content.length === 0)
  }

  /** The visible events, in surface order. */
  get events(): SessionEvent[] {
    return this.#nodes.map(({ event }) => event)
  }

  get messages(): Message[] {
    return this.#nodes.map(({ event }) => (event.data as { message: Message }).message)
  }

  get seqs(): number[] {
    return this.#nodes.map(({ event }) => event.seq)
  }

  /** The events since the last `turn/start`, empty where it was ended. */
  get openTurn(): readonly SessionEvent[] {
    return this.#openTurn
  }

  /** By their ids, the calls that began and have no result, with where they began. */
  get started(): ReadonlyMap<string, Place> {
    return this.#started
  }

  /** Of an event of the open turn or of a visible one. */
  placeOf(seq: number): Place | undefined {
    return this.#turnPlaces.get(seq) ?? this.#nodes.find(({ event }) => event.seq === seq)?.place
  }

  placesOfNodes(): Place[] {
    return this.#nodes.map(({ place }) => place)
  }

  /** What is known of a log without its events in order: its visible ones, its open turn, and which calls began. */
  begin(visible: readonly SessionEvent[], openTurn: readonly SessionEvent[], started: readonly SessionEvent[]): void {
    this.#nodes = visible.map(event => ({ event, place: placeInLog(event), shadowed: [] }))
    for (const event of openTurn) this.#followTurn(event, placeInLog(event))
    for (const event of started as SessionEvent<'tool/call'>[]) {
      this.#started.set(event.data.toolCallId, placeInLog(event))
    }
  }

  readonly add = (event: SessionEvent, place: Place): void => {
    if (event.type === 'request/header') this.header = event.data as RequestHeader
    if (event.type === 'tool/call') this.#started.set(event.data.toolCallId, place)
    if (event.type === 'tool/result') this.#started.delete(event.data.toolCallId)
    this.#followTurn(event, place)
    const { surfaceOp } = event
    if (surfaceOp === 'append') this.#nodes.push({ event, place, shadowed: [] })
    else if (surfaceOp?.op === 'replace') this.#replace(event, place, surfaceOp)
    else if (surfaceOp?.op === 'restore') this.#restore(surfaceOp.node)
  }

  // --- internal ---

  #followTurn(event: SessionEvent, place: Place): void {
    if (event.type === 'turn/start') {
      this.#openTurn = []
      this.#turnPlaces.clear()
    }
    if (event.type === 'turn/start' || this.#openTurn.length > 0) {
      this.#openTurn.push(event)
      this.#turnPlaces.set(event.seq, place)
    }
    if (event.type === 'turn/end') this.#openTurn = []
  }

  #replace(event: SessionEvent, place: Place, { start, end }: { start: number; end: number }): void {
    const from = this.#indexOf(start)
    const shadowed = this.#nodes.slice(from, this.#indexOf(end) + 1)
    this.#nodes.splice(from, shadowed.length, { event, place, shadowed: this.#keepsShadowed ? shadowed : [] })
  }

  #restore(node: number): void {
    const at = this.#indexOf(node)
    this.#nodes.splice(at, 1, ...this.#nodes[at]!.shadowed)
  }

  #indexOf(seq: number): number {
    return this.#nodes.findIndex(({ event }) => event.seq === seq)
  }
}

// --- internal ---

function placeInLog({ seq }: SessionEvent): Place {
  return { where: `seq ${seq}` }
}
