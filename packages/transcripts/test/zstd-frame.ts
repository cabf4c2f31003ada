import { checksumOf } from '../src/formats/dsh/checksum.js'

/** A Zstandard frame whose one block is stored as it is, with a checksum. */
export function zstdFrame(text: string): Uint8Array {
  const content = Buffer.from(text)
  const head = Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0x04, 0x58, 0, 0, 0])
  head.writeUIntLE((content.length << 3) | 1, 6, 3)
  const tail = Buffer.alloc(4)
  tail.writeUInt32LE(checksumOf(content))
  return Buffer.concat([head, content, tail])
}
