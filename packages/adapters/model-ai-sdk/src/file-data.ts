import type { SpecVersion } from './language-model.js'

/** The members of a file part: up to V3 `data` is base64 text or a URL, since V4 it says which. */
export function fileMembers(text: string, mediaType: string | undefined, spec: SpecVersion): Record<string, unknown> {
  const inline = DATA_URL.exec(text)
  if (inline) return tagged(text.slice(inline[0].length), inline[1] || mediaType || OCTETS, spec)
  if (!isUrl(text)) return tagged(text, mediaType ?? sniffed(text), spec)
  const url = new URL(text)
  const kept = url.toString() === text ? {} : { originalUrl: text }
  const type = mediaType ?? 'image/*'
  return spec === 'v4'
    ? { mediaType: type, data: { type: 'url', url, ...kept } }
    : { mediaType: type, data: url, ...(spec === 'v3' ? kept : {}) }
}

// --- internal ---

const OCTETS = 'application/octet-stream'
const DATA_URL = /^data:([^;,]*)(?:;[^;,]*)*;base64,/i

function tagged(data: string, mediaType: string, spec: SpecVersion): Record<string, unknown> {
  return { mediaType, data: spec === 'v4' ? { type: 'data', data } : data }
}

/** The first bytes of the usual image formats, as base64 shows them. */
function sniffed(data: string): string {
  if (data.startsWith('iVBORw0KGgo')) return 'image/png'
  if (data.startsWith('/9j/')) return 'image/jpeg'
  if (data.startsWith('R0lGOD')) return 'image/gif'
  if (data.startsWith('UklGR')) return 'image/webp'
  return 'image/*'
}

function isUrl(text: string): boolean {
  return /^[a-z][a-z0-9+.-]*:\/\//i.test(text) && URL.canParse(text)
}
