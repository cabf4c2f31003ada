import { join } from 'node:path'
import type { Session } from '@palimpsest/session'
import { createSession } from '@palimpsest/session-persistence'
import { createJsonlBackend } from '@palimpsest/session-persistence-jsonl'
import { temporaryFolder } from './command.js'

/** A store in a temporary folder with one session, filled by `fill` and closed. */
export async function storeWith(
  id: string,
  fill: (session: Session) => void,
  directory = join(temporaryFolder(), 'store'),
) {
  const backend = createJsonlBackend({ directory })
  const open = await createSession(backend, { id, now: () => 1_700_000_000_000 })
  fill(open.session)
  await open.close()
  await backend.close()
  return { directory, session: open.session, file: join(directory, `${id}.jsonl`) }
}

export const text = (value: string) => ({ role: 'user' as const, content: [{ type: 'text' as const, text: value }] })

/**
 * Two turns: a call with its result, then a replacement of the first three messages that is restored
 * again, and a second replacement that stays.
 */
export function fillStory(session: Session): void {
  const append = { surfaceOp: 'append' as const }
  session.append('turn/start', { turn: 1 }) // 0
  session.append('user/message', { turn: 1, message: text('read the file') }, append) // 1
  session.append('step/start', { turn: 1, step: 1 }) // 2
  session.append('request/header', { model: 'model-a', settings: { temperature: 0 }, system: 'be brief' }) // 3
  session.append('assistant/chunk', { turn: 1, step: 1, chunk: { type: 'text-delta', id: '0', text: 'I read' } }) // 4
  session.append(
    'assistant/message', // 5
    {
      turn: 1,
      step: 1,
      finishReason: 'tool-calls',
      message: {
        role: 'assistant',
        content: [
          { type: 'text', text: 'I read' },
          { type: 'tool-call', toolCallId: 'c1', toolName: 'read', input: { path: 'a' } },
        ],
      },
    },
    { ...append, sourceEventSeqs: [4] },
  )
  session.append('tool/call', { turn: 1, step: 1, toolCallId: 'c1', toolName: 'read', arguments: '{"path":"a"}' }) // 6
  session.append(
    'tool/result', // 7
    {
      turn: 1,
      step: 1,
      toolCallId: 'c1',
      message: {
        role: 'tool',
        content: [
          { type: 'tool-result', toolCallId: 'c1', toolName: 'read', output: { type: 'text', value: 'alpha' } },
        ],
      },
    },
    { ...append, sourceEventSeqs: [6] },
  )
  session.append('step/end', { turn: 1, step: 1 }) // 8
  session.append('turn/end', { turn: 1, reason: { kind: 'completed' } }) // 9
  const replace = (note: string) =>
    session.append(
      'user/message',
      { message: text(note) },
      { surfaceOp: { op: 'replace', start: 1, end: 7 }, sourceEventSeqs: [1, 5, 7] },
    )
  replace('first summary') // 10
  session.append('surface/restore', {}, { surfaceOp: { op: 'restore', node: 10 }, sourceEventSeqs: [10] }) // 11
  replace('second summary') // 12
}
