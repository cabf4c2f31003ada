import type { EventMap, SessionEvent, ToolResultPart } from '@palimpsest/session'

/**
 * What a pruned result is replaced by: the call as it was, and where the full text can be read. `undefined` of what
 * is not one result of a named call, as a log from elsewhere may hold: a stand-in would lose the rest.
 */
export function standInFor(
  { seq, data }: SessionEvent<'tool/result'>,
  tokens: number,
): EventMap['tool/result'] | undefined {
  const { turn, step, toolCallId, error, message } = data
  const [part, ...others] = message.content as (ToolResultPart | null)[]
  if (others.length > 0 || part?.type !== 'tool-result') return undefined
  const { toolName, output: full } = part
  if (typeof toolCallId !== 'string' || typeof toolName !== 'string') return undefined
  const value = `[${toolName}: ${tokens} tokens left out; recall seq ${seq}]`
  const isError = error !== undefined || String(full?.type).startsWith('error')
  const output = { type: isError ? ('error-text' as const) : ('text' as const), value }
  return {
    ...({ ...(turn !== undefined && { turn }), ...(step !== undefined && { step }) } as { turn: number; step: number }),
    toolCallId,
    message: { role: 'tool', content: [{ type: 'tool-result', toolCallId, toolName, output }] },
    ...(error !== undefined && { error }),
  }
}
