import type { JsonObject, JsonValue, ToolCallPart } from '@palimpsest/session'
import { TARGETS } from '../request.js'
import type { Rule } from '../rule.js'

export const argumentsAreObjects: Rule = {
  name: 'arguments-are-objects',
  targets: TARGETS,
  codes: ['args.invalid-json', 'args.empty'],
  source: 'justrach/codegraff#752, MoonshotAI/kimi-cli#2165 (arguments must be a valid JSON object string)',
  healing: 'what is no object goes out as one that holds the text; no text as {}',
  heal(draft) {
    for (const { piece } of draft.calls()) {
      const text = piece.part.rawInput ?? JSON.stringify(piece.part.input ?? null)
      const parsed = parse(text)
      if (isObject(parsed)) {
        // Who reads the value and who reads the text must read the same.
        if (!isObject(piece.part.input)) piece.part = { ...piece.part, input: parsed }
        continue
      }
      if (text.trim() === '' || text === 'null') {
        piece.part = withInput(piece.part, {})
        draft.report('args.empty', 'info', piece.origin)
      } else {
        piece.part = withInput(piece.part, { [RAW]: text })
        draft.report('args.invalid-json', 'error', piece.origin)
      }
    }
  },
}

// --- internal ---

/** The key under which text that is no object goes out. */
const RAW = 'unparsed'

function parse(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function isObject(value: unknown): value is JsonObject {
  return value !== null && typeof value === 'object' && !Array.isArray(value)
}

function withInput({ rawInput: _, ...part }: ToolCallPart, input: JsonObject): ToolCallPart {
  return { ...part, input }
}
