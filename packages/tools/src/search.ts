import { Worker } from 'node:worker_threads'

/** What the thread is asked. Paths are real and free of links. */
export interface SearchRequest {
  readonly root: string
  readonly start: string
  readonly source: string // of the regular expression
  readonly flags: string
  readonly glob: string | undefined
  readonly skip: readonly string[] // folder names
  readonly maxMatches: number
  readonly maxLineCharacters: number
}

export type SearchNews =
  | { kind: 'file'; name: string }
  | { kind: 'match'; name: string; line: number; text: string }
  | { kind: 'end'; counts: SearchCounts; full: boolean }

export interface Match {
  readonly name: string
  readonly line: number
  readonly text: string
}

export interface Search {
  readonly matches: readonly Match[]
  readonly at: string | undefined // the file that was being searched when the time was up
  readonly end: { readonly counts: SearchCounts; readonly full: boolean } | undefined // undefined: stopped at the time limit
}

/** Runs one search in a thread that is gone when the promise settles. Rejects with the signal's reason on abort. */
export async function search(request: SearchRequest, timeoutMs: number, signal: AbortSignal): Promise<Search> {
  signal.throwIfAborted()
  const matches: Match[] = []
  let at: string | undefined
  const worker = new Worker(new URL('./search-worker.js', import.meta.url), {
    workerData: request,
    resourceLimits: { maxOldGenerationSizeMb: 256 },
    env: {},
    execArgv: [], // no loaders: the thread is plain JavaScript
  })
  let timer: NodeJS.Timeout | undefined
  let onAbort = () => {}
  try {
    const end = await new Promise<Search['end']>((resolve, reject) => {
      onAbort = () => reject(signal.reason)
      signal.addEventListener('abort', onAbort)
      timer = setTimeout(() => resolve(undefined), timeoutMs)
      worker.on('error', reject)
      worker.on('exit', () => reject(new Error('the search thread ended early')))
      worker.on('message', (news: SearchNews) => {
        if (news.kind === 'file') at = news.name
        else if (news.kind === 'match') matches.push({ name: news.name, line: news.line, text: news.text })
        else resolve({ counts: news.counts, full: news.full })
      })
    })
    return { matches, at, end }
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', onAbort)
    await worker.terminate()
  }
}

// --- internal ---

interface SearchCounts {
  readonly files: number
  readonly binary: number
  readonly unreadable: number
  readonly matches: number
}
