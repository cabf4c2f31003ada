// The search itself, in a thread of its own: a pattern that backtracks for ever blocks only this thread, which `grep`
// ends at its time limit. Plain JavaScript, because a thread is started from a file and tests run without a build.
// It never follows a link: what is not a folder or a regular file by its directory entry is not opened.
import {
  closeSync,
  existsSync,
  constants as flags,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readlinkSync,
  readSync,
} from 'node:fs'
import { join, relative, sep } from 'node:path'
import { StringDecoder } from 'node:string_decoder'
import { parentPort, workerData } from 'node:worker_threads'
import picomatch from 'picomatch'

/**
 * @typedef {import('./search.js').SearchRequest} SearchRequest
 * @typedef {import('./search.js').SearchNews} SearchNews
 */

const request = /** @type {SearchRequest} */ (workerData)
const pattern = new RegExp(request.source, request.flags)
const wanted = request.glob === undefined ? () => true : matcherOf(request.glob)
const counts = { files: 0, binary: 0, unreadable: 0, matches: 0 }
const DESCRIPTOR_LINKS = existsSync('/proc/self/fd')
const CHUNK_BYTES = 256 * 1024
const MAX_LINE = 4 * 1024 * 1024 // characters; a longer line is searched in pieces of this length

searchAt(request.start)
tell({ kind: 'end', counts, full: isFull() })

/** @param {SearchNews} news */
function tell(news) {
  parentPort?.postMessage(news)
}

/** @param {string} path */
function searchAt(path) {
  const stats = lstatSync(path)
  if (stats.isDirectory()) searchFolder(path)
  else if (stats.isFile()) searchFile(path)
}

/** In the order of names, so that one tree gives one answer. @param {string} folder */
function searchFolder(folder) {
  for (const entry of entriesOf(folder)) {
    if (isFull()) return
    const path = join(folder, entry.name)
    if (entry.isDirectory()) {
      if (!request.skip.includes(entry.name)) searchFolder(path)
    } else if (entry.isFile() && wanted(nameOf(path))) {
      searchFile(path)
    }
  }
}

/** @param {string} folder */
function entriesOf(folder) {
  try {
    return readdirSync(folder, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1))
  } catch {
    counts.unreadable += 1
    return []
  }
}

/** @param {string} path */
function searchFile(path) {
  tell({ kind: 'file', name: nameOf(path) })
  let fd = -1
  try {
    fd = openSync(path, flags.O_RDONLY | (flags.O_NOFOLLOW ?? 0) | (flags.O_NONBLOCK ?? 0))
    if (!fstatSync(fd).isFile() || isElsewhere(fd, path)) counts.unreadable += 1
    else searchLines(fd, nameOf(path))
  } catch {
    counts.unreadable += 1
  } finally {
    if (fd >= 0) closeSync(fd)
  }
}

/** True if a folder on the way was exchanged for a link since it was listed. @param {number} fd @param {string} path */
function isElsewhere(fd, path) {
  return DESCRIPTOR_LINKS && readlinkSync(`/proc/self/fd/${fd}`) !== path
}

/** @param {number} fd @param {string} name */
function searchLines(fd, name) {
  const buffer = Buffer.allocUnsafe(CHUNK_BYTES)
  const decoder = new StringDecoder('utf8')
  let rest = ''
  let line = 0
  for (let bytes = readSync(fd, buffer), first = true; bytes > 0; bytes = readSync(fd, buffer), first = false) {
    if (first && buffer.subarray(0, Math.min(bytes, 8_192)).includes(0)) {
      counts.binary += 1
      return
    }
    const lines = (rest + decoder.write(buffer.subarray(0, bytes))).split('\n')
    rest = lines.pop() ?? ''
    for (const text of lines) {
      line += 1
      searchLine(name, line, text)
      if (isFull()) return
    }
    if (rest.length > MAX_LINE) {
      searchLine(name, line + 1, rest)
      rest = ''
    }
  }
  counts.files += 1
  if (rest !== '') searchLine(name, line + 1, rest)
}

/** @param {string} name @param {number} line @param {string} raw */
function searchLine(name, line, raw) {
  const text = raw.endsWith('\r') ? raw.slice(0, -1) : raw
  const found = pattern.exec(text)
  if (found === null) return
  counts.matches += 1
  tell({ kind: 'match', name, line, text: excerpt(text, found.index) })
}

/** A long line is cut around its match. @param {string} text @param {number} at */
function excerpt(text, at) {
  const most = request.maxLineCharacters
  if (text.length <= most) return text
  const start = Math.max(0, Math.min(at - Math.floor(most / 4), text.length - most))
  const end = start + most
  const shown = text.slice(start, end).replace(/\p{Surrogate}/gu, '\ufffd')
  return `${start > 0 ? '…' : ''}${shown}${end < text.length ? '…' : ''} [of ${text.length} characters]`
}

function isFull() {
  return counts.matches >= request.maxMatches
}

/** @param {string} path */
function nameOf(path) {
  return relative(request.root, path).split(sep).join('/')
}

/** A glob without a slash is for the file's name, one with a slash for its path from the root. @param {string} glob */
function matcherOf(glob) {
  return picomatch(glob.startsWith('./') ? glob.slice(2) : glob, { dot: true, basename: !glob.includes('/') })
}
