import { isObject, type Json } from '../../json/shapes.js'

/** A row as the agent writes it, told from objects that lie inside rows: messages, blocks, results, copies of progress. */
export function isClaudeRecord(value: Json): boolean {
  if (typeof value.type !== 'string') return false
  if ('parentUuid' in value || typeof value.sessionId === 'string') return true
  return SIDE_MEMBERS.some(([type, member]) => value.type === type && member in value)
}

/** The same, where a whole file is asked about: rows of the tree, and the side rows that only this agent writes. */
export function isMarkedRecord(value: Json): boolean {
  const isTree = typeof value.uuid === 'string' && 'parentUuid' in value
  return (
    (isTree && TREE.has(String(value.type))) ||
    SIDE_MEMBERS.some(([type, member]) => value.type === type && member in value)
  )
}

/** How the text begins that the agent puts in where a person stopped it. */
export const INTERRUPTED = '[Request interrupted by user'

/** The origin of a summary. */
export const COMPACTION = 'compaction'

export function messageOf(record: Json): Json | undefined {
  return isObject(record.message) ? record.message : undefined
}

/** The blocks of a message. A text is one block; `at` is left out there. */
export function blocksOf({ content }: Json): { block: Json; at?: number }[] {
  if (typeof content === 'string') return [{ block: { type: 'text', text: content } }]
  if (!Array.isArray(content)) return []
  const blocks: { block: Json; at?: number }[] = []
  for (const [at, block] of content.entries()) {
    if (typeof block === 'string') blocks.push({ block: { type: 'text', text: block }, at })
    else if (isObject(block)) blocks.push({ block, at })
  }
  return blocks
}

// --- internal ---

const TREE = new Set(['user', 'assistant', 'system', 'progress', 'attachment'])

/** Side rows without a session id, and side rows that can be alone in a file. */
const SIDE_MEMBERS = [
  ['summary', 'leafUuid'],
  ['file-history-snapshot', 'snapshot'],
  ['file-history-delta', 'snapshotMessageId'],
  ['queue-operation', 'operation'],
  ['custom-title', 'customTitle'],
  ['ai-title', 'aiTitle'],
  ['agent-name', 'agentName'],
  ['last-prompt', 'lastPrompt'],
  ['last-prompt', 'leafUuid'],
  ['permission-mode', 'permissionMode'],
  ['pr-link', 'prNumber'],
] as const
