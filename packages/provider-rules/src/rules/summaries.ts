import type { ToolCallPart, ToolContent, ToolOutput, ToolResultPart } from '@palimpsest/session'
import type { Draft, Piece } from '../draft.js'
import type { Rule } from '../rule.js'

export const callsAreToldInWords: Rule = {
  name: 'calls-are-told-in-words',
  targets: ['openai-chat', 'openai-responses', 'gemini', 'deepseek'],
  codes: [],
  source: 'anomalyco/opencode#10259, anomalyco/opencode#18539 (a summary request without its tools, or with a stub)',
  healing:
    'in a request for a summary the answers tell in words what they called and what came of it; no tools go along',
  heal(draft) {
    if (draft.options.purpose === 'summary') tellInWords(draft)
  },
}

export const summariesCallNothing: Rule = {
  name: 'summaries-call-nothing',
  targets: ['anthropic'],
  codes: [],
  source: 'anomalyco/opencode#10259, getsigit/sigit#81 (a summary request with tool blocks needs its tools)',
  healing: 'tool use is switched off in a request for a summary',
  heal(draft) {
    if (draft.options.purpose === 'summary' && draft.tools.length > 0) draft.toolChoice = 'none'
  },
}

// --- internal ---

/** A call and what came of it are one text of the answer that made it: no result becomes a word of the user's. */
function tellInWords(draft: Draft): void {
  for (const { piece, entry } of draft.calls()) {
    const told: Piece = piece
    // White space may stand beside a call, not beside a text.
    entry.pieces = entry.pieces.filter(({ part }) => part.type !== 'text' || /\S/.test(part.text))
    if (piece.answer) leaveMediaOut(piece.answer.part, draft)
    told.part = { type: 'text', text: `${callText(piece.part)}\n${resultText(piece.answer?.part)}` }
  }
  draft.entries = draft.entries.filter(({ role }) => role !== 'tool')
  if (draft.tools.length > 0) draft.lose('tool-schema', 'a request for a summary offers no tools', draft.tools.length)
  draft.tools = []
}

function callText({ toolName, input, rawInput }: ToolCallPart): string {
  return `[Call of ${toolName || 'an unnamed tool'}: ${rawInput || JSON.stringify(input)}]`
}

function resultText(result: ToolResultPart | undefined): string {
  const isError = result?.output.type.startsWith('error-') || result?.providerOptions?.palimpsest?.isError === true
  return `[${isError ? 'It failed' : 'Its result'}: ${result ? outputText(result.output) : ''}]`
}

function outputText(output: ToolOutput): string {
  switch (output.type) {
    case 'text':
    case 'error-text':
      return output.value
    case 'json':
    case 'error-json':
      return JSON.stringify(output.value)
    case 'execution-denied':
      return output.reason ?? 'The user did not allow this call.'
    case 'content':
      return output.value.map(part => (part.type === 'text' ? part.text : NO_TEXT)).join('\n')
  }
}

const NO_TEXT = '[left out: it is no text]'

function leaveMediaOut({ output }: ToolResultPart, draft: Draft): void {
  if (output.type !== 'content') return
  const count = output.value.filter(isNoText).length
  if (count > 0) draft.lose('media', 'a request for a summary tells results in words', count)
}

function isNoText({ type }: ToolContent): boolean {
  return type !== 'text'
}
