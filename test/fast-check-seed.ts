import fc from 'fast-check'

/** The same cases in every run, unless `PALIMPSEST_SEED` asks for others: a number, or `random`. */
const wanted = process.env.PALIMPSEST_SEED ?? '20261130'

if (wanted !== 'random') fc.configureGlobal({ seed: Number(wanted) })
