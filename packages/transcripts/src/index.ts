export { readDocument } from './document.js'
export { EXPORTERS, type ExportEntry, type Exported, type Exporter, type ExportInput, exportTo } from './export.js'
export type { Finding, Loss, LossKind, Severity } from './finding.js'
export { type About, FORMAT_NAMES, type FormatName } from './format.js'
export { RawJson, stringifyRaw } from './json/raw-json.js'
export type { EventSink } from './log-builder.js'
export type { Place } from './place.js'
export { type LineRecord, readRecords } from './records.js'
export type { Outgoing, RequestBody } from './requests/outgoing.js'
export { REQUEST_TARGETS, writeRequest } from './requests/write-request.js'
export { bytesSource, readText, type Source } from './source.js'
export {
  detectFormat,
  type Reading,
  type ReadOptions,
  readTranscript,
  streamTranscript,
  type Transcript,
} from './transcript.js'
