import type { ScriptedReply } from '@palimpsest/model-scripted'
import type { ModelRequest } from '@palimpsest/session'

export const task = 'The tests of this project fail. Mend it, then release it.'
export const goOn = 'The process was killed. Go on.'

const bash = (command: string) => ({ toolName: 'bash', input: { command } })

/** What the model says in the first process. It never gets past the last line. */
export const firstScript: ScriptedReply[] = [
  { text: 'I run the tests first.', toolCalls: [bash('node --test')] },
  {
    text: 'The first item is missing from the total. I look at the program.',
    toolCalls: [{ toolName: 'read', input: { path: 'basket.mjs' } }],
  },
  {
    text: 'The loop begins at 1.',
    toolCalls: [{ toolName: 'edit', input: { path: 'basket.mjs', oldText: 'let i = 1', newText: 'let i = 0' } }],
  },
  { text: 'Now the tests again.', toolCalls: [bash('node --test')] },
  { text: 'They pass. I release it.', toolCalls: [bash('node release.mjs')] },
]

/** What the model says in the second process. It goes by what it is told, and is told the truth. */
export function secondScript(request: ModelRequest, n: number): ScriptedReply {
  const replies: ScriptedReply[] = [
    sawUnknownOutcome(request)
      ? {
          text: 'The release may have run in part or in full. I look at what it left before I try again.',
          toolCalls: [{ toolName: 'read', input: { path: 'release.log' } }],
        }
      : { error: { code: 'DEMO_FAILED', message: 'expected a result that says "outcome is unknown", found none' } },
    {
      text: 'It started and did not finish. I release again.',
      toolCalls: [bash('node release.mjs 0 && cat release.log')],
    },
    { text: 'Mended and released: the loop began at 1 and left the first item out.' },
  ]
  return replies[n] ?? { text: 'Nothing is left to do.' }
}

// --- internal ---

function sawUnknownOutcome(request: ModelRequest): boolean {
  return request.messages.some(
    ({ role, content }) => role === 'tool' && JSON.stringify(content).includes('outcome is unknown'),
  )
}
