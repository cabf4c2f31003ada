// `npm run bench`: every subject in one run, then the table of targets. Options: --quick, --only WORD, --disk DIR.
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { judge, renderTable, targets } from '../benches/targets.mjs'
import { benchNode, havePeers, peersFolder } from './bench-peers.mjs'
import { prepare, root } from './prepare.mjs'

const shared = join(root, '../shared/bench/bench.mjs')
const { values: options } = parseArgs({
  options: { quick: { type: 'boolean' }, only: { type: 'string' }, disk: { type: 'string' } },
})

if (!existsSync(shared)) {
  console.log('the shared bench (../shared/bench) is not beside this checkout: nothing to run')
  process.exit(0)
}
if (!(await prepare())) process.exit(1)
if (!havePeers()) console.log('upstream is not here: `npm run bench:peers` fetches it; its rows will say "no peer"')

const ramDisk = existsSync('/dev/shm') ? '/dev/shm' : tmpdir()
const ours = join(root, 'benches/palimpsest.subject.mjs')
const wanted = targets.filter(({ label }) => options.only === undefined || label.includes(options.only))
const results = []
for (const suite of new Set(wanted.filter(t => t.suite && !t.disk).map(t => t.suite))) run(suite, ramDisk, false)
if (wanted.some(t => t.disk)) run('durable', options.disk ?? tmpdir(), true)
const own = wanted.some(t => t.suite === undefined) ? runOwnRows() : []
console.log(`\n${renderTable(wanted.map(target => judge(target, results, own)))}`)

// --- internal ---

/** One suite over every subject. Upstream's stores need a newer Node, so then all subjects of the suite run on that one. */
function run(suite, parent, disk) {
  const subjects = [ours, 'naive', 'limit', ...(havePeers() && !disk ? ['dsh'] : [])]
  const data = mkdtempSync(join(parent, 'palimpsest-bench-'))
  const out = join(data, 'results.jsonl')
  const args = ['--subject', subjects.join(), '--suite', suite, '--data', join(data, 'store'), '--out', out]
  const backends = ['--backend', 'jsonl,jsonl-plain']
  try {
    mkdirSync(join(data, 'store'))
    writeFileSync(out, '')
    spawnSync(benchNode(), [shared, ...args, ...backends, ...(options.quick ? ['--quick'] : [])], {
      stdio: ['ignore', 'inherit', 'inherit'],
      env: { ...process.env, ...(havePeers() ? { BENCH_MODULES: peersFolder } : {}) },
    })
    for (const line of readFileSync(out, 'utf8').trim().split('\n').filter(Boolean)) {
      const record = JSON.parse(line)
      results.push({ ...record, disk, subject: record.subject === ours ? 'palimpsest' : record.subject })
    }
  } finally {
    rmSync(data, { recursive: true, force: true })
  }
}

function runOwnRows() {
  const args = ['--expose-gc', join(root, 'benches/own-rows.mjs'), ...(options.quick ? ['--quick'] : [])]
  const output = execFileSync(process.execPath, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] })
  process.stdout.write(output)
  return output
    .trim()
    .split('\n')
    .map(line => JSON.parse(line))
}
