import type { ToolOutput } from '@palimpsest/session'
import { type Draft, isOpaque, type Piece } from '../draft.js'
import { TARGETS } from '../request.js'
import type { Rule } from '../rule.js'
import { NO_OUTPUT } from '../texts.js'

export const resultsAreText: Rule = {
  name: 'results-are-text',
  targets: ['anthropic', 'openai-chat', 'openai-responses', 'deepseek'],
  codes: ['value.non-string-result'],
  source:
    'InsForge/InsForge#1787, NousResearch/hermes-agent#31435, SAIL-Research-Lab/cheetahclaws#71 (expected a string)',
  healing: 'values go out as their JSON text, nothing as a text that says so',
  heal(draft) {
    const takesParts = draft.facts.media.result
    for (const piece of draft.results()) {
      const { output } = piece.part
      const text = textOf(output, takesParts)
      if (text === undefined) continue
      const isTextParts = output.type === 'content' && output.value.length > 0
      const severity = isTextParts || draft.options.structuredResults ? 'info' : 'error'
      draft.report('value.non-string-result', severity, piece.origin)
      const isError = output.type === 'error-json'
      piece.part = { ...piece.part, output: { type: isError ? 'error-text' : 'text', value: text || NO_OUTPUT } }
    }
  },
}

/** Some protocols know a result without content; what these refuse is an empty text. */
export const resultsHaveContent: Rule = {
  name: 'results-have-content',
  targets: ['anthropic', 'openai-chat', 'deepseek'],
  codes: ['content.empty'],
  source: 'dirge-code/dirge#757, open-webui/open-webui#25083 (empty text in a result)',
  healing: 'a short stand-in says that there was no output',
  heal(draft) {
    for (const piece of draft.results()) {
      const output = filled(piece, draft)
      if (output === piece.part.output) continue
      piece.part = { ...piece.part, output }
    }
  },
}

/** For every target: a result must be there to be sent. */
export const resultsAreOutputs: Rule = {
  name: 'results-are-outputs',
  targets: TARGETS,
  codes: ['value.non-string-result'],
  source: 'NousResearch/hermes-agent#31435 (expected a string, got null)',
  healing: 'a result without any output says so',
  heal(draft) {
    for (const piece of draft.results()) {
      if (piece.part.output?.type !== undefined) continue
      draft.report('value.non-string-result', 'error', piece.origin)
      piece.part = { ...piece.part, output: { type: 'text', value: NO_OUTPUT } }
    }
  },
}

// --- internal ---

/** `undefined`: the target takes it as it is. The empty text: there is nothing. */
function textOf(output: ToolOutput, takesParts: boolean): string | undefined {
  if (output.type === 'json' || output.type === 'error-json') {
    const raw = output.providerOptions?.palimpsest?.raw
    if (output.value === null || output.value === undefined) return ''
    if (typeof output.value === 'string') return output.value
    return typeof raw === 'string' ? raw : JSON.stringify(output.value)
  }
  if (output.type !== 'content') return undefined
  if (output.value.length === 0) return ''
  if (takesParts || output.value.some(({ type }) => type !== 'text')) return undefined
  return output.value.map(part => (part.type === 'text' ? part.text : '')).join('\n')
}

function filled(piece: Piece & { part: { output: ToolOutput } }, draft: Draft): ToolOutput {
  const { output } = piece.part
  const report = (has: string) => draft.report('content.empty', 'error', piece.origin, { has })
  if (output.type === 'text' || output.type === 'error-text') {
    if (/\S/.test(output.value)) return output
    report(output.value === '' ? 'nothing' : 'white space only')
    return { ...output, value: NO_OUTPUT }
  }
  if (output.type === 'execution-denied') {
    return output.reason === undefined || /\S/.test(output.reason) ? output : { type: 'execution-denied' }
  }
  if (output.type !== 'content') return output
  const value = output.value.filter(
    part => part.type !== 'text' || /\S/.test(part.text) || isOpaque({ ...piece, part: part as never }, draft.facts),
  )
  if (value.length === output.value.length) return output
  report('an empty text')
  return value.length === 0 ? { type: 'text', value: NO_OUTPUT } : { ...output, value }
}
