import type { Finding } from './finding.js'
import { inspectRecord } from './inspect.js'
import { nestsTooDeep } from './json/depth.js'
import { type JSONPath, RawTexts, unsafeNumbers } from './json/raw-text.js'

/**
 * `inspectRecord` for each entry of a list in a JSON document: `where` is the innermost list member that holds the
 * character, `path` a pointer from the entry. `list` is the way to the list, where it is not the document itself.
 */
export function inspectDocument(
  text: string,
  entries: readonly unknown[],
  path: string,
  report: (finding: Finding) => void,
  list: JSONPath = [],
): void {
  const isDeep = nestsTooDeep(text)
  const texts = isDeep || LONG_NUMBER.test(text) ? new RawTexts(text) : undefined
  if (texts === undefined && !RISKY.test(text)) return
  for (const [i, entry] of entries.entries()) {
    const where = `${path}[${i}]`
    inspectEntry(entry, where, report)
    const own = texts?.textAt([...list, i]) ?? ''
    if (isDeep && nestsTooDeep(own)) report({ code: 'value.too-deep', severity: 'info', where })
    for (const { path, raw } of unsafeNumbers(own)) {
      report({ code: 'number.unsafe', severity: 'info', where, path, raw })
    }
  }
}

// --- internal ---

const RISKY = /\\u[dD][89a-fA-F]|\\u0000/
const LONG_NUMBER = /[:[,]\s*-?(?:\d{16}|\d+\.\d{15}|[\d.]+[eE][+-]?\d)/
/** Deeper, nothing is looked at: what nests so is no message. */
const DEPTH = 500

function inspectEntry(value: unknown, where: string, report: (finding: Finding) => void): void {
  const seen: Finding[] = []
  const visit = (each: unknown, at: string, depth: number): void => {
    if (depth > DEPTH) return
    if (typeof each === 'string') inspectRecord(JSON.stringify(each), each, at, finding => void seen.push(finding))
    else if (Array.isArray(each)) for (const [i, item] of each.entries()) visit(item, `${at}[${i}]`, depth + 1)
    else if (each !== null && typeof each === 'object') {
      for (const [key, item] of Object.entries(each))
        visit(item, Array.isArray(item) || key === 'content' ? `${at}.${key}` : at, depth + 1)
    }
  }
  visit(value, where, 0)
  const lone = seen.filter(({ code }) => code === 'text.lone-surrogate')
  if (lone.length > 0) {
    const count = lone.reduce((sum, finding) => sum + Number(finding.count), 0)
    report({ ...lone[0]!, where: lone.length === 1 ? lone[0]!.where : where, count })
  }
  for (const finding of seen) if (finding.code !== 'text.lone-surrogate') report(finding)
}
