import type { Finding } from './finding.js'
import { nestsTooDeep } from './json/depth.js'
import { unsafeNumbers } from './json/raw-text.js'
import { isObject } from './json/shapes.js'

/**
 * What the characters of one record have that providers or parsers trip over: halves of surrogate pairs, U+0000,
 * numbers that a double cannot hold, values deeper than a log holds. `text` is the record's own; a look at it for the risky ones is all that most cost.
 */
export function inspectRecord(text: string, value: unknown, where: string, report: (finding: Finding) => void): void {
  if (LONE_ESCAPE.test(text)) {
    const count = countLone(value)
    if (count > 0) report({ code: 'text.lone-surrogate', severity: 'error', where, count })
  }
  if (nestsTooDeep(text)) report({ code: 'value.too-deep', severity: 'info', where })
  if (text.includes('\\u0000')) report({ code: 'text.nul', severity: 'info', where })
  for (const { path, raw } of unsafeNumbers(text)) report({ code: 'number.unsafe', severity: 'info', where, path, raw })
}

/** Half a pair of surrogates. With `g`, so: for `replace` and `match` only. */
const LONE_SURROGATE = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g

// --- internal ---

const LONE_ESCAPE = /\\u[dD][89a-fA-F]/

function countLone(value: unknown): number {
  if (typeof value === 'string') return value.match(LONE_SURROGATE)?.length ?? 0
  if (Array.isArray(value)) return value.reduce((sum: number, each) => sum + countLone(each), 0)
  if (!isObject(value)) return 0
  return Object.entries(value).reduce((sum, [key, each]) => sum + countLone(key) + countLone(each), 0)
}
