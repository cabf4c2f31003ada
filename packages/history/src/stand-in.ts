import type { SessionEvent, ToolResultPart } from '@palimpsest/session'

/** What a pruned result is replaced by: the call as it was, and where the full text can be read. */
export function standInFor({ seq, data }: SessionEvent<'tool/result'>, tokens: number) {
  const { turn, step, toolCallId, error, message } = data
  const { toolName } = message.content.find(({ type }) => type === 'tool-result') as ToolResultPart
  const value = `[${toolName}: ${tokens} tokens left out; recall seq ${seq}]`
  const content: ToolResultPart[] = [
    { type: 'tool-result', toolCallId, toolName, output: { type: error ? 'error-text' : 'text', value } },
  ]
  return { turn, step, toolCallId, message: { role: 'tool' as const, content }, ...(error && { error }) }
}
