// The table of targets: which measured figure is held against which other one, and what ratio is asked for.
// `id` is the shared bench's name for a case; a row without one comes from a file of own rows by its label.

const ours = 'palimpsest'
/** Its name in the shared bench. */
export const upstream = 'dsh'
/** The shared bench's bare write and `fdatasync`, or bare insert. */
const floor = 'limit'

/** `most`: the highest ratio that meets the target; `least`: the lowest; `absolute`: the highest value, without a peer. `peerId`: the peer's case, where it has another name. */
export const targets = [
  {
    label: 'append a 77 B chunk, log of 10⁵',
    suite: 'append',
    id: 'append chunk n=100000',
    field: 'cpuUsPerEvent',
    against: upstream,
    most: 0.5,
  },
  {
    label: '… against naive',
    suite: 'append',
    id: 'append chunk n=100000',
    field: 'cpuUsPerEvent',
    against: 'naive',
    most: 1.2,
  },
  {
    label: '… last against first tenth of a 10⁶ log',
    suite: 'append',
    id: 'append chunk n=1000000',
    field: 'cpuUsLastTenth',
    againstField: 'cpuUsFirstTenth',
    against: ours,
    most: 1.3,
  },
  {
    label: 'append a 2 KB message',
    suite: 'append',
    id: 'append msg2k n=100000',
    field: 'cpuUsPerEvent',
    against: upstream,
    most: 0.5,
  },
  {
    label: 'append a 100 KB tool result',
    suite: 'append',
    id: 'append tool100k n=1000',
    field: 'cpuUsPerEvent',
    against: 'naive',
    most: 1.3,
  },
  {
    label: 'chunk + deriveMessages() at 10⁵',
    suite: 'read',
    id: 'read chunk+messages n=100000',
    field: 'cpuUsPerStep',
    against: upstream,
    most: 0.01,
  },
  { label: 'message + deriveMessages() at 10⁵', most: 1.5 },
  { label: 'chunk + at / slice of the last ten at 10⁵', most: 3 },
  { label: 'replace one node + messages at 10⁵ nodes', most: 1.5 },
  {
    label: 'replace the first half of 10⁵ nodes',
    suite: 'replace',
    id: 'replace half n=100000',
    field: 'cpuUsReplace',
    against: upstream,
    most: 0.2,
  },
  {
    label: 'session from a borrowed seed of 10⁶',
    suite: 'seed',
    id: 'seed copy n=1000000',
    field: 'cpuMs',
    against: upstream,
    most: 1 / 3,
  },
  { label: 'fork: 10⁵ events against 12,000, equal surface', most: 1.5 },
  { label: 'append an agent’s turns through a host, invariants attached', most: 2 },
  { label: '… invariants disposed', most: 1.2 },
  {
    label: 'JSONL, one flush per event (tmpfs)',
    suite: 'durable',
    id: 'durable jsonl n=500 flush=1',
    peerId: 'durable jsonl-plain n=500 flush=1',
    field: 'cpuUsPerEvent',
    against: upstream,
    most: 0.2,
  },
  {
    label: 'JSONL, one flush per 200 events',
    suite: 'durable',
    id: 'durable jsonl n=10000 flush=200',
    peerId: 'durable jsonl-plain n=10000 flush=200',
    field: 'cpuUsPerEvent',
    against: upstream,
    most: 1 / 3,
  },
  {
    label: 'JSONL: durable append on a real disk',
    suite: 'durable',
    disk: true,
    id: 'durable jsonl n=500 flush=1',
    field: 'eventsPerS',
    against: floor,
    least: 0.8,
  },
  {
    label: 'JSONL: cold start to messages, 10⁵ events',
    suite: 'load',
    id: 'load jsonl',
    peerId: 'load jsonl-plain',
    field: 'cpuMs',
    against: upstream,
    most: 0.2,
  },
  {
    label: 'JSONL: last 100 events of 10⁵',
    suite: 'tail',
    id: 'load jsonl tail',
    field: 'cpuMs',
    absolute: 10,
    unit: 'ms',
  },
  {
    label: 'JSONL: 1,000 sessions × 10 events, all flushed',
    suite: 'sessions',
    id: 'sessions jsonl n=1000',
    peerId: 'sessions jsonl-plain n=1000',
    field: 'cpuMsTotal',
    against: upstream,
    most: 0.2,
  },
  {
    label: 'JSONL: … memory',
    suite: 'sessions',
    id: 'sessions jsonl n=1000',
    field: 'maxRssMB',
    absolute: 130,
    unit: 'MB',
  },
  {
    label: 'JSONL: bytes an event, flushed per event against per turn',
    suite: 'bytes',
    id: 'write jsonl flush=1',
    peerId: 'write jsonl flush=turn',
    field: 'bytesPerEvent',
    against: ours,
    most: 1.1,
  },
  {
    label: 'SQLite FULL, one flush per event (tmpfs)',
    suite: 'durable',
    id: 'durable sqlite n=500 flush=1',
    peerId: 'durable sqlite-full n=500 flush=1',
    field: 'cpuUsPerEvent',
    against: floor,
    most: 3,
  },
  {
    label: 'SQLite FULL, one flush per 200 events',
    suite: 'durable',
    id: 'durable sqlite n=10000 flush=200',
    peerId: 'durable sqlite-full n=10000 flush=200',
    field: 'cpuUsPerEvent',
    against: floor,
    most: 2.5,
  },
  {
    label: 'SQLite: cold start to messages, 10⁵ events',
    suite: 'load',
    id: 'load sqlite',
    peerId: 'load jsonl-plain',
    field: 'cpuMs',
    against: upstream,
    most: 0.2,
  },
  {
    label: 'SQLite: last 100 events of 10⁵',
    suite: 'tail',
    id: 'load sqlite tail',
    field: 'cpuMs',
    absolute: 10,
    unit: 'ms',
  },
  {
    label: 'SQLite: 1,000 sessions × 10 events, all flushed',
    suite: 'sessions',
    id: 'sessions sqlite n=1000',
    peerId: 'sessions jsonl-plain n=1000',
    field: 'cpuMsTotal',
    against: upstream,
    most: 0.2,
  },
  {
    label: 'SQLite: … memory',
    suite: 'sessions',
    id: 'sessions sqlite n=1000',
    field: 'maxRssMB',
    absolute: 130,
    unit: 'MB',
  },
  {
    label: 'SQLite: bytes an event, flushed per turn',
    suite: 'bytes',
    id: 'write sqlite flush=turn',
    field: 'bytesPerEvent',
    absolute: 60,
    unit: 'B',
  },
  {
    label: 'SQLite: … flushed per event against per turn',
    suite: 'bytes',
    id: 'write sqlite flush=1',
    peerId: 'write sqlite flush=turn',
    field: 'bytesPerEvent',
    against: ours,
    most: 1.1,
  },
  ...['JSONL', 'SQLite'].flatMap(name => [
    { label: `${name}: cold start to messages, 10⁶ events against 10⁵, equal surface`, most: 1.5 },
    { label: `${name}: resident memory for a turn's work on 10⁶ events`, absolute: 200, unit: 'MB' },
    { label: `${name}: list() of 10,000 sessions with titles`, absolute: 1000, unit: 'ms' },
    { label: `${name}: the command ls on 10,000 sessions`, absolute: 1000, unit: 'ms' },
    { label: `${name}: file handles left by list()`, absolute: 0, unit: '' },
  ]),
  { label: 'read Claude Code JSONL, against bare JSON.parse by line', most: 2.5 },
  { label: 'read Claude Code JSONL: CPU for a MB', absolute: 20, unit: 'ms' },
  { label: 'read 1 GB of Claude Code JSONL: resident memory', absolute: 300, unit: 'MB' },
  { label: 'the kernel, minified and gzipped', absolute: 15, unit: 'KB' },
  { label: 'import of the kernel', absolute: 10, unit: 'ms' },
]

