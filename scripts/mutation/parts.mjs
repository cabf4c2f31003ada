// What is mutated, and the specs that are asked. The long ones are left out: they would run for every mutant.
const kernel = 'packages/core/session'
const jsonl = 'packages/session-persistence/session-persistence-jsonl'

export const parts = {
  kernel: {
    mutated: filesOf(kernel, [
      ...['surface', 'mark-surface', 'projection', 'seal-event'],
      ...['repair', 'visible-tail', 'landmark-index', 'resume-landmarks'],
    ]),
    specs: [`${kernel}/test/!(memory|types).spec.ts`],
  },
  jsonl: {
    mutated: filesOf(jsonl, [
      ...['record', 'lines', 'scan', 'glued', 'log-file'],
      ...['stretch', 'segment', 'index-file', 'checkpoint'],
    ]),
    specs: [`${jsonl}/test/{record,scan,*format*}.spec.ts`],
  },
}

/** Of the folders for the files of specs: what is in them is swept away. */
export const FOLDER_PREFIX = 'palimpsest-mutant-'

// --- internal ---

function filesOf(folder, names) {
  return names.map(name => `${folder}/src/${name}.ts`)
}
