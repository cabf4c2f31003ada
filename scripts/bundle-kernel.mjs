// Makes the kernel's entry one file: Node takes five times as long to load its modules one by one. `tsc -b` goes first;
// it makes the types, and an entry that imports the modules, which is as right, for whoever runs it alone.
// Argument: the kernel's folder, for a test.
import { existsSync, readFileSync, renameSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const kernel = resolve(process.argv[2] ?? fileURLToPath(new URL('../packages/core/session', import.meta.url)))
const dist = join(kernel, 'dist')
const infoPath = join(dist, '.tsbuildinfo')
/** Stands for the entry's hash in what the compiler remembers. */
const MARK = 'bundled'

const { mtime } = statSync(infoPath)
const info = JSON.parse(readFileSync(infoPath, 'utf8'))
const entry = info.fileInfos[info.fileNames.indexOf('../src/index.ts')]
if (entry.version !== MARK || !existsSync(join(dist, 'index.js'))) {
  const { code, map } = await bundle()
  markEntry()
  replace(join(dist, 'index.js.map'), map.toString())
  replace(join(dist, 'index.js'), code)
}

// --- internal ---

async function bundle() {
  const { rolldown } = await import('rolldown')
  const input = join(kernel, 'src/index.ts')
  const build = await rolldown({ cwd: kernel, input, tsconfig: join(kernel, 'tsconfig.json'), platform: 'neutral' })
  const { output } = await build.generate({ file: join(dist, 'index.js'), sourcemap: true })
  await build.close()
  return output[0]
}

/**
 * Tells the compiler to write its own entry again as soon as any module of the kernel has changed: by itself it would
 * write that module only, and the bundle would go on without the change. Before the bundle is in place: what breaks off
 * in between leaves an entry that is slow, not one that is old. The time stays, so that younger sources are seen.
 */
function markEntry() {
  entry.version = MARK
  replace(infoPath, JSON.stringify(info), mtime)
}

/** At once: somebody may be loading it. */
function replace(path, text, time) {
  writeFileSync(`${path}.new`, text)
  if (time !== undefined) utimesSync(`${path}.new`, time, time)
  renameSync(`${path}.new`, path)
}
