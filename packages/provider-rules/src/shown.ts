import type { FilePart, ImagePart, ToolContent } from '@palimpsest/session'

/** A file or an image, of a message or of a result, in one form. */
export interface Shown {
  isImage: boolean
  /** Base64 text, or an address. */
  data?: string
  url?: string
  mediaType?: string
}

type Media = ImagePart | FilePart | ToolContent

/** `undefined` for what shows nothing. */
export function shownBy(part: Media): Shown | undefined {
  switch (part.type) {
    case 'image':
      return located(part.image, part.mediaType, true)
    case 'file':
      // A file without bytes is one that its provider keeps.
      if (part.data === '') return { isImage: part.mediaType.startsWith('image/'), mediaType: part.mediaType }
      return located(part.data, part.mediaType, part.mediaType.startsWith('image/'))
    case 'media':
    case 'file-data':
      return located(part.data, part.mediaType, part.mediaType?.startsWith('image/'))
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

/** The same part with other bytes or another type. */
export function withMedia<P extends Media>(part: P, data: string, mediaType: string): P {
  if (part.type === 'image') return { ...part, image: data, mediaType }
  if (part.type === 'image-url') return { ...part, type: 'image-data', url: undefined, data, mediaType } as never
  return { ...part, data, mediaType }
}

// --- internal ---

function located(text: string, mediaType: string | undefined, isImage = false): Shown {
  const [, type, data] = /^data:([^;,]*)(?:;[^,]*)?,(.*)$/s.exec(text) ?? []
  const declared = mediaType ?? type
  const typed = declared ? { mediaType: declared } : {}
  if (data !== undefined) return { isImage, data, ...typed }
  if (/^[a-z][a-z+.-]*:\/\//i.test(text)) return { isImage, url: text, ...typed }
  return { isImage, data: text, ...typed }
}
