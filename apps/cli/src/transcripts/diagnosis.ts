import { type Change, type HealOptions, heal, type Target } from '@palimpsest/provider-rules'
import { closeInterruptedTurn, type JsonValue, type SessionEvent } from '@palimpsest/session'
import { type Finding, type Loss, type Reading, type RequestBody, writeRequest } from '@palimpsest/transcripts'
import { PROVIDER_FORMATS } from './export-formats.js'
import { inOrder } from './finding-order.js'
import type { LiveView } from './live-view.js'
import type { Read } from './read-file.js'

export interface DiagnosisOptions extends HealOptions {
  /** Left out: the protocol of whoever made its model. */
  target?: Target
  /** Of the next request. */
  model?: string
}

/** What is wrong with a transcript, and the request that its target would accept. */
export interface Diagnosis {
  format: string
  findings: Finding[]
  /** The members of the provider's body beside `target`, or `null` where there is nothing to send. */
  request: RequestBody | null
  fallbackRequest?: RequestBody
  /** What opening the session for work would append to its log. */
  appended: SessionEvent[]
  loss: Loss[]
  resume?: 'refused'
  /** No request can be made at all. */
  isUnreadable: boolean
  /** What the content is, where it was read as something else and nothing in it fits. */
  detected?: string
}

/** What is printed for programs. */
export function documentOf({ isUnreadable: _, detected: __, ...document }: Diagnosis) {
  return document
}

/** What a log and its reading say. A turn that its format left open is closed first, as recovery would. */
export function diagnose({ view, reading }: Read, options: DiagnosisOptions): Diagnosis {
  const { about, format = 'unknown' } = reading
  const { target = targetFor(reading) } = options
  const refused = about.resume === undefined ? {} : { resume: about.resume }
  const appended = about.resume === 'refused' ? [] : closeInterruptedTurn(view.openTurn)
  const closed = about.hasOwnTurns ? closeTurn(view, appended) : []
  const base = { format, appended, ...refused, isUnreadable: about.unreadable === true || reading.format === undefined }
  if (base.isUnreadable || view.seqs.length === 0) {
    return { ...base, findings: inOrder([...reading.findings, ...closed]), request: null, loss: [...reading.loss] }
  }
  const model = options.model ?? modelFor(target, reading)
  const structuredResults = STRUCTURED.has(format)
  const showsStarts = about.hasOwnTurns || about.showsStarts
  const started = showsStarts ? { started: new Set(view.started.keys()) } : {}
  // A body that says no to thinking goes on so.
  const thinking = options.thinking === 'keep' && about.thinking === 'disabled' ? 'off' : options.thinking
  const given = { ...options, ...(thinking && { thinking }), structuredResults, ...started }
  const healed = heal(requestOf(view, model), target, given)
  const body = (request: typeof healed.request) => ({
    target,
    ...(model !== undefined && { model }),
    ...writeRequest(target, request),
  })
  return {
    ...base,
    findings: inOrder(merge([...reading.findings, ...closed], findingsOf(healed.changes, view, about))),
    request: body(healed.request),
    ...(healed.fallback && { fallbackRequest: body(healed.fallback) }),
    loss: [...reading.loss, ...healed.loss],
  }
}

/** Of a provider's own messages its protocol, else that of whoever made the next model. */
export function targetFor({ format, about: { vendor } }: Reading): Target {
  const own = format && PROVIDER_FORMATS[format]
  if (own !== undefined) return own
  if (vendor === 'openai') return 'openai-responses'
  return (Object.keys(VENDORS) as Target[]).find(target => VENDORS[target] === vendor) ?? 'anthropic'
}

/** What is to be healed, in the terms of the log. */
export function requestOf(view: LiveView, model: string | undefined) {
  const { system, tools } = view.header ?? {}
  return {
    messages: view.messages,
    seqs: view.seqs,
    ...(system !== undefined && { system }),
    ...(tools !== undefined && { tools }),
    ...(model !== undefined && { model }),
  }
}

// --- internal ---

/** The model that the transcript would use next, if the target's vendor makes it. */
function modelFor(target: Target, { about: { model, vendor } }: Reading): string | undefined {
  return model !== undefined && vendor === VENDORS[target] ? model : undefined
}

const VENDORS: Record<Target, string> = {
  anthropic: 'anthropic',
  'openai-chat': 'openai',
  'openai-responses': 'openai',
  gemini: 'google',
  deepseek: 'deepseek',
}

const CLOSED: Record<string, string> = {
  TOOL_NOT_STARTED: 'call.not-started',
  TOOL_OUTCOME_UNKNOWN: 'call.outcome-unknown',
}

/** Appends what recovery would, and tells of it. */
function closeTurn(view: LiveView, closing: readonly SessionEvent[]): Finding[] {
  const start = view.openTurn[0]
  if (start === undefined || closing.length === 0) return []
  const where = (seq: number) => view.placeOf(seq)?.where ?? 'file'
  const { turn } = start.data as { turn: number }
  const findings: Finding[] = [{ code: 'turn.open', severity: 'error', where: where(start.seq), turn }]
  for (const event of closing) {
    const code = event.type === 'tool/result' ? CLOSED[event.data.error?.code ?? ''] : undefined
    const source = event.sourceEventSeqs?.[0]
    const place = { where: source === undefined ? 'file' : where(source) }
    if (code !== undefined && event.type === 'tool/result') {
      findings.push({ code, severity: 'error', ...place, id: event.data.toolCallId })
    }
    view.add(event, place)
  }
  return findings
}

function findingsOf(changes: readonly Change[], view: LiveView, { hasOwnTurns }: Reading['about']): Finding[] {
  const places = view.placesOfNodes()
  const whereOf = (message: number, part?: number): string => {
    const place = places[Math.min(message, places.length - 1)]!
    return (part === undefined ? undefined : place.parts?.[part]) ?? place.where
  }
  // A call that began is told of where it began, which a log of its own events shows.
  const placeOf = (code: string, { id }: Change['members']) =>
    hasOwnTurns && code === 'call.outcome-unknown' ? view.started.get(String(id))?.where : undefined
  const told = (value: JsonValue): JsonValue => {
    const isPlace =
      value !== null && typeof value === 'object' && !Array.isArray(value) && typeof value.message === 'number'
    return isPlace ? whereOf(Number(value.message), value.part as number | undefined) : value
  }
  return changes.map(({ code, severity, message, part, members }) => ({
    code,
    severity,
    where: ofItem(code, placeOf(code, members) ?? whereOf(message, part)),
    ...Object.fromEntries(Object.entries(members).map(([name, value]) => [name, told(value)])),
  }))
}

/** Where a result is a value by design, and no text. */
const STRUCTURED: ReadonlySet<string> = new Set(['palimpsest', 'gemini-cli', 'gemini-contents', 'ai-sdk-stream'])

/** An item is a member of the list, not a part of its content. */
function ofItem(code: string, where: string): string {
  return code.startsWith('item.') ? where.replace(/\.content\[\d+\]$/, '') : where
}

/** What reading has reported is not reported again by healing; of characters it has told record by record. */
function merge(read: readonly Finding[], healed: readonly Finding[]): Finding[] {
  const key = ({ code, where }: Finding) => (code.startsWith('text.') ? code : `${code} ${where}`)
  const known = new Set(read.map(key))
  return [...read, ...healed.filter(finding => !known.has(key(finding)))]
}
