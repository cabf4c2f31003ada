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
    const { type = '', width, height } = imageSize(Buffer.from(base64, 'base64'))
    const mediaType = KINDS[type]
    return mediaType === undefined ? undefined : { mediaType, width, height }
  } catch {
    return undefined
  }
}

// --- internal ---

const KINDS: Record<string, string> = { png: 'image/png', jpg: 'image/jpeg', gif: 'image/gif', webp: 'image/webp' }
