import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { trackedFiles } from './tracked.mjs'

const ALARM = 400

/** One noun a file: a source beyond the alarm holds more than one. */
export function fileSizes(root) {
  return trackedFiles(root)
    .filter(file => /^(packages|apps)\/.*\/src\/.*\.ts$|^(scripts|benches|examples)\/.*\.mjs$/.test(file))
    .map(file => ({ file, lines: readFileSync(join(root, file), 'utf8').split('\n').length - 1 }))
    .filter(({ lines }) => lines > ALARM)
    .map(({ file, lines }) => `${file} has ${lines} lines, ${ALARM} is the alarm: split it by noun`)
}
