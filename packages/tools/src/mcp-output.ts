import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js'
import { toolOutput } from '@palimpsest/agent-loop'
import type { JsonValue, ToolContent } from '@palimpsest/session'
import { ToolError } from './errors.js'
import { OutputWindow } from './output-window.js'

/**
 * What an MCP server answered, as a tool's result: plain text where there is only text, JSON where the text is
 * only the structured content written out, else mixed content. A result marked as an error is thrown (`MCP_CALL_FAILED`
 * with the server's own text).
 */
export function outputOf(result: CallToolResult, maxTextBytes: number): unknown {
  const content = result.content.map(item => contentOf(item, maxTextBytes))
  if (result.isError === true) throw new ToolError('MCP_CALL_FAILED', errorText(content, result, maxTextBytes))
  const structured = result.structuredContent as JsonValue | undefined
  if (structured === undefined) return shown(content)
  if (!saysAll(structured, content)) return shown([...content, jsonText(structured, maxTextBytes)])
  if (Buffer.byteLength(JSON.stringify(structured)) <= maxTextBytes)
    return toolOutput({ type: 'json', value: structured })
  return shown([jsonText(structured, maxTextBytes)])
}

// --- internal ---

type Item = CallToolResult['content'][number]

function contentOf(item: Item, maxTextBytes: number): ToolContent {
  switch (item.type) {
    case 'text':
      return text(item.text, maxTextBytes)
    case 'image':
    case 'audio':
      return { type: 'media', data: item.data, mediaType: item.mimeType }
    case 'resource_link':
      return text(
        `[${item.name}: ${item.uri}${item.description === undefined ? '' : ` – ${item.description}`}]`,
        maxTextBytes,
      )
    case 'resource':
      if ('text' in item.resource) return text(`[${item.resource.uri}]\n${item.resource.text}`, maxTextBytes)
      return {
        type: 'media',
        data: item.resource.blob,
        mediaType: item.resource.mimeType ?? 'application/octet-stream',
      }
  }
}

function text(value: string, maxBytes: number): ToolContent & { type: 'text' } {
  const bytes = Buffer.from(value)
  if (bytes.length <= maxBytes) return { type: 'text', text: value }
  const window = new OutputWindow(maxBytes)
  window.push(bytes)
  return { type: 'text', text: window.text() }
}

function jsonText(value: JsonValue, maxBytes: number): ToolContent {
  return text(JSON.stringify(value), maxBytes)
}

function shown(content: ToolContent[]): unknown {
  const texts = content.filter(item => item.type === 'text')
  if (texts.length < content.length) return toolOutput({ type: 'content', value: content })
  return texts.length === 0 ? '[The tool returned nothing.]' : texts.map(item => item.text).join('\n')
}

/** True where the content is nothing, or one text that is the structured content written out (as the protocol asks). */
function saysAll(structured: JsonValue, content: readonly ToolContent[]): boolean {
  const [only] = content
  if (only === undefined) return true
  if (content.length > 1 || only.type !== 'text') return false
  try {
    return JSON.stringify(JSON.parse(only.text)) === JSON.stringify(structured)
  } catch {
    return false
  }
}

function errorText(content: readonly ToolContent[], result: CallToolResult, maxTextBytes: number): string {
  const texts = content.flatMap(item => (item.type === 'text' ? [item.text] : []))
  if (texts.length > 0) return texts.join('\n')
  const { structuredContent } = result
  return structuredContent === undefined
    ? 'The tool reported an error without a text.'
    : JSON.stringify(structuredContent).slice(0, maxTextBytes)
}
