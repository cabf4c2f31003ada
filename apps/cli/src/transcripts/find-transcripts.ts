import { readdirSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { detectFormat, type FormatName } from '@palimpsest/transcripts'
import { isFolder } from '../is-folder.js'
import { fileSource } from './file-source.js'

/** Where an agent keeps its sessions, and what looks like one there. */
interface Home {
  readonly agent: string
  readonly folder: string
}

/** The usual folders of the agents whose transcripts are read here; those that are not there too. */
export function agentHomes(env: NodeJS.ProcessEnv = process.env): Home[] {
  const home = env.HOME ?? homedir()
  const data = env.XDG_DATA_HOME ?? join(home, '.local', 'share')
  return [
    { agent: 'Claude Code', folder: join(env.CLAUDE_CONFIG_DIR ?? join(home, '.claude'), 'projects') },
    { agent: 'Codex', folder: join(env.CODEX_HOME ?? join(home, '.codex'), 'sessions') },
    { agent: 'Gemini CLI', folder: join(home, '.gemini', 'tmp') },
    { agent: 'opencode', folder: join(data, 'opencode') },
    { agent: 'pi', folder: join(env.PI_CODING_AGENT_DIR ?? join(home, '.pi', 'agent'), 'sessions') },
    { agent: 'dsh', folder: join(home, '.dsh', 'sessions') },
  ]
}

/** The files below a folder that may be transcripts, in the order of their names. Links are not followed. */
export function* filesBelow(folder: string): Generator<string> {
  const entries = readdirSync(folder, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1))
  for (const entry of entries) {
    const path = join(folder, entry.name)
    if (entry.isDirectory() && !SKIPPED.has(entry.name)) yield* filesBelow(path)
    else if (entry.isFile() && NAMES.test(entry.name)) yield path
  }
}

/** A folder's files, or the file itself. */
export function filesOf(path: string): string[] {
  return isFolder(path) ? [...filesBelow(path)] : [path]
}

/** `undefined` for a file that is no transcript, or cannot be read. */
export function formatOfFile(path: string): FormatName | undefined {
  try {
    const source = fileSource(path)
    try {
      return source.size === 0 ? undefined : detectFormat(source)
    } finally {
      source.close()
    }
  } catch {
    return undefined
  }
}

// --- internal ---

const SKIPPED = new Set(['node_modules', '.git'])
const NAMES = /\.(jsonl?|traj|zstd?)$/i
