import { readFileSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { trackedFiles } from './tracked.mjs'

const LARGEST_BYTES = 512 * 1024
// The patterns stand in pieces, so that this file does not find itself.
const FORBIDDEN = [
  [/^(<{7}|>{7}|={7})( |$)/m, 'an unfinished merge'],
  [new RegExp(`\\b(${['TO' + 'DO', 'FIX' + 'ME', 'XX' + 'X', 'HA' + 'CK'].join('|')})\\b`), 'a note to oneself'],
  [new RegExp(`registry\\.(npm${'js'}|yarn${'pkg'})|npm${'mirror'}|"resolved": ?"http`), 'a registry host'],
  [
    new RegExp(`co-authored${'-by'}|generated ${'with'} \\[|as an ${'AI'} (language )?model`, 'i'),
    'a tool’s signature',
  ],
  [new RegExp(`\\bissue ${'#'}?\\d|\\(${'#'}\\d+\\)`, 'i'), 'a number of an issue'],
  [new RegExp(`(describe|it|test)\\.${'only'}\\(`), 'a test that hides the others'],
  [new RegExp(`^\\s*${'debug'}ger;?\\s*$`, 'm'), 'a breakpoint'],
]

/** Nothing of one machine, one moment or one person stays in the repository. */
export function leftovers(root) {
  return trackedFiles(root).flatMap(file => {
    const path = join(root, file)
    const bytes = statSync(path).size
    if (bytes > LARGEST_BYTES && file !== 'package-lock.json')
      return [`${file} has ${bytes} bytes: keep data out of git`]
    const text = readFileSync(path, 'utf8')
    if (text.includes('\0')) return []
    return [...patterns(text, file), ...machinePaths(text, file, root), ...consoleInLibrary(text, file)]
  })
}

// --- internal ---

function patterns(text, file) {
  return FORBIDDEN.flatMap(([pattern, what]) => {
    const found = pattern.exec(text)
    return found ? [`${file}:${lineOf(text, found.index)} holds ${what}: ${found[0].trim().slice(0, 60)}`] : []
  })
}

function machinePaths(text, file, root) {
  const homes = ['/ro' + 'ot/', '/wo' + 'rk/', `${root}/`, `${homedir()}/`].filter(path => path.length > 4)
  return homes.flatMap(path => {
    const index = text.indexOf(path)
    return index < 0 ? [] : [`${file}:${lineOf(text, index)} holds a path of this machine: ${path}`]
  })
}

function consoleInLibrary(text, file) {
  if (!/^packages\/.*\/src\//.test(file)) return []
  const found = /^\s*console\.(log|error|warn|debug)\(/m.exec(text)
  return found ? [`${file}:${lineOf(text, found.index)} prints: a library hands on what it has to say`] : []
}

function lineOf(text, index) {
  return text.slice(0, index).split('\n').length
}
