// Replays every recorded conversation that is mostly tool results, with the automatic pruning at its defaults:
//   node scripts/prune-corpus.mjs [--left] [NAME]
// Late requests are the last quarter of a recording's requests, messages and header; tool-heavy is where at least half
// of their tokens are results. `at best` is what somebody who knew the whole recording could save with as many breaks.
// Prints a table, and with --left what was left out.
import { join } from 'node:path'
import { readOptions } from './options.mjs'
import { root } from './prepare.mjs'
import { pruneRecordings } from './prune/prune-recordings.mjs'
import { percent, printTable, sumRows } from './prune/table.mjs'

const { values, positionals } = readOptions(
  'node scripts/prune-corpus.mjs [--left] [NAME …]',
  { left: { type: 'boolean', default: false } },
  { allowPositionals: true },
)
const corpus = join(root, '..', 'shared', 'corpus')
const { rows, left } = await pruneRecordings(corpus, name => positionals.every(part => name.includes(part)))
if (rows.length === 0) {
  console.log(`SKIPPED: no tool-heavy recording found under ${join('..', 'shared', 'corpus')}`)
  process.exit(0)
}

console.log(printTable(rows))
console.log()
for (const format of [...new Set(rows.map(row => row.format))])
  tell(
    format,
    rows.filter(row => row.format === format),
  )
const total = tell('all', rows)
for (const [why, names] of Object.entries(left)) {
  console.log(`left out, ${why}: ${names.length}${values.left ? `\n  ${names.join('\n  ')}` : ''}`)
}
process.exitCode = total.faults === 0 && total.overBudget === 0 && total.recalled === total.pruned ? 0 : 1

// --- internal ---

function tell(name, some) {
  const total = sumRows(some)
  const { files, half, late, after, best, breaks, overBudget, faults, pruned, recalled, appended } = total
  console.log(
    `${name}: ${files} recordings; ${percent(late - after, late)} of the tokens of late requests saved (at best ` +
      `${percent(best, late)}), half or more in ${half}; ${breaks} breaks in ${appended} tokens appended, ` +
      `${overBudget} over budget; ${faults} faults; ${recalled} of ${pruned} results recalled`,
  )
  return total
}
