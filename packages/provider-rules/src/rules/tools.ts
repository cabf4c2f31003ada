import type { ToolSchema } from '@palimpsest/session'
import { TARGETS } from '../request.js'
import type { Rule } from '../rule.js'

export const calledToolsAreDeclared: Rule = {
  name: 'called-tools-are-declared',
  targets: TARGETS,
  codes: [],
  source: 'anthropics/anthropic-sdk-python#494 (requests with tool blocks must define tools)',
  healing: 'one without a recorded schema is declared with one that permits anything',
  heal(draft) {
    const known = new Set(draft.tools.map(({ name }) => name))
    const missing: ToolSchema[] = []
    for (const { piece } of draft.calls()) {
      const { toolName: name } = piece.part
      if (known.has(name)) continue
      known.add(name)
      missing.push({ name, inputSchema: { type: 'object' } })
      draft.lose('tool-schema', 'not recorded')
    }
    if (missing.length > 0) draft.tools = [...draft.tools, ...missing]
  },
}

export const toolsAreLegal: Rule = {
  name: 'tools-are-legal',
  targets: TARGETS,
  codes: [],
  source:
    '0x4m4/hexstrike-ai#29 (at most 128), docs.claude.com/en/docs/agents-and-tools/tool-use/implement-tool-use (names unique)',
  healing: 'the first of one name counts; of more than a target takes, the called ones go first',
  heal(draft) {
    const seen = new Set<string>()
    const first = draft.tools.filter(({ name }) => !seen.has(name) && seen.add(name))
    const limit = draft.target === 'openai-chat' || draft.target === 'deepseek' ? 128 : Number.POSITIVE_INFINITY
    if (first.length <= limit && first.length === draft.tools.length) return
    if (first.length <= limit) {
      draft.tools = first
      return
    }
    const called = new Set([...draft.calls()].map(({ piece }) => piece.part.toolName))
    const ranked = [...first.filter(({ name }) => called.has(name)), ...first.filter(({ name }) => !called.has(name))]
    draft.tools = ranked.slice(0, limit)
    draft.lose('tool-schema', `more than ${limit} tools`, ranked.length - limit)
  },
}
