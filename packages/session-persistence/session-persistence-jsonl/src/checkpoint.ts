import type { Directory } from './directory.js'
import { closeFile, FILE_MODE, O_CREAT, O_RDWR, SAFE_OPEN, writeAll } from './disk.js'
import { addCheckpoint, CHECKPOINT_EVENTS, INDEX_FROM_BYTES } from './index-file.js'
import type { Segment } from './segment.js'

/** Whether so much of the log has no checkpoint that it is worth one. */
export function isCheckpointDue({ current }: Segment): boolean {
  return current.to - current.from >= CHECKPOINT_EVENTS
}

/**
 * Adds the current stretch to the index. Only what is durable is ever in a stretch. The index is a
 * cache and is not synced: if this fails, the log has none from here on.
 */
export function writeCheckpoint(directory: Directory, segment: Segment): void {
  const { current, file } = segment
  const isComplete = segment.lostFrom === undefined && segment.isTerminated
  if (!isComplete || current.to === current.from || current.end < INDEX_FROM_BYTES) return
  const { disk, scratch } = directory
  scratch.reset()
  addCheckpoint(scratch, current, segment.line.crc)
  try {
    const fd = disk.openSync(file.indexPath, O_RDWR | O_CREAT | SAFE_OPEN, FILE_MODE)
    try {
      disk.fchmodSync(fd, FILE_MODE)
      disk.ftruncateSync(fd, segment.indexBytes)
      writeAll(disk, fd, scratch.bytes, segment.indexBytes)
    } finally {
      closeFile(disk, fd)
    }
    segment.indexBytes += scratch.length
  } catch {
    // Later checkpoints would not join on; readers stop at the gap and scan the rest.
  }
  segment.turnPage()
}
