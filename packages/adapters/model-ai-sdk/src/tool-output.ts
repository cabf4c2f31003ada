import type { ToolContent, ToolOutput } from '@palimpsest/session'
import { fileMembers } from './file-data.js'
import type { SpecVersion } from './language-model.js'

/** A tool's output in the shape of the model's spec. What V2 cannot carry becomes text, so that it is never refused. */
export function outputFor(output: ToolOutput, spec: SpecVersion): Record<string, unknown> {
  if (output.type === 'content') return { type: 'content', value: output.value.map(part => contentFor(part, spec)) }
  if (output.type !== 'execution-denied' || spec !== 'v2') return { ...output }
  return { type: 'error-text', value: output.reason ?? 'The execution of this tool was denied.' }
}

// --- internal ---

function contentFor(part: ToolContent, spec: SpecVersion): Record<string, unknown> {
  if (part.type === 'text') return { ...part }
  if (spec === 'v2') return contentForV2(part)
  if (spec === 'v3') return part.type === 'media' ? { ...part, type: `${kindOf(part.mediaType)}-data` } : { ...part }
  return contentForV4(part)
}

function contentForV2(part: Exclude<ToolContent, { type: 'text' }>): Record<string, unknown> {
  switch (part.type) {
    case 'media':
    case 'file-data':
    case 'image-data':
      return { type: 'media', data: part.data, mediaType: part.mediaType }
    case 'file-url':
    case 'image-url':
      return { type: 'text', text: part.url }
    default: {
      const { providerOptions: _, ...shown } = part
      return { type: 'text', text: JSON.stringify(shown) }
    }
  }
}

function contentForV4(part: Exclude<ToolContent, { type: 'text' }>): Record<string, unknown> {
  const options = part.providerOptions === undefined ? {} : { providerOptions: part.providerOptions }
  switch (part.type) {
    case 'media':
    case 'file-data':
    case 'image-data': {
      const filename = 'filename' in part && part.filename !== undefined ? { filename: part.filename } : {}
      return { type: 'file', ...fileMembers(part.data, part.mediaType, 'v4'), ...filename, ...options }
    }
    case 'file-url':
    case 'image-url': {
      const mediaType = part.type === 'image-url' ? 'image/*' : 'application/octet-stream'
      return { type: 'file', ...fileMembers(part.url, mediaType, 'v4'), ...options }
    }
    case 'file-id':
    case 'image-file-id': {
      const reference = typeof part.fileId === 'string' ? { default: part.fileId } : part.fileId
      const mediaType = part.type === 'image-file-id' ? 'image/*' : 'application/octet-stream'
      return { type: 'file', mediaType, data: { type: 'reference', reference }, ...options }
    }
    default:
      return { ...part }
  }
}

function kindOf(mediaType: string): 'image' | 'file' {
  return mediaType.startsWith('image/') ? 'image' : 'file'
}
