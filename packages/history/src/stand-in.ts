import type { EventMap, SessionEvent, ToolResultPart } from '@palimpsest/session'

/**
 * What a pruned result is replaced by: the call as it was, and where the full text can be read. `undefined` of
 * one that holds no result, as a log from elsewhere may.
 */
export function standInFor(
  { seq, data }: SessionEvent<'tool/result'>,
  tokens: number,
): EventMap['tool/result'] | undefined {
  const { turn, step, toolCallId, error, message } = data
  const part = message.content.find(each => each?.type === 'tool-result') as ToolResultPart | undefined
  if (part === undefined) return undefined
  const { toolName } = part
  const value = `[${toolName}: ${tokens} tokens left out; recall seq ${seq}]`
  const output = { type: error ? ('error-text' as const) : ('text' as const), value }
  return {
    ...({ ...(turn !== undefined && { turn }), ...(step !== undefined && { step }) } as { turn: number; step: number }),
    toolCallId,
    message: { role: 'tool', content: [{ type: 'tool-result', toolCallId, toolName, output }] },
    ...(error && { error }),
  }
}
