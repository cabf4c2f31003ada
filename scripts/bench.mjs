// `npm run bench`: every subject in one run, then the table of targets. Options: --quick, --only WORD, --disk DIR.
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { judge, renderTable, targets, upstream } from '../benches/targets.mjs'
import { benchNode, havePeers, peersFolder } from './bench-peers.mjs'
import { readOptions } from './options.mjs'
import { prepare, root } from './prepare.mjs'

const shared = join(root, '../shared/bench/bench.mjs')
const { values: options } = readOptions('npm run bench -- [--quick] [--only WORD] [--disk DIR]', {
  quick: { type: 'boolean' },
  only: { type: 'string' },
  disk: { type: 'string' },
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
for (const suite of new Set(wanted.filter(t => t.suite && !t.disk).map(t => t.suite))) {
  const cases = wanted.filter(t => t.suite === suite && !t.disk)
  // Our database driver is compiled for the Node that runs here, upstream's stores need a newer one: a run for each.
  const ofSqlite = cases.filter(({ id }) => id.includes('sqlite'))
  const needsOther = cases.length > ofSqlite.length || cases.some(({ against }) => against === upstream)
  if (needsOther) run(suite, ramDisk, { node: benchNode(), backends: 'jsonl,jsonl-plain' })
  if (ofSqlite.length > 0) run(suite, ramDisk, { node: process.execPath, backends: 'sqlite,sqlite-full' })
}
if (wanted.some(t => t.disk))
  run('durable', options.disk ?? tmpdir(), { node: benchNode(), backends: 'jsonl', disk: true })
const own = runOwnRows(wanted.filter(t => t.suite === undefined).map(({ label }) => label))
console.log(`\n${renderTable(wanted.map(target => judge(target, results, own)))}`)

// --- internal ---

/** One suite over every subject that has these backends, all on one Node. */
function run(suite, parent, { node, backends, disk = false }) {
  const isOurNode = backends.includes('sqlite')
  const subjects = [ours, 'limit', ...(isOurNode ? [] : ['naive', ...(havePeers() && !disk ? [upstream] : [])])]
  const data = mkdtempSync(join(parent, 'palimpsest-bench-'))
  const out = join(data, 'results.jsonl')
  const args = ['--subject', subjects.join(), '--suite', suite, '--data', join(data, 'store'), '--out', out]
  const modules = isOurNode ? root : havePeers() ? peersFolder : undefined
  try {
    mkdirSync(join(data, 'store'))
    writeFileSync(out, '')
    spawnSync(node, [shared, ...args, '--backend', backends, ...(options.quick ? ['--quick'] : [])], {
      stdio: ['ignore', 'inherit', 'inherit'],
      env: { ...process.env, ...(modules && { BENCH_MODULES: modules }) },
    })
    for (const line of readFileSync(out, 'utf8').trim().split('\n').filter(Boolean)) {
      const record = JSON.parse(line)
      results.push({ ...record, disk, subject: record.subject === ours ? 'palimpsest' : record.subject })
    }
  } finally {
    rmSync(data, { recursive: true, force: true })
  }
}

/** The rows that the shared bench has no workload for; each file measures those of these labels that it knows. */
function runOwnRows(labels) {
  if (labels.length === 0) return []
  const files = ['own-rows.mjs', 'kernel-rows.mjs', ...(options.quick ? [] : ['store-rows.mjs', 'transcript-rows.mjs'])]
  const output = files.map(file => {
    const args = ['--expose-gc', join(root, 'benches', file), '--rows', JSON.stringify(labels)]
    return execFileSync(process.execPath, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] })
  })
  process.stdout.write(output.join(''))
  return output
    .join('')
    .split('\n')
    .filter(Boolean)
    .map(line => JSON.parse(line))
}
