/** The age of an instant (epoch milliseconds) in its largest unit: `40s`, `3m`, `2h`, `5d`. */
export function age(time: number | undefined, now = Date.now()): string {
  // A session from elsewhere may have no times.
  if (time === undefined || time <= 0) return '–'
  const seconds = Math.max(0, Math.round((now - time) / 1000))
  if (seconds < 60) return `${seconds}s`
  if (seconds < 3600) return `${Math.floor(seconds / 60)}m`
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)}h`
  return `${Math.floor(seconds / 86_400)}d`
}

/** An instant in UTC, or the bare number where it is no date. */
export function instant(time: unknown): string {
  const date = new Date(typeof time === 'number' ? time : Number.NaN)
  return Number.isNaN(date.getTime()) ? String(time) : date.toISOString()
}

/** An instant in UTC, to the minute: `2026-01-05 09:00 UTC`. */
export function day(time: number): string {
  return instant(time).replace(/^(\d+-\d\d-\d\d)T(\d\d:\d\d).*$/, '$1 $2 UTC')
}

export function bytes(count: number | undefined): string {
  if (count === undefined) return '–'
  if (count < 1000) return `${count} B`
  const unit =
    count < 1e6 ? { size: 1e3, name: 'kB' } : count < 1e9 ? { size: 1e6, name: 'MB' } : { size: 1e9, name: 'GB' }
  return `${(count / unit.size).toFixed(count / unit.size < 10 ? 1 : 0)} ${unit.name}`
}

/** `1 step`, `2 steps`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

/** `1 thing is wrong`, `45 things of 3 kinds are wrong`: the one way in which faults are counted. */
export function wrongText(count: number, kinds = 1): string {
  if (count === 1) return '1 thing is wrong'
  return `${count} things${kinds > 1 && kinds < count ? ` of ${kinds} kinds` : ''} are wrong`
}

/** Seqs from `from` up to and without `to`: `3`, or `3…5`. */
export function seqRange(from: number, to: number): string {
  return to - from === 1 ? String(from) : `${from}…${to - 1}`
}

/** Seqs of messages in surface order, as long as they rise as one range: `40, 3…31`; of many ranges the first and the last. */
export function seqRanges(seqs: readonly number[]): string {
  const ranges: { first: number; last: number }[] = []
  for (const seq of seqs) {
    const open = ranges.at(-1)
    if (open !== undefined && seq > open.last) open.last = seq
    else ranges.push({ first: seq, last: seq })
  }
  const texts = ranges.map(({ first, last }) => (first === last ? String(first) : `${first}…${last}`))
  return texts.length <= MOST_RANGES
    ? texts.join(', ')
    : `${texts.slice(0, MOST_RANGES - 1).join(', ')} … ${texts.at(-1)}`
}

const MOST_RANGES = 6

/** Seqs in their order, the first and the last of them: `–`, `3`, or `3…9 (4)`. */
export function seqSpan(seqs: readonly number[]): string {
  if (seqs.length < 2) return String(seqs[0] ?? '–')
  return `${seqs[0]}…${seqs.at(-1)} (${seqs.length})`
}
