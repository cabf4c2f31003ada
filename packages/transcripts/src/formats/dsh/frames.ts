import { Decompress } from 'fzstd'
import type { Source } from '../../source.js'
import { checksumOf } from './checksum.js'

export interface Frame {
  /** From 1. */
  readonly number: number
  /** What it holds; of a bad one, what could be read before it went wrong. */
  readonly bytes: Uint8Array
  /** `torn`: the file ends inside it. `bad`: damaged, and others follow. */
  readonly state: 'whole' | 'torn' | 'bad'
}

/** The frames of a Zstandard file, in order. After a bad one reading goes on at the next that is whole. */
export function* readFrames(source: Source): Generator<Frame> {
  const file = source.read(0, source.size)
  let number = 0
  for (let at = 0; at < file.length; ) {
    const length = frameLength(file, at)
    if (length !== undefined && isSkippable(file, at)) {
      at += length
      continue
    }
    number += 1
    const content = length === undefined ? undefined : decode(file.subarray(at, at + length))
    if (content?.isWhole) {
      yield { number, bytes: content.bytes, state: 'whole' }
      at += length!
      continue
    }
    const next = nextFrame(file, at + 1)
    const { bytes } = content ?? decode(file.subarray(at, next))
    yield { number, bytes, state: next < file.length ? 'bad' : 'torn' }
    at = next
  }
}

export function isCompressed(bytes: Uint8Array): boolean {
  return bytes.length >= 4 && u32(bytes, 0) === MAGIC
}

// --- internal ---

const MAGIC = 0xfd2fb528
const SKIPPABLE_MAGIC = 0x184d2a50
/** A frame is one batch of a log; one that holds more is taken for damage, before memory ends. */
const LARGEST_FRAME = 256 * 1024 * 1024

interface Content {
  bytes: Uint8Array
  isWhole: boolean
}

/** Bytes of the frame at `at` by its own headers, `undefined` where they say nothing that can be, or more than there is. */
function frameLength(file: Uint8Array, at: number): number | undefined {
  if (at + 8 <= file.length && isSkippable(file, at)) {
    const end = at + 8 + u32(file, at + 4)
    return end <= file.length ? end - at : undefined
  }
  if (at + 6 > file.length || u32(file, at) !== MAGIC) return undefined
  const descriptor = file[at + 4]!
  let end = at + 5 + headerRest(descriptor)
  for (let isLast = false; !isLast; ) {
    if (end + 3 > file.length) return undefined
    const block = file[end]! | (file[end + 1]! << 8) | (file[end + 2]! << 16)
    const type = (block >> 1) & 3
    if (type === RESERVED) return undefined
    isLast = (block & 1) === 1
    end += 3 + (type === REPEATED ? 1 : block >> 3)
  }
  if (hasChecksum(descriptor)) end += 4
  return end <= file.length ? end - at : undefined
}

const REPEATED = 1
const RESERVED = 3

/** Bytes between the descriptor and the first block: window, dictionary id, size of the content. */
function headerRest(descriptor: number): number {
  const isSingle = (descriptor & 0x20) !== 0
  const sizeFlag = descriptor >> 6
  return (isSingle ? 0 : 1) + [0, 1, 2, 4][descriptor & 3]! + (sizeFlag === 0 ? (isSingle ? 1 : 0) : 1 << sizeFlag)
}

function hasChecksum(descriptor: number): boolean {
  return (descriptor & 4) !== 0
}

/** Block by block, so that what stands before a damaged one is not lost. */
function decode(frame: Uint8Array): Content {
  const parts: Uint8Array[] = []
  let size = 0
  const stream = new Decompress(chunk => {
    size += chunk.length
    if (size > LARGEST_FRAME) throw new RangeError('frame too large')
    parts.push(chunk.slice())
  })
  let isWhole = frame.length >= 6
  try {
    stream.push(frame, true)
  } catch {
    isWhole = false
  }
  const bytes = concat(parts, size)
  if (isWhole && hasChecksum(frame[4]!)) isWhole = checksumOf(bytes) === u32(frame, frame.length - 4)
  return { bytes, isWhole }
}

/** The beginning of the next frame whose headers add up, else the end of the file. */
function nextFrame(file: Uint8Array, from: number): number {
  for (let at = file.indexOf(MAGIC & 0xff, from); at >= 0; at = file.indexOf(MAGIC & 0xff, at + 1)) {
    if (at + 4 <= file.length && u32(file, at) === MAGIC && frameLength(file, at) !== undefined) return at
  }
  return file.length
}

function isSkippable(file: Uint8Array, at: number): boolean {
  return at + 4 <= file.length && (u32(file, at) & 0xfffffff0) >>> 0 === SKIPPABLE_MAGIC
}

function u32(bytes: Uint8Array, at: number): number {
  return (bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24)) >>> 0
}

function concat(parts: readonly Uint8Array[], size: number): Uint8Array {
  const whole = new Uint8Array(Math.min(size, LARGEST_FRAME))
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.length
  }
  return whole
}
