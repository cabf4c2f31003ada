import type { ToolCallPart, ToolResultPart } from '@palimpsest/session'
import { digest } from '../digest.js'
import { added, type Draft, type Entry, isClientCall, type Piece } from '../draft.js'
import { TARGETS } from '../request.js'
import type { Rule } from '../rule.js'
import { NOT_STARTED, OUTCOME_UNKNOWN } from '../texts.js'

/**
 * After it each call has exactly one result, and the results of a message stand right behind it: in the order in which
 * they were stored, with the ones that are made up behind those of the calls before them.
 */
export const callsAndResultsPair: Rule = {
  name: 'calls-and-results-pair',
  targets: TARGETS,
  codes: [
    'call.unanswered',
    'call.outcome-unknown',
    'call.not-started',
    'call.unusable',
    'call.duplicate-id',
    'call.missing-id',
    'id.missing',
    'id.reused',
    'result.orphan',
    'result.duplicate',
    'order.result-late',
  ],
  source:
    'anthropics/claude-code#1237, openclaw/openclaw#4739, OpenHands/software-agent-sdk#1782, Yanyutin753/LambChat#496',
  healing: 'each call gets its result, an error result if it has none; results without a call are not sent',
  heal(draft) {
    const pairing = new Pairing(draft)
    for (const entry of draft.entries) pairing.read(entry)
    draft.entries = pairing.write()
  },
}

// --- internal ---

interface Call {
  readonly piece: Piece<ToolCallPart>
  /** Left out while its message is read, and of one that is not sent. */
  run?: Run
  readonly turn: number
  /** One that nothing can be paired with: it goes, and its result with it. */
  readonly isUnusable: boolean
  /** Shares its id with a call that is open: no result is known to be its own. */
  isDoubtful: boolean
}

interface Answer {
  readonly piece: Piece<ToolResultPart>
  readonly from: Entry
}

/** Assistant messages whose results stand behind the last one of them. */
interface Run {
  last: Entry
  readonly calls: Call[]
  readonly answers: Answer[]
  /** Something else came since: a result is late. */
  isPassed: boolean
}

class Pairing {
  readonly #draft: Draft
  #run: Run | undefined
  #turn = 0
  readonly #byId = new Map<string, Call[]>()
  readonly #calls = new Map<Piece, Call>()
  readonly #answered = new Map<Call, Piece>()
  readonly #collapsed = new Set<Piece>()
  readonly #runs = new Map<Entry, Run>()
  /** Unanswered calls of the turn. */
  #open = new Set<Call>()

  constructor(draft: Draft) {
    this.#draft = draft
  }

