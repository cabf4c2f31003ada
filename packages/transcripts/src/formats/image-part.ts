import type { ImagePart, ProviderOptions } from '@palimpsest/session'

/** An image from an address or a `data:` URL. Bytes stand apart from their type, so that both can be looked at. */
export function imagePart(url: string, providerOptions?: ProviderOptions): ImagePart {
  const { data, mediaType } = bytesOf(url) ?? { data: url }
  return {
    type: 'image',
    image: data,
    ...(mediaType !== undefined && { mediaType }),
    ...(providerOptions && { providerOptions }),
  }
}

/** The bytes of a `data:` URL in base64, and their type. `undefined` for any other address. */
export function bytesOf(url: string): { data: string; mediaType?: string } | undefined {
  const [, type, data] = /^data:([^;,]*);base64,(.*)$/s.exec(url) ?? []
  if (data === undefined) return undefined
  return { data, ...(type && { mediaType: type }) }
}
