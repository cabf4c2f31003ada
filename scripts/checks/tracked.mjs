import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { join, relative } from 'node:path'

const GENERATED = new Set(['node_modules', 'dist', '.git', '.cache', 'coverage'])

/** Files of the repository, relative, with `/`: what git tracks or would add; outside of git what lies there. */
export function trackedFiles(root) {
  try {
    const list = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
      cwd: root,
      stdio: ['ignore', 'pipe', 'ignore'],
      maxBuffer: 1 << 26,
    })
    // A file that was deleted but not yet committed is still in git's list.
    return unique(list.toString().split('\0')).filter(file => file !== '' && existsSync(join(root, file)))
  } catch {
    return walk(root, root)
  }
}

// --- internal ---

function unique(list) {
  return [...new Set(list)]
}

function walk(root, directory) {
  return readdirSync(directory, { withFileTypes: true }).flatMap(entry => {
    const path = join(directory, entry.name)
    if (entry.isDirectory()) return GENERATED.has(entry.name) ? [] : walk(root, path)
    return [relative(root, path).replaceAll('\\', '/')]
  })
}