  read(entry: Entry): void {
    if (entry.pieces.length === 0) return
    if (entry.role === 'assistant') this.#readAnswer(entry)
    else if (entry.role === 'tool') {
      for (const piece of entry.pieces) this.#readResult(piece as Piece<ToolResultPart>, entry)
    } else {
      if (this.#run) this.#run.isPassed = true
      this.#turn++
      this.#open = new Set()
    }
  }

  write(): Entry[] {
    const entries: Entry[] = []
    for (const entry of this.#draft.entries) {
      if (entry.role === 'tool') continue
      entry.pieces = entry.pieces.filter(piece => !this.#collapsed.has(piece))
      entries.push(entry)
      const run = this.#runs.get(entry)
      if (run?.last === entry) entries.push(...this.#results(run))
    }
    return entries
  }

  #readAnswer(entry: Entry): void {
    const calls = entry.pieces.filter(isClientCall).filter(piece => this.#readCall(piece, entry))
    if (entry.pieces.every(piece => this.#collapsed.has(piece))) return
    const run = this.#runFor(calls.length > 0, entry)
    if (calls.length > 0) run.last = entry
    this.#runs.set(entry, run)
    for (const piece of calls) {
      const call = this.#calls.get(piece)!
      call.run = run
      run.calls.push(call)
    }
  }

  #runFor(hasCalls: boolean, entry: Entry): Run {
    const run = this.#run
    const goesOn =
      run !== undefined &&
      !run.isPassed &&
      this.#draft.facts.joins &&
      run.answers.length === 0 &&
      (hasCalls || run.calls.length === 0)
    if (goesOn) return run
    if (run) run.isPassed = true
    this.#run = { last: entry, calls: [], answers: [], isPassed: false }
    return this.#run
  }

  /** Whether it is sent. */
  #readCall(piece: Piece<ToolCallPart>, entry: Entry): boolean {
    const isUnusable = !piece.part.toolCallId && !piece.part.toolName
    const call: Call = { piece, turn: this.#turn, isUnusable, isDoubtful: false }
    if (isUnusable) {
      this.#draft.report('call.unusable', 'error', piece.origin)
      this.#draft.lose('call', 'neither id nor name')
      entry.isExplained = true
      this.#collapsed.add(piece)
    } else {
      if (!piece.part.toolCallId) this.#giveId(piece)
      if (this.#isDuplicate(call, entry)) return false
    }
    this.#calls.set(piece, call)
    const { toolCallId } = piece.part
    const namesakes = this.#byId.get(toolCallId)
    if (namesakes) namesakes.push(call)
    else this.#byId.set(toolCallId, [call])
    if (!call.isDoubtful) this.#open.add(call)
    return !isUnusable
  }

  /** By its place, so that the same history gives the same id. */
  #giveId(piece: Piece<ToolCallPart>): void {
    const { message, part } = piece.origin
    const toolCallId = `call_${digest(`${message} ${part} ${piece.part.toolName}`)}`
    piece.part = { ...piece.part, toolCallId }
    this.#draft.report('call.missing-id', 'info', piece.origin, { id: toolCallId })
  }

  /** Whether it is another call's double. One that only shares the id of an open call becomes doubtful. */
  #isDuplicate(call: Call, entry: Entry): boolean {
    const id = call.piece.part.toolCallId
    const others = this.#byId.get(id) ?? []
    const other = others.findLast(({ turn, isDoubtful }) => turn === call.turn && !isDoubtful)
    const first = others[0]
    if (other && (!this.#answered.has(other) || haveOneItem(call, other))) {
      const isSame = isSameCall(call.piece.part, other.piece.part)
      const item = itemIdOf(call.piece.part)
      const told = isSame && item !== undefined && haveOneItem(call, other) ? item : id
      if (isSame || !this.#answered.has(other)) {
        const action = isSame ? 'collapsed' : 'renamed'
        this.#draft.report('call.duplicate-id', 'error', call.piece.origin, { id: told, action })
        call.isDoubtful = !isSame
        if (isSame) this.#collapsed.add(call.piece)
        if (isSame) entry.isExplained = true
        return isSame
      }
    }
    if (first) this.#draft.report('id.reused', 'info', call.piece.origin, { id, first: { ...first.piece.origin } })
    return false
  }

  #readResult(piece: Piece<ToolResultPart>, from: Entry): void {
    const id = piece.part.toolCallId
    const call = id ? this.#nearest(id) : this.#only()
    if (call === undefined) {
      this.#drop(piece, id)
      return
    }
    const kept = this.#answered.get(call)
    if (kept) {
      this.#draft.report('result.duplicate', 'error', piece.origin, { id, kept: { ...kept.origin } })
      this.#draft.lose('result', 'a second result for one call')
      return
    }
    this.#open.delete(call)
    this.#answered.set(call, piece)
    const { run } = call
    if (run === undefined) {
      this.#draft.lose('result', 'of a call with neither id nor name')
      return
    }
    if (!id) {
      const inferred = call.piece.part.toolCallId
      this.#draft.report('id.missing', 'error', piece.origin, { inferred })
      piece.part = { ...piece.part, toolCallId: inferred }
    }
    if (run.isPassed) this.#draft.report('order.result-late', 'error', piece.origin, { id: piece.part.toolCallId })
    call.piece.answer = piece
    run.answers.push({ piece, from })
  }

  #drop(piece: Piece<ToolResultPart>, id: string): void {
    if (id) this.#draft.report('result.orphan', 'error', piece.origin, { id })
    else this.#draft.report('id.missing', 'error', piece.origin)
    this.#draft.lose('result', id ? 'a result without its call' : 'a result without id')
  }

  #nearest(id: string): Call | undefined {
    return this.#byId.get(id)?.findLast(({ isDoubtful, isUnusable }) => !isDoubtful && !isUnusable)
  }

  /** A result without an id belongs to the one call that waits. Of several, none is guessed. */
  #only(): Call | undefined {
    return this.#open.size === 1 ? [...this.#open][0] : undefined
  }

  #results(run: Run): Entry[] {
    const answers = [...run.answers]
    run.calls.forEach((call, i) => {
      if (call.piece.answer) return
      const { toolCallId, toolName } = call.piece.part
      const { origin } = call.piece
      const fate = this.#fateOf(call)
      if (!call.isDoubtful) this.#draft.report(fate, 'error', origin, { id: toolCallId })
      const before = run.calls[i - 1]?.piece.answer
      const part: ToolResultPart = {
        type: 'tool-result',
        toolCallId,
        toolName,
        output: { type: 'error-text', value: fate === 'call.not-started' ? NOT_STARTED : OUTCOME_UNKNOWN },
      }
      const from = added('tool', part, origin)
      const piece = from.pieces[0] as Piece<ToolResultPart>
      call.piece.answer = piece
      answers.splice(answers.findIndex(answer => answer.piece === before) + 1, 0, { piece, from })
    })
    return grouped(answers)
  }

  /** Of a call without a result. */
  #fateOf({ piece, isDoubtful }: Call): 'call.unanswered' | 'call.outcome-unknown' | 'call.not-started' {
    const { started } = this.#draft.options
    if (started === undefined || isDoubtful) return 'call.unanswered'
    return started.has(piece.part.toolCallId) ? 'call.outcome-unknown' : 'call.not-started'
  }
}

function haveOneItem(one: Call, other: Call): boolean {
  const item = itemIdOf(one.piece.part)
  return item !== undefined && item === itemIdOf(other.piece.part)
}

function itemIdOf({ providerOptions }: ToolCallPart): string | undefined {
  const id = providerOptions?.openai?.itemId
  return typeof id === 'string' ? id : undefined
}

function isSameCall(one: ToolCallPart, other: ToolCallPart): boolean {
  return one.toolName === other.toolName && argumentsOf(one) === argumentsOf(other)
}

function argumentsOf({ input, rawInput }: ToolCallPart): string {
  return rawInput ?? JSON.stringify(input)
}

/** Results that came in one message stay in one. */
function grouped(answers: readonly Answer[]): Entry[] {
  const entries: { entry: Entry; from: Entry }[] = []
  for (const { piece, from } of answers) {
    const last = entries.at(-1)
    if (last?.from === from) last.entry.pieces.push(piece)
    else entries.push({ from, entry: { ...from, pieces: [piece] } })
  }
  return entries.map(({ entry }) => entry)
}
