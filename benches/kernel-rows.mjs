// What the kernel costs before it does anything: its minified size over the wire, and its import.
import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { build } from 'vite'
import { median, runRows } from './rows.mjs'

const entry = fileURLToPath(import.meta.resolve('@palimpsest/session'))
const IMPORT = `const start = process.cpuUsage()
await import('@palimpsest/session')
const { user, system } = process.cpuUsage(start)
console.log((user + system) / 1000)`

async function gzipKb() {
  const { output } = await build({
    configFile: false,
    logLevel: 'silent',
    build: { write: false, minify: true, lib: { entry, formats: ['es'] } },
  }).then(results => results[0])
  return { ours: gzipSync(output[0].code, { level: 9 }).length / 1024 }
}

function importMs() {
  const args = ['--input-type=module', '-e', IMPORT]
  const once = () =>
    Number(execFileSync(process.execPath, args, { cwd: fileURLToPath(new URL('..', import.meta.url)) }))
  return { ours: median(Array.from({ length: 9 }, once)) }
}

await runRows({
  'the kernel, minified and gzipped': { unit: 'KB', measure: gzipKb },
  'import of the kernel': { unit: 'ms', measure: importMs },
})
