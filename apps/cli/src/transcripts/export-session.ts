import { type HealOptions, heal, type Target } from '@palimpsest/provider-rules'
import { type ExportEntry, type Exported, exportTo, stringifyRaw, writeRequest } from '@palimpsest/transcripts'
import { CommandError } from '../failure.js'
import { requestOf } from './diagnosis.js'
import { EXPORT_TARGETS, PROVIDER_FORMATS } from './export-formats.js'
import type { Read } from './read-file.js'
import { redact } from './redact.js'

export interface ExportOptions extends HealOptions {
  model?: string
  redact?: boolean
  /** Whose rules the messages must meet where the format is nobody's. */
  target?: Target
}

/** The file that holds what the next request would, as `format` keeps it. */
export async function exportSession(
  { view, reading }: Read,
  format: string,
  options: ExportOptions,
): Promise<Exported> {
  if (view.seqs.length === 0) throw new CommandError('NOTHING_TO_EXPORT', 'expected messages, found none')
  const target = EXPORT_TARGETS[format] ?? options.target
  const request = requestOf(view, options.model ?? reading.about.model)
  const healed = target === undefined ? undefined : heal(request, target, options)
  const loss = [...reading.loss, ...(healed?.loss ?? [])]
  if (target !== undefined && format in PROVIDER_FORMATS) {
    const body = writeRequest(target, healed!.request)
    return { text: `${stringifyRaw(options.redact ? await redact(body) : body, 2)}\n`, loss }
  }
  const { messages = request.messages, ...rest } = healed?.request ?? {}
  const origins = healed?.origins ?? messages.map((_, i) => i)
  const entries = messages.map((message, i): ExportEntry => {
    const event = view.events[origins[i] ?? -1]
    return { message, ...(event && { event }) }
  })
  const input = { header: { ...reading.header, ...idOf(reading) }, entries, request: { ...view.header, ...rest } }
  const exported = exportTo(format, options.redact ? await redact(input) : input)
  return { text: exported.text, loss: [...loss, ...exported.loss] }
}

// --- internal ---

function idOf({ about, header }: Read['reading']): { id?: string } {
  const id = about.id ?? header.id
  return id === undefined ? {} : { id }
}
