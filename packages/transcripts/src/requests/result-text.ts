import type { ToolContent, ToolOutput, ToolResultPart } from '@palimpsest/session'
import { stringOf } from '../json/shapes.js'

/** A result as text: values as their JSON, of mixed content the texts and a note for each thing that is none. */
export function resultText(output: ToolOutput): string {
  switch (output.type) {
    case 'text':
    case 'error-text':
      return output.value
    case 'json':
    case 'error-json':
      return valueText(output)
    case 'execution-denied':
      return output.reason ?? 'The user did not allow this call.'
    case 'content':
      return output.value.map(contentText).join('\n')
  }
}

/** Whether the call failed or was not allowed. */
export function isFailure({ output, providerOptions }: ToolResultPart): boolean {
  return (
    output.type.startsWith('error-') ||
    output.type === 'execution-denied' ||
    providerOptions?.palimpsest?.isError === true
  )
}

// --- internal ---

/** The JSON text of a value result, with the digits that its source had. */
function valueText(output: ToolOutput & { type: 'json' | 'error-json' }): string {
  return stringOf(output.providerOptions?.palimpsest?.raw) ?? JSON.stringify(output.value)
}

function contentText(part: ToolContent): string {
  if (part.type === 'text') return part.text
  if ('url' in part) return part.url
  return `[${part.type.startsWith('image') ? 'image' : 'file'} left out: this result takes text only]`
}
