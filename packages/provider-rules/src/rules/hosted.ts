import { isOpaque } from '../draft.js'
import { TARGETS } from '../request.js'
import type { Rule } from '../rule.js'

/** Calls that a provider ran itself, with their results. Only its own protocol can tell of them, in its own words. */
export const hostedCallsStayHome: Rule = {
  name: 'hosted-calls-stay-home',
  targets: TARGETS,
  codes: [],
  source:
    'docs.claude.com/en/docs/agents-and-tools/tool-use/web-search-tool, platform.openai.com/docs/guides/tools (hosted tools)',
  healing: 'they are not sent to another provider',
  heal(draft) {
    if (draft.options.byPort) return
    draft.filter('assistant', (piece, entry) => {
      const isCall = piece.part.type === 'tool-call' && piece.part.providerExecuted === true
      const isResult = piece.part.type === 'tool-result'
      if ((!isCall && !isResult) || isOpaque(piece, draft.facts)) return true
      draft.lose(isCall ? 'call' : 'result', 'the provider ran the tool itself')
      entry.isExplained = true
      return false
    })
  },
}
