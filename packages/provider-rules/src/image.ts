import { Buffer } from 'node:buffer'
import { imageSize } from 'image-size'

export interface Sniffed {
  mediaType: string
  width: number
  height: number
}

/** What the bytes are, if they are an image of a kind that every provider takes. */
export function sniffImage(base64: string): Sniffed | undefined {
  if (base64 === '' || /[^A-Za-z0-9+/=_\s-]/.test(base64)) return undefined
  try {
    const bytes = Buffer.from(base64, 'base64')
    const { type = '', width, height } = imageSize(bytes)
    const mediaType = KINDS[type]
    return mediaType === undefined || isCut(bytes, type) ? undefined : { mediaType, width, height }
  } catch {
    return undefined
  }
}

// --- internal ---

/** Whether the end is missing, of the kinds that say where they end. */
function isCut(bytes: Buffer, type: string): boolean {
  if (type === 'png') return bytes.lastIndexOf('IEND', undefined, 'latin1') < 0
  return type === 'webp' && bytes.readUInt32LE(RIFF_LENGTH) + RIFF_HEADER > bytes.length
}

const [RIFF_LENGTH, RIFF_HEADER] = [4, 8]

const KINDS: Record<string, string> = { png: 'image/png', jpg: 'image/jpeg', gif: 'image/gif', webp: 'image/webp' }
