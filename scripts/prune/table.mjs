// The measured recordings as a table, and in sum.

const HEAD = ['recording', 'requests', 'appended', 'late', 'pruned', 'saved', 'at best', 'breaks', 'faults', 'recalled']

/** Markdown, a line a recording. Tokens are in thousands; `late` and `pruned` are those of an average late request. */
export function printTable(rows) {
  const lines = [HEAD, HEAD.map((_, i) => (i === 0 ? '---' : '--:')), ...rows.map(cells)]
  return lines.map(line => `| ${line.join(' | ')} |`).join('\n')
}

/** The rows' sum, as another row; `half` counts those of which half or more was saved, `nearBest` the part of the best. */
export function sumRows(rows) {
  const total = of => rows.reduce((sum, row) => sum + of(row), 0)
  return {
    files: rows.length,
    half: rows.filter(({ late, after }) => late - after >= late / 2).length,
    requests: total(row => row.requests),
    appended: total(row => row.appended),
    late: total(row => row.late),
    after: total(row => row.after),
    best: total(row => row.best),
    breaks: total(row => row.breaks),
    overBudget: rows.filter(({ breaks, allowed }) => breaks > allowed).length,
    faults: total(row => row.faults),
    pruned: total(row => row.pruned),
    recalled: total(row => row.recalled),
  }
}

export function percent(part, whole) {
  return `${whole === 0 ? 0 : Math.round((part / whole) * 1000) / 10} %`
}

// --- internal ---

function cells(row) {
  const { name, requests, lateRequests, appended, late, after, best, breaks, allowed, faults, pruned, recalled } = row
  const each = tokens => thousands(tokens / lateRequests)
  const saved = [percent(late - after, late), percent(best, late)]
  const counts = [`${breaks} of ${allowed}`, faults, `${recalled} of ${pruned}`]
  return [name, requests, thousands(appended), each(late), each(after), ...saved, ...counts]
}

function thousands(tokens) {
  return `${(tokens / 1000).toFixed(1)}k`
}
