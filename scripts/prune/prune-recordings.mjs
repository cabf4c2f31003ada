import { measurePlain, measurePruned } from './measure.mjs'
import { listTranscripts, readConversations } from './recordings.mjs'

/**
 * Every conversation below `corpus`: `rows` of the tool-heavy ones with what pruning did, and `left`, the names of
 * the others by why they were left out.
 */
export async function pruneRecordings(corpus, isWanted = () => true) {
  const rows = []
  const left = {}
  for (const name of listTranscripts(corpus).filter(isWanted)) {
    for (const recording of readConversations(corpus, name)) {
      const plain = await measurePlain(recording)
      if (plain.left === undefined) rows.push(rowOf(recording, plain, await measurePruned(recording, plain)))
      else left[plain.left] = [...(left[plain.left] ?? []), recording.name]
    }
  }
  return { rows, left }
}

// --- internal ---

function rowOf({ name, format }, { requests, appended, late }, measured) {
  const lateRequests = requests.length - late.from
  return { name, format, requests: requests.length, lateRequests, appended, late: late.tokens, ...measured }
}
