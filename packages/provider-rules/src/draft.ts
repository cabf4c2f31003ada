import type { JsonValue, Message, Part, ToolCallPart, ToolResultPart, ToolSchema } from '@palimpsest/session'
import type { Change, Left } from './heal.js'
import type { HealOptions, OutgoingRequest, RequestToHeal, Target } from './request.js'
import { FACTS, type TargetFacts } from './targets.js'

/** Where a piece comes from: indices in the messages that were given. */
export interface Origin {
  readonly message: number
  readonly part?: number
}

/** One part on its way out. `part` is replaced, never changed: it may belong to a log. */
export interface Piece<P extends Part = Part> {
  part: P
  readonly origin: Origin
  /** Of a call, once they are paired: its result, which follows the message. */
  answer?: Piece<ToolResultPart>
}

export interface Entry {
  readonly role: Message['role']
  readonly origin: Origin
  pieces: Piece[]
  /** As it was given. None: healing adds it. */
  readonly given?: Message
  /** A finding tells already why something of it is left out. */
  isExplained: boolean
}

/** The one working copy that all rules change in turn. It remembers where each piece came from. */
export class Draft {
  readonly facts: TargetFacts
  readonly model: string
  entries: Entry[]
  system: string | undefined
  tools: ToolSchema[]
  thinking: OutgoingRequest['thinking']
  toolChoice: OutgoingRequest['toolChoice']
  readonly changes: Change[] = []
  readonly #loss = new Map<string, Left>()
  readonly #seqs: readonly number[]

  constructor(
    request: RequestToHeal,
    readonly target: Target,
    readonly options: HealOptions,
  ) {
    this.facts = FACTS[target]
    this.model = request.model ?? ''
    this.system = request.system
    this.tools = request.tools ?? []
    this.#seqs = request.seqs ?? []
    this.entries = request.messages.map(entryOf)
  }

  get loss(): Left[] {
    return [...this.#loss.values()]
  }

  report(
    code: string,
    severity: Change['severity'],
    { message, part }: Origin,
    members: Record<string, JsonValue> = {},
  ): void {
    const seq = this.#seqs[message]
    this.changes.push({
      code,
      severity,
      message,
      ...(part !== undefined && { part }),
      ...(seq !== undefined && { seq }),
      members,
    })
  }

  lose(kind: Left['kind'], reason: string, count = 1): void {
    const key = `${kind} ${reason}`
    const left = this.#loss.get(key)
    if (left) left.count += count
    else this.#loss.set(key, { kind, count, reason })
  }

  /** Keeps the pieces that `keep` wants, of the entries that `role` has. */
  filter(role: Message['role'], keep: (piece: Piece, entry: Entry) => boolean): void {
    for (const entry of this.entries) {
      if (entry.role !== role) continue
      const kept = entry.pieces.filter(piece => keep(piece, entry))
      if (kept.length < entry.pieces.length) entry.pieces = kept
    }
  }

  /** Each call that the client runs, in order. */
  *calls(): Generator<{ piece: Piece<ToolCallPart>; entry: Entry }> {
    for (const entry of this.entries) for (const piece of entry.pieces) if (isClientCall(piece)) yield { piece, entry }
  }

  *results(): Generator<Piece<ToolResultPart>> {
    for (const entry of this.entries)
      if (entry.role === 'tool') for (const piece of entry.pieces) yield piece as Piece<ToolResultPart>
  }

  /** Runs of neighbouring assistant messages. What has become empty stands between none. */
  *runs(): Generator<Entry[]> {
    let run: Entry[] = []
    for (const entry of this.entries) {
      if (entry.pieces.length === 0) continue
      if (entry.role === 'assistant') run.push(entry)
      else if (run.length > 0) {
        yield run
        run = []
      }
    }
    if (run.length > 0) yield run
  }

  request(): OutgoingRequest {
    const { system, tools, thinking, toolChoice } = this
    return {
      messages: messagesOf(this.entries),
      ...(system !== undefined && { system }),
      tools,
      ...(thinking !== undefined && { thinking }),
      ...(toolChoice !== undefined && { toolChoice }),
    }
  }
}

export function isClientCall(piece: Piece): piece is Piece<ToolCallPart> {
  return piece.part.type === 'tool-call' && !piece.part.providerExecuted
}

/** An entry that healing adds, told of at the place of `origin`. */
export function added(role: Message['role'], part: Part, origin: Origin): Entry {
  return { role, origin, pieces: [{ part, origin }], isExplained: false }
}

/** The provider's own block, item or part, kept whole for it: nothing looks into it. */
export function isOpaque({ part }: Piece, { stateKey, whole }: TargetFacts): boolean {
  const state = part.providerOptions?.[stateKey]
  return whole.some(member => state?.[member] !== null && typeof state?.[member] === 'object')
}

export function messagesOf(entries: readonly Entry[]): Message[] {
  return entries.map(messageOf)
}

// --- internal ---

function entryOf(given: Message, message: number): Entry {
  return {
    role: given.role,
    origin: { message },
    pieces: (given.content as Part[]).map((part, i) => ({ part, origin: { message, part: i } })),
    given,
    isExplained: false,
  }
}

/** The very message that was given, where nothing of it changed. */
function messageOf({ role, pieces, given }: Entry): Message {
  if (given && given.content.length === pieces.length && pieces.every(({ part }, i) => part === given.content[i])) {
    return given
  }
  return { ...given, role, content: pieces.map(({ part }) => part) } as Message
}
