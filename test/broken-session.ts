/**
 * A session of Claude Code that its agent cannot resume, as the README shows it: a call that was never answered, and
 * behind it a record that was cut short.
 */
export function brokenSession(): string {
  const rows = [
    row('a', null, 'user', { role: 'user', content: 'Why does the build fail?' }),
    row('b', 'a', 'assistant', answer('m1', call('toolu_1', 'Bash', { command: 'make' }))),
    row('c', 'b', 'user', {
      role: 'user',
      content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'main.c:7: expected ;' }],
    }),
    row('d', 'c', 'assistant', answer('m2', { type: 'text', text: 'A semicolon is missing.' })),
    row('e', 'd', 'user', { role: 'user', content: 'Mend it.' }),
    row('f', 'e', 'assistant', answer('m3', call('toolu_2', 'Edit', { file: 'main.c' }))),
    row('g', 'f', 'user', { role: 'user', content: 'Go on.' }).slice(0, 90),
  ]
  return rows.join('\n')
}

// --- internal ---

function row(uuid: string, parentUuid: string | null, type: string, message: object): string {
  const session = { isSidechain: false, sessionId: '6f1d2c9e-7b1a-4c59-9d2e-0a1b2c3d4e5f', cwd: '/app' }
  const minute = uuid.charCodeAt(0) - 'a'.charCodeAt(0)
  const timestamp = `2026-01-07T09:0${minute}:00.000Z`
  return JSON.stringify({ parentUuid, ...session, version: '2.1.100', type, message, uuid, timestamp })
}

function answer(id: string, part: object): object {
  return { id, type: 'message', role: 'assistant', model: 'claude-sonnet-4-5', content: [part] }
}

function call(id: string, name: string, input: object): object {
  return { type: 'tool_use', id, name, input }
}
