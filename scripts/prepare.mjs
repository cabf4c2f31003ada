// From a bare clone to built packages. Needs nothing but Node, because nothing is installed yet.
import { spawn } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, utimesSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { fileURLToPath } from 'node:url'

export const root = dirname(dirname(fileURLToPath(import.meta.url)))
const NODE_MINIMUM = [20, 19]

/**
 * Checks Node, installs where the lockfile asks for it, builds what changed. One run at a time in one
 * folder. Resolves to whether the build is clean; exits where going on makes no sense.
 */
export async function prepare() {
  requireNode()
  const release = await takeInstallLock(join(root, '.cache', 'prepare.lock'))
  try {
    if (!isInstalled()) await install()
    return await build()
  } finally {
    release()
  }
}

/** Runs a command, one line on the terminal: its name, then its seconds. Its output is shown only if it fails. */
export async function phase(name, command, args) {
  const began = performance.now()
  process.stdout.write(`${name} … `)
  const { code, output } = await run(command, args)
  const seconds = ((performance.now() - began) / 1000).toFixed(1)
  process.stdout.write(`${code === 0 ? 'done' : 'FAILED'} in ${seconds} s\n`)
  if (code !== 0) process.stdout.write(output)
  return { ok: code === 0, output }
}

/** Runs a command to its end without a shell; resolves to its exit code and all it wrote. */
export function run(command, args, options = {}) {
  return new Promise(resolve => {
    const pieces = []
    const child = spawn(command, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'], ...options })
    for (const stream of [child.stdout, child.stderr]) stream?.on('data', piece => pieces.push(piece))
    child.on('error', error => resolve({ code: 127, output: `${command} could not be started: ${error.message}\n` }))
    child.on('close', (code, signal) =>
      resolve({ code: code ?? 1, output: Buffer.concat(pieces).toString() + (signal ? `ended by ${signal}\n` : '') }),
    )
  })
}

// --- internal ---

function requireNode() {
  const [major, minor] = process.versions.node.split('.').map(Number)
  if (major > NODE_MINIMUM[0] || (major === NODE_MINIMUM[0] && minor >= NODE_MINIMUM[1])) return
  console.error(`Palimpsest needs Node ${NODE_MINIMUM.join('.')} or newer; this is Node ${process.versions.node}.`)
  process.exit(1)
}

/** npm writes the hidden lockfile last, so it proves a finished install, whoever ran it. */
function isInstalled() {
  const hidden = join(root, 'node_modules', '.package-lock.json')
  if (!existsSync(hidden)) return false
  const present = readPackages(hidden)
  const wanted = readPackages(join(root, 'package-lock.json'))
  return Object.entries(wanted).every(([path, entry]) => path === '' || isSatisfied(entry, present[path]))
}

function isSatisfied(wanted, present) {
  // An optional package of another platform stands in the lockfile only.
  if (present === undefined) return wanted.optional === true
  return wanted.version === present.version && wanted.integrity === present.integrity
}

function readPackages(file) {
  return JSON.parse(readFileSync(file, 'utf8')).packages ?? {}
}

async function install() {
  // Said here and not left to the environment: a silent or production npm would install half and say nothing.
  const flags = ['ci', '--include=dev', '--loglevel=error']
  const cli = process.env.npm_execpath
  const underNpm = cli !== undefined && /npm-cli\.[cm]?js$/.test(cli)
  const { ok } = underNpm
    ? await phase('installing the dependencies', process.execPath, [cli, ...flags])
    : await phase('installing the dependencies', 'npm', flags)
  if (ok) return
  console.error('npm ci failed, see above. Check the network and the registry that npm is set to, then run this again.')
  process.exit(1)
}

async function build() {
  const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
  const { ok } = await phase('building what changed', process.execPath, [tsc, '-b'])
  // Where it fails the kernel takes longer to load, and is right all the same.
  if (ok) await phase('bundling the kernel', process.execPath, [join(root, 'scripts', 'bundle-kernel.mjs')])
  const command = join(root, 'apps', 'cli', 'dist', 'main.js')
  // The compiler leaves a command without the right to be executed.
  if (ok && existsSync(command)) chmodSync(command, 0o755)
  return ok
}

const HEARTBEAT_MS = 2_000
const STALE_MS = 20_000

/**
 * A directory is the lock, its age the sign of life: the owner touches it while it works, so a lock
 * whose owner died, in whatever container, is taken over after `STALE_MS`.
 */
async function takeInstallLock(lock) {
  mkdirSync(dirname(lock), { recursive: true })
  let told = false
  while (!tryMakeDirectory(lock)) {
    if (ageOf(lock) > STALE_MS) {
      clearStale(lock)
      continue
    }
    if (!told) console.log('another run is installing or building in this folder; waiting for it')
    told = true
    await new Promise(resolve => setTimeout(resolve, 250))
  }
  const heartbeat = setInterval(() => touch(lock), HEARTBEAT_MS)
  heartbeat.unref()
  const release = () => {
    clearInterval(heartbeat)
    process.off('exit', release)
    process.off('SIGINT', interrupted)
    rmSync(lock, { recursive: true, force: true })
  }
  const interrupted = () => process.exit(130)
  process.on('exit', release)
  process.on('SIGINT', interrupted)
  return release
}

function tryMakeDirectory(path) {
  try {
    mkdirSync(path)
    return true
  } catch (error) {
    if (error.code === 'EEXIST') return false
    throw error
  }
}

/** The rename lets one of several waiters win. */
function clearStale(lock) {
  const aside = `${lock}.stale-${process.pid}`
  try {
    renameSync(lock, aside)
    rmSync(aside, { recursive: true, force: true })
  } catch (error) {
    if (error.code !== 'ENOENT') throw error
  }
}

function ageOf(path) {
  try {
    return Date.now() - statSync(path).mtimeMs
  } catch {
    return 0
  }
}

function touch(path) {
  try {
    const now = new Date()
    utimesSync(path, now, now)
  } catch {
    // Taken over while this machine slept: the install goes on, there is nothing to renew.
  }
}
