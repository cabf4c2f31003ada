import { crc32 } from 'node:zlib'
import { isKnownType, isSurfaceType, type JsonObject, SESSION_FORMAT_VERSION } from '@palimpsest/session'
import type { Format, Import } from '../format.js'
import { inspectRecord } from '../inspect.js'
import { losslessJson } from '../json/lossless.js'
import { isObject, type Json, listOf, numberOf, stringOf } from '../json/shapes.js'
import { type LineRecord, readRecords } from '../records.js'
import { SequencedLog } from '../sequenced-log.js'
import { vendorOf } from '../vendor.js'

/** Our own: a file of the JSONL store, each line with a checksum over what stands before it. */
export const palimpsest: Format = {
  name: 'palimpsest',
  detect: ({ records }) => records.some(isRecord),
  import: importLog,
}

// --- internal ---

function isRecord(value: Json): boolean {
  if (typeof value.crc !== 'string') return false
  return isHeader(value) || (typeof value.seq === 'number' && typeof value.type === 'string')
}

function isHeader(value: Json): boolean {
  return 'version' in value && 'createdAt' in value && typeof value.id === 'string'
}

function importLog(into: Import): void {
  into.about({ hasOwnTurns: true })
  const log = new OwnLog(into)
  for (const record of readRecords(into.source, { isRecord, report: into.report })) if (!log.read(record)) return
}

class OwnLog {
  readonly #into: Import
  readonly #log: SequencedLog
  /** A record that could not be trusted, and whether others came after it. */
  #isDamaged = false

  constructor(into: Import) {
    this.#into = into
    this.#log = new SequencedLog(into, 'palimpsest')
  }

  /** `false`: what follows may not be read. */
  read({ value: parsed, text, line }: LineRecord): boolean {
    const value = losslessJson(parsed) as Json
    const where = `line ${line}`
    if (!hasGoodCrc(text)) {
      this.#isDamaged = true
      this.#into.report({ code: 'file.torn-record', severity: 'error', where, damage: 'RECORD_DAMAGED' })
      this.#into.lose({ kind: 'record', count: 1, reason: 'its checksum does not match', where })
      return true
    }
    // A session with a hole in it opens read-only.
    if (this.#isDamaged) this.#into.about({ resume: 'refused' })
    // Halves of a character in a stream's pieces are none in its message.
    const isSent = isSurfaceType(String(value.type)) || value.type === 'request/header'
    if (isSent) inspectRecord(text, value, where, this.#into.report)
    return isHeader(value) && !('seq' in value) ? this.#header(value, where) : this.#event(value, where)
  }

  // --- internal ---

  #header({ id, version, createdAt, cwd, parent }: Json, where: string): boolean {
    if (typeof version === 'number' && version > SESSION_FORMAT_VERSION) {
      const supported = SESSION_FORMAT_VERSION
      this.#into.report({ code: 'format.newer', severity: 'error', where, file: version, supported })
      this.#into.about({ resume: 'refused', unreadable: true })
      return false
    }
    const created = numberOf(createdAt)
    this.#into.about({
      id: String(id),
      ...(created !== undefined && { createdAt: created }),
      ...(typeof cwd === 'string' && { cwd }),
    })
    const shared = isObject(parent) ? numberOf(parent.length) : undefined
    if (shared !== undefined && shared > 0) {
      const reason = 'in the part shared with its parent, which is a file of its own'
      this.#into.lose({ kind: 'record', count: shared, reason, where })
    }
    return true
  }

  #event(event: Json, where: string): boolean {
    const type = String(event.type)
    const time = numberOf(event.time)
    const { seq, surfaceOp, sourceEventSeqs } = event
    const data = (isObject(event.data) ? event.data : { value: event.data ?? null }) as JsonObject
    if (!isKnownType(type) && event.ignorable !== true) {
      this.#into.report({ code: 'format.unknown-required-event', severity: 'error', where, type })
      this.#into.about({ resume: 'refused' })
      return false
    }
    this.#follow(type, data)
    const own = { seq: numberOf(seq), type, data, surfaceOp, sourceEventSeqs }
    if (isSurfaceType(type) && !hasMessage(type, data)) this.#log.keep(own, { where, time })
    else this.#log.write(own, { where, time })
    return true
  }

  #follow(type: string, { model, message }: JsonObject): void {
    if (type === 'request/header' && typeof model === 'string' && model !== '') {
      const vendor = vendorOf(undefined, model)
      this.#into.about({ model, ...(vendor !== undefined && { vendor }) })
    }
    const options = isObject(message) && isObject(message.providerOptions) ? message.providerOptions.palimpsest : {}
    if (type !== 'assistant/message' || !isObject(options)) return
    const [by, vendor] = [stringOf(options.model), stringOf(options.vendor)]
    this.#into.about({ ...(by !== undefined && { model: by }), ...(vendor !== undefined && { vendor }) })
  }
}

const TAIL = /,"crc":"([0-9a-f]{8})"\}$/

/** CRC-32 of the line's bytes before its tail. */
function hasGoodCrc(text: string): boolean {
  const tail = TAIL.exec(text)
  return tail !== null && crc32(text.slice(0, tail.index)) === Number.parseInt(tail[1]!, 16)
}

const ROLES: Record<string, string> = { 'assistant/message': 'assistant', 'tool/result': 'tool' }

function hasMessage(type: string, { message }: JsonObject): boolean {
  if (!isObject(message) || message.role !== (ROLES[type] ?? 'user')) return false
  return Array.isArray(message.content) && listOf(message.content).every(isObject)
}
