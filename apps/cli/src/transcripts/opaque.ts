/** Whether a member holds what only its maker reads: a signature, encrypted reasoning, the bytes of a file. */
export function isOpaque(key: string, value: unknown): boolean {
  if (OPAQUE.test(key)) return true
  return MEDIA.has(key) && typeof value === 'string' && !/\s/.test(value.slice(0, 200)) && value.length > 200
}

// --- internal ---

const OPAQUE = /signature|encrypted/i
const MEDIA = new Set(['data', 'image', 'url'])
