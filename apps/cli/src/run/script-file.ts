import { readFileSync } from 'node:fs'
import type { ScriptedReply } from '@palimpsest/model-scripted'
import { z } from 'zod'
import { CommandError, usageError } from '../failure.js'

/** The replies in a file for `--model scripted:FILE`: a JSON array of `ScriptedReply`. */
export function readScript(file: string): ScriptedReply[] {
  const result = SCRIPT.safeParse(parse(file))
  // The file has no `undefined`, so what zod types as such is simply not there.
  if (result.success) return result.data as ScriptedReply[]
  const [issue] = result.error.issues
  const where = issue!.path.length === 0 ? 'the file' : `reply ${issue!.path.map(String).join('.')}`
  throw usageError(
    `--model scripted: ${where} of ${file}: ${issue!.message}; expected a JSON array of replies such as [{"text": "Hello"}]`,
  )
}

// --- internal ---

const COUNT = z.number().nonnegative().optional()
const CALL = z.strictObject({
  toolName: z.string().min(1),
  input: z.unknown(),
  toolCallId: z.string().min(1).optional(),
})
const REPLY = z.strictObject({
  text: z.string().optional(),
  reasoning: z.string().optional(),
  toolCalls: z.array(CALL).optional(),
  finishReason: z.enum(['stop', 'length', 'tool-calls', 'content-filter', 'other']).optional(),
  usage: z
    .strictObject({
      inputTokens: COUNT,
      outputTokens: COUNT,
      totalTokens: COUNT,
      cachedInputTokens: COUNT,
      reasoningTokens: COUNT,
    })
    .optional(),
  error: z.strictObject({ code: z.string(), message: z.string(), retryable: z.boolean().optional() }).optional(),
  chunks: z.array(z.looseObject({ type: z.string() })).optional(),
})
const SCRIPT = z.array(REPLY)

function parse(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch (error) {
    if (error instanceof SyntaxError)
      throw usageError(`--model scripted: expected JSON in ${file}, found ${error.message}`)
    throw new CommandError(
      'SCRIPT_UNREADABLE',
      `--model scripted: expected a readable file at ${file}, found ${(error as Error).message}; check the path`,
    )
  }
}
