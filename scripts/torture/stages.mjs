const JSONL = 'packages/session-persistence/session-persistence-jsonl/test'
const SQLITE = 'packages/session-persistence/session-persistence-sqlite/test'

/**
 * What is run large: the specs, the variable that says how large, and whether PALIMPSEST_SEED says from
 * where. `npm test` runs the same specs in their own sizes.
 */
export const stages = [
  { name: 'kill-jsonl', specs: ['test/torture/kill-jsonl'], size: { PALIMPSEST_KILL_ROUNDS: 10_000 }, isSeeded: true },
  {
    name: 'kill-sqlite',
    specs: ['test/torture/kill-sqlite'],
    size: { PALIMPSEST_KILL_ROUNDS: 10_000 },
    isSeeded: true,
  },
  { name: 'power-cut', specs: ['test/torture/power-cut'], size: { PALIMPSEST_CUTS: 2_000 }, isSeeded: true },
  { name: 'race', specs: ['test/torture/race'], size: { PALIMPSEST_TAKEOVERS: 150 }, isSeeded: true },
  { name: 'stopped', specs: ['test/torture/stopped', 'test/torture/identity'], size: {} },
  { name: 'power-loss', specs: [`${JSONL}/power-loss`], size: { PALIMPSEST_STATES: 10_000_000 }, isSeeded: true },
  {
    name: 'faults',
    specs: [`${JSONL}/fault`, `${JSONL}/io-faults`, `${JSONL}/damage`, `${SQLITE}/io-faults`],
    size: { PALIMPSEST_FAULTS: 'all' },
  },
  { name: 'flips-jsonl', specs: [`${JSONL}/flips`], size: { PALIMPSEST_FLIPS: 'all' } },
  // Every bit of every database (PALIMPSEST_FLIPS=all) takes a day; from a new seed each time it is other ones.
  { name: 'flips-sqlite', specs: [`${SQLITE}/flips`], size: { PALIMPSEST_FLIPS: 200_000 }, isSeeded: true },
  // Times as many as in `npm test`; a seed of its own would run that one only.
  { name: 'simulation', specs: ['test/simulation'], size: { PALIMPSEST_SEEDS: 20 } },
  {
    name: 'following',
    specs: ['test/following', `${JSONL}/follow-random`],
    size: { PALIMPSEST_WATCH_ROUNDS: 100, PALIMPSEST_FOLLOW_ROUNDS: 5_000 },
    isSeeded: true,
  },
  { name: 'salvage', specs: ['apps/cli/test/salvage'], size: { PALIMPSEST_SALVAGE_ROUNDS: 50 } },
  {
    name: 'kernel',
    specs: ['packages/core/session/test/random-operations', 'packages/core/session/test/repair-edits'],
    size: { PALIMPSEST_RANDOM_OPERATIONS: 2_000_000, PALIMPSEST_REPAIR_ROUNDS: 100_000 },
    isSeeded: true,
  },
  {
    name: 'healing',
    specs: ['packages/provider-rules/test/hostile'],
    size: { PALIMPSEST_HEAL_RUNS: 100_000 },
    isSeeded: true,
  },
  {
    name: 'transcripts',
    specs: ['claude', 'codex-pi', 'agents', 'providers'].map(name => `packages/transcripts/test/${name}-fuzz`),
    size: { PALIMPSEST_FUZZ: 100_000 },
  },
]
