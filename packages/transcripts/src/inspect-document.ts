import type { Finding } from './finding.js'
import { inspectRecord } from './inspect.js'

/**
 * `inspectRecord` for each entry of a list in a JSON document: `where` is the innermost list member that holds the
 * character, `path` a pointer from the entry.
 */
export function inspectDocument(
  text: string,
  entries: readonly unknown[],
  path: string,
  report: (finding: Finding) => void,
): void {
  if (!RISKY.test(text)) return
  for (const [i, entry] of entries.entries()) inspectEntry(entry, `${path}[${i}]`, report)
}

// --- internal ---

const RISKY = /\\u[dD][89a-fA-F]|\\u0000/

function inspectEntry(value: unknown, where: string, report: (finding: Finding) => void): void {
  const seen: Finding[] = []
  const visit = (each: unknown, at: string): void => {
    if (typeof each === 'string') inspectRecord(JSON.stringify(each), each, at, finding => void seen.push(finding))
    else if (Array.isArray(each)) for (const [i, item] of each.entries()) visit(item, `${at}[${i}]`)
    else if (each !== null && typeof each === 'object') {
      for (const [key, item] of Object.entries(each))
        visit(item, Array.isArray(item) || key === 'content' ? `${at}.${key}` : at)
    }
  }
  visit(value, where)
  const lone = seen.filter(({ code }) => code === 'text.lone-surrogate')
  if (lone.length > 0) {
    const count = lone.reduce((sum, finding) => sum + Number(finding.count), 0)
    report({ ...lone[0]!, where: lone.length === 1 ? lone[0]!.where : where, count })
  }
  for (const finding of seen) if (finding.code !== 'text.lone-surrogate') report(finding)
}