/** Finds a row's two figures. `results` are the shared bench's records, `own` those of own-rows.mjs. */
export function judge(target, results, own) {
  const [value, peer] = figuresOf(target, results, own)
  if (value === undefined) return { ...target, verdict: 'not measured' }
  if (target.absolute !== undefined) return { ...target, value, verdict: value <= target.absolute ? 'met' : 'not met' }
  if (peer === undefined) return { ...target, value, verdict: 'no peer' }
  const ratio = value / peer
  const met = target.least === undefined ? ratio <= target.most : ratio >= target.least
  return { ...target, value, peer, ratio, verdict: met ? 'met' : 'not met' }
}

export function renderTable(rows) {
  const lines = rows.map(
    row =>
      `| ${[row.label, show(row.value), row.against ?? (row.absolute === undefined ? 'floor' : ''), show(row.peer), show(row.ratio), bound(row), row.verdict].join(' | ')} |`,
  )
  return [
    '| workload | ours | against | its figure | ratio | target | |',
    '|---|---|---|---|---|---|---|',
    ...lines,
  ].join('\n')
}

// --- internal ---

function figuresOf(target, results, own) {
  if (target.id === undefined) {
    const row = own.find(({ label }) => label === target.label)
    return [row?.values.ours, row?.values.floor]
  }
  const find = (subject, id, field) =>
    results.find(r => r.subject === subject && r.id === id && Boolean(r.disk) === Boolean(target.disk))?.result[field]
      ?.median
  const { id, field, against } = target
  return [find(ours, id, field), find(against, target.peerId ?? id, target.againstField ?? field)]
}

const show = value =>
  value === undefined ? '' : Math.abs(value) >= 100 ? Math.round(value).toLocaleString('en-US') : value.toPrecision(3)

const bound = ({ most, least, absolute, unit }) =>
  absolute !== undefined ? `≤ ${absolute} ${unit}`.trim() : least !== undefined ? `≥ ${least}` : `≤ ${most.toFixed(2)}`
