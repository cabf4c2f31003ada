import type { FilePart, ImagePart, ToolContent } from '@palimpsest/session'

/** Bytes or an address, in the words that all providers share. */
export type Media =
  | { isImage: boolean; url: string; mediaType?: string; filename?: string }
  | { isImage: boolean; data: string; mediaType: string; filename?: string }

/** What a part of a message or of a result shows. `undefined` for a part that shows nothing. */
export function mediaOf(part: ImagePart | FilePart | ToolContent): Media | undefined {
  switch (part.type) {
    case 'image':
      return located(part.image, part.mediaType, true)
    case 'file':
    case 'file-data':
    case 'media':
      return {
        ...located(part.data, part.mediaType, part.mediaType.startsWith('image/')),
        ...('filename' in part && part.filename !== undefined && { filename: part.filename }),
      }
    case 'image-data':
      return located(part.data, part.mediaType, true)
    case 'image-url':
      return located(part.url, undefined, true)
    case 'file-url':
      return located(part.url, undefined, false)
    default:
      return undefined
  }
}

export function dataUrl(media: Media): string {
  return 'url' in media ? media.url : `data:${media.mediaType};base64,${media.data}`
}

// --- internal ---

function located(text: string, mediaType: string | undefined, isImage: boolean): Media {
  const [, type, data] = /^data:([^;,]*)(?:;[^,]*)?,(.*)$/s.exec(text) ?? []
  if (data !== undefined) return { isImage, data, mediaType: mediaType ?? (type || sniff(data)) }
  if (/^[a-z][a-z+.-]*:\/\//i.test(text)) return { isImage, url: text, ...(mediaType && { mediaType }) }
  return { isImage, data: text, mediaType: mediaType ?? sniff(text) }
}

/** The first bytes of the image kinds that all providers take, in base64. */
const KINDS: readonly [string, string][] = [
  ['iVBORw0KGgo', 'image/png'],
  ['/9j/', 'image/jpeg'],
  ['R0lGOD', 'image/gif'],
  ['UklGR', 'image/webp'],
]

function sniff(base64: string): string {
  return KINDS.find(([start]) => base64.startsWith(start))?.[1] ?? 'application/octet-stream'
}
