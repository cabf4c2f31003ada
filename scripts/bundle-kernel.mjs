// Makes the kernel's entry one file: Node takes five times as long to load its modules one by one. `tsc -b` goes first;
// it makes the types, and an entry that imports the modules, which is as right, for whoever runs it alone.
// Argument: the kernel's folder, for a test.
import { readFileSync, renameSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const kernel = resolve(process.argv[2] ?? fileURLToPath(new URL('../packages/core/session', import.meta.url)))
const dist = join(kernel, 'dist')
/** Stands for the entry's hash in what the compiler remembers. */
const MARK = 'bundled'

if (markEntry()) await bundle()

// --- internal ---

/**
 * Tells the compiler to write its own entry again as soon as any module of the kernel has changed: by itself it would
 * write that module only, and the bundle would go on without the change. Gives whether there is a new entry to bundle.
 * Before the bundle: what breaks off in between leaves an entry that is slow, not one that is old.
 */
function markEntry() {
  const path = join(dist, '.tsbuildinfo')
  const { atime, mtime } = statSync(path)
  const info = JSON.parse(readFileSync(path, 'utf8'))
  const entry = info.fileInfos[info.fileNames.indexOf('../src/index.ts')]
  if (entry.version === MARK) return false
  entry.version = MARK
  replace(path, JSON.stringify(info), () => utimesSync(`${path}.new`, atime, mtime))
  return true
}

async function bundle() {
  const { rolldown } = await import('rolldown')
  const input = join(kernel, 'src/index.ts')
  const build = await rolldown({ cwd: kernel, input, tsconfig: join(kernel, 'tsconfig.json'), platform: 'neutral' })
  const { output } = await build.generate({ file: join(dist, 'index.js'), sourcemap: true })
  await build.close()
  const [{ code, map }] = output
  replace(join(dist, 'index.js.map'), map.toString())
  replace(join(dist, 'index.js'), code)
}

/** At once: somebody may be loading it. */
function replace(path, text, before = () => {}) {
  writeFileSync(`${path}.new`, text)
  before()
  renameSync(`${path}.new`, path)
}
