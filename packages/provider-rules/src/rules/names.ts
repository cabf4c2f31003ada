import { withDigest } from '../digest.js'
import type { Draft } from '../draft.js'
import { TARGETS } from '../request.js'
import type { Rule } from '../rule.js'
import type { TargetFacts } from '../targets.js'

/** Of calls, results and declarations alike, so that they go on agreeing. */
export const toolNamesAreLegal: Rule = {
  name: 'tool-names-are-legal',
  targets: TARGETS,
  codes: ['name.illegal-for-target'],
  source:
    'docs.claude.com/en/docs/agents-and-tools/tool-use/implement-tool-use, ai.google.dev/gemini-api/docs/function-calling',
  healing: 'other characters become _, with a digest of the whole name',
  heal(draft) {
    for (const { piece } of draft.calls()) {
      const { answer, part } = piece
      const stored = part.toolName || answer?.part.toolName || 'unnamed_tool'
      const toolName = legalName(stored, draft.facts)
      if (toolName !== part.toolName) {
        draft.report('name.illegal-for-target', 'info', piece.origin, { name: part.toolName })
        piece.part = { ...part, toolName }
      }
      if (answer && answer.part.toolName !== toolName) answer.part = { ...answer.part, toolName }
    }
    draft.tools = legalTools(draft)
  },
}

// --- internal ---

function legalName(name: string, { toolName: { legal, limit } }: TargetFacts): string {
  return legal.test(name) && name.length <= limit ? name : withDigest(name, limit)
}

function legalTools({ tools, facts }: Draft): Draft['tools'] {
  if (tools.every(({ name }) => legalName(name, facts) === name)) return tools
  return tools.map(tool => ({ ...tool, name: legalName(tool.name, facts) }))
}
