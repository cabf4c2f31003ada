// One task on a transcript in a process of its own: `node transcript-task.mjs TASK FILE`. Prints JSON.
import { closeSync, fstatSync, openSync, readFileSync, readSync } from 'node:fs'
import { streamTranscript } from '@palimpsest/transcripts'
import { median } from './rows.mjs'

const [task, path] = process.argv.slice(2)
const peakRssMB = () => Number(/VmHWM:\s*(\d+) kB/.exec(readFileSync('/proc/self/status', 'latin1'))[1]) / 1024
/** CPU of the main thread, in ms: what the collector's threads do beside it is not counted. */
const mainThreadMs = () =>
  Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'latin1').split(' ')[0]) / 1e6

const tasks = {
  /** Both over the same file, in turns. */
  speed() {
    const source = fileSource(path)
    const MB = source.size / 1e6
    const ours = []
    const floor = []
    for (let i = 0; i < 6; i++) {
      floor.push(cost(() => parseLines(source)) / MB)
      ours.push(cost(() => read(source)) / MB)
    }
    // The first of each compiles the code.
    return { ours: median(ours.slice(1)), floor: median(floor.slice(1)), MB }
  },
  /** What it takes at most, start of the process included. */
  memory() {
    const events = read(fileSource(path))
    return { peakRssMB: peakRssMB(), events }
  },
}

console.log(JSON.stringify(tasks[task]()))

// --- internal ---

function cost(body) {
  const start = mainThreadMs()
  body()
  return mainThreadMs() - start
}

function read(source) {
  let events = 0
  streamTranscript(source, { format: 'claude-code' }, () => {
    events += 1
  })
  return events
}

/** Bare `JSON.parse`, line by line. */
function parseLines(source) {
  const decoder = new TextDecoder()
  let rest = Buffer.alloc(0)
  for (let from = 0; from < source.size; from += 1 << 20) {
    const chunk = Buffer.concat([rest, source.read(from, Math.min(source.size, from + (1 << 20)))])
    let start = 0
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, start)) {
      if (end > start) JSON.parse(decoder.decode(chunk.subarray(start, end)))
      start = end + 1
    }
    rest = chunk.subarray(start)
  }
}

function fileSource(file) {
  const fd = openSync(file, 'r')
  process.once('exit', () => closeSync(fd))
  return {
    size: fstatSync(fd).size,
    read(from, to) {
      const bytes = new Uint8Array(to - from)
      for (let at = 0; at < bytes.length; ) at += readSync(fd, bytes, at, bytes.length - at, from + at)
      return bytes
    },
  }
}
