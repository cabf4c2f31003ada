// Rows of the performance table on transcripts: a synthetic session of Claude Code, read and given away event by event.
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { writeClaudeSession } from './claude-session.mjs'
import { inFreshProcess, runRows, withFolder } from './rows.mjs'

const task = (name, bytes) =>
  withFolder(tmpdir(), folder => {
    const path = join(folder, 'session.jsonl')
    writeClaudeSession(path, bytes)
    return inFreshProcess('transcript-task.mjs', name, path)
  })

await runRows({
  'read Claude Code JSONL, against bare JSON.parse by line': {
    unit: 'ms/MB',
    measure: async () => {
      const { ours, floor } = await task('speed', 60e6)
      return { ours, floor }
    },
  },
  'read Claude Code JSONL: CPU for a MB': {
    unit: 'ms',
    measure: async () => ({ ours: (await task('speed', 60e6)).ours }),
  },
  'read 1 GB of Claude Code JSONL: resident memory': {
    unit: 'MB',
    measure: async () => ({ ours: (await task('memory', 1e9)).peakRssMB }),
  },
})
