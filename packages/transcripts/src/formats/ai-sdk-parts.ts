import type { FilePart, JsonValue, ProviderOptions, ToolOutput } from '@palimpsest/session'
import { isObject, type Json, stringOf } from '../json/shapes.js'
import { bytesOf } from './image-part.js'

/** What the SDK calls `providerMetadata` where it comes from a provider and `providerOptions` where it goes to one. */
export function providerOptionsOf({ providerOptions, providerMetadata, callProviderMetadata }: Json): {
  providerOptions?: ProviderOptions
} {
  const own = providerOptions ?? callProviderMetadata ?? providerMetadata
  return isObject(own) && Object.keys(own).length > 0 ? { providerOptions: own as ProviderOptions } : {}
}

export function filePart(part: Json): FilePart {
  const url = stringOf(part.url) ?? stringOf(part.data) ?? ''
  const bytes = bytesOf(url)
  const filename = stringOf(part.filename)
  return {
    type: 'file',
    data: bytes?.data ?? url,
    mediaType: stringOf(part.mediaType) ?? stringOf(part.mimeType) ?? bytes?.mediaType ?? 'application/octet-stream',
    ...(filename !== undefined && { filename }),
    ...providerOptionsOf(part),
  }
}

/** The result that a chunk or the state of a tool part tells of. `undefined`: none yet. */
export function toolOutput(
  type: string,
  { output, result, error, errorText, reason, approval }: Json,
): ToolOutput | undefined {
  if (/output-available$|tool-result$|^result$/.test(type)) return outputOf(output ?? result)
  if (/output-error$|tool-error$/.test(type))
    return { type: 'error-text', value: stringOf(errorText) ?? String(error ?? '') }
  if (!/output-denied$/.test(type)) return undefined
  const told = stringOf(reason) ?? (isObject(approval) ? stringOf(approval.reason) : undefined)
  return { type: 'execution-denied', ...(told !== undefined && { reason: told }) }
}

/** A tool's own value, or an output that already has the SDK's form. */
export function outputOf(value: unknown): ToolOutput {
  if (typeof value === 'string') return { type: 'text', value }
  if (isObject(value) && OUTPUTS.has(String(value.type)) && 'value' in value) return value as unknown as ToolOutput
  if (isObject(value) && value.type === 'execution-denied') return value as unknown as ToolOutput
  return { type: 'json', value: (value ?? null) as JsonValue }
}

// --- internal ---

const OUTPUTS = new Set(['text', 'json', 'error-text', 'error-json', 'content'])
