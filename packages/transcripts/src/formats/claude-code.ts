import type { Format, Head, Import } from '../format.js'
import { stringOf } from '../json/shapes.js'
import { vendorOf } from '../vendor.js'
import { conversationsOf, reportCopies } from './claude-code/conversations.js'
import { planLineage } from './claude-code/lineage.js'
import { isMarkedRecord } from './claude-code/record.js'
import { indexRows } from './claude-code/row-index.js'
import { FLAG } from './claude-code/row-kinds.js'
import { RowReader } from './claude-code/row-reader.js'
import { RowWriter } from './claude-code/row-writer.js'

/** Sessions that Claude Code keeps: a JSONL file of rows that form a tree. */
export const claudeCode: Format = { name: 'claude-code', detect: isClaudeCode, import: importClaudeCode }

// --- internal ---

function isClaudeCode({ records, text }: Head): boolean {
  if (records.length > 0) return records.some(isMarkedRecord)
  // The first row is longer than the head.
  return /"parentUuid":(?:null|")/.test(text) && /"isSidechain":/.test(text)
}

/** Twice over the file: which rows make the conversation is known only at its end, and no more than their index is kept. */
function importClaudeCode(into: Import): void {
  const { source, conversation, report } = into
  const rows = indexRows(source, report)
  const reader = new RowReader(source, rows)
  reportCopies(rows, report)
  const conversations = conversationsOf(rows, report)
  const { count } = conversations
  if (count > 1) report({ code: 'file.conversations', severity: 'info', where: 'file', conversations: count })
  const lineage = planLineage(rows, conversations.members(conversation), reader, report)
  const writer = new RowWriter(into, rows, lineage, reader)
  writer.run()
  into.log.isLossless = false
  into.log.finish({ where: `line ${rows.lines[rows.length - 1] ?? 1}` })
  const { model } = writer
  into.about({ conversations: count, ...(model !== undefined && { model, vendor: vendorOf('anthropic', model)! }) })
  const first = firstRow(rows, lineage.segments)
  const record = first < 0 ? undefined : reader.record(first)
  const [id, cwd] = [stringOf(record?.sessionId), stringOf(record?.cwd)]
  const createdAt = first < 0 ? Number.NaN : rows.times[first]!
  into.about({
    ...(id !== undefined && { id }),
    ...(cwd !== undefined && { cwd }),
    ...(Number.isFinite(createdAt) && { createdAt }),
  })
}

/** The first message of the conversation. */
function firstRow(rows: ReturnType<typeof indexRows>, segments: Int32Array): number {
  for (let row = 0; row < rows.length; row++) if (segments[row]! >= 0 && rows.is(row, FLAG.message)) return row
  return -1
}
