// `npm start`: from a bare clone to the offline demo. Arguments go on to the demo.
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { prepare, root } from './prepare.mjs'

if (!(await prepare())) {
  console.error('The build failed, see above; the demo needs the built packages.')
  process.exit(1)
}
const main = join(root, 'apps', 'cli', 'dist', 'main.js')
const demo = spawn(process.execPath, [main, 'demo', ...process.argv.slice(2)], { stdio: 'inherit' })
// Ctrl-C reaches the demo too, which says goodbye in its own way.
process.on('SIGINT', () => {})
demo.on('close', (code, signal) => process.exit(code ?? (signal === 'SIGINT' ? 130 : 1)))
