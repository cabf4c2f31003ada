/** Rows as Claude Code writes them, with short ids: `row('b', 'a', …)` hangs under `a`. */
export function row(uuid: string, parentUuid: string | null, members: object, more: object = {}): object {
  const second = String(tick++ % 60).padStart(2, '0')
  return {
    parentUuid,
    isSidechain: false,
    sessionId: 'own',
    version: '2.1.100',
    cwd: '/project',
    ...members,
    uuid,
    timestamp: `2026-01-05T09:00:${second}.000Z`,
    ...more,
  }
}

/** Clocks of rows begin anew. */
export function restartClock(): void {
  tick = 0
}

export const user = (content: unknown, more: object = {}) => ({
  type: 'user',
  message: { role: 'user', content },
  ...more,
})

export const answer = (id: string, content: unknown, more: object = {}) => ({
  type: 'assistant',
  message: { id, type: 'message', role: 'assistant', model: 'claude-opus-4-5', content: [content].flat(), ...more },
})

export const text = (words: string) => ({ type: 'text', text: words })

export const call = (id: string, input: object = {}) => ({ type: 'tool_use', id, name: 'Bash', input })

export const result = (id: string, content: unknown = `out ${id}`) =>
  user([{ tool_use_id: id, type: 'tool_result', content }], { toolUseResult: content })

export const boundary = (more: object = {}) => ({ type: 'system', subtype: 'compact_boundary', ...more })

export const summary = (words: string) => user([text(words)], { isCompactSummary: true })

/** A row without a message that takes part in the chain. */
export const hook = () => ({ type: 'system', subtype: 'stop_hook_summary', content: 'ran' })

// --- internal ---

let tick = 0
