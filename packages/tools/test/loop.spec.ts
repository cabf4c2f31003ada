import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createAgent } from '@palimpsest/agent-loop'
import { type Chunk, type ModelPort, Session, type SessionEvent } from '@palimpsest/session'
import { expect, test } from 'vitest'
import { type CodingToolsOptions, codingTools } from '../src/index.js'
import { eventually, isRunning, temporaryFolder } from './fixtures/call.js'

type Call = [toolName: string, input: object]
type ToolResult = SessionEvent<'tool/result'>

/** Asks for one batch of calls a step, then says that it is done. */
function modelOf(batches: Call[][]): ModelPort {
  let step = 0
  return {
    model: 'test',
    async *stream(): AsyncIterable<Chunk> {
      const calls = batches[step++] ?? []
      for (const [i, [toolName, input]] of calls.entries()) {
        yield { type: 'tool-call', toolCallId: `${step}.${i + 1}`, toolName, input: JSON.stringify(input) }
      }
      if (calls.length === 0) yield { type: 'text-delta', id: '1', text: 'done' }
      yield { type: 'finish', finishReason: calls.length === 0 ? 'stop' : 'tool-calls' }
    },
  }
}

function agentOn(root: string, batches: Call[][], options: Partial<CodingToolsOptions> = {}) {
  const session = Session.create()
  const agent = createAgent({ session, model: modelOf(batches), tools: codingTools({ root, ...options }) })
  const results = () => session.events.filter((event): event is ToolResult => event.type === 'tool/result')
  const outcomes = () =>
    results().map(({ data }) => data.error?.code ?? (data.message.content[0]!.output as { value: unknown }).value)
  return { agent, session, results, outcomes }
}

test('an agent works with all five tools', async () => {
  const root = temporaryFolder()
  const { agent, outcomes } = agentOn(root, [
    [['write', { path: 'src/sum.js', content: 'console.log(1 - 1)\n' }]],
    [
      ['read', { path: 'src/sum.js' }],
      ['grep', { pattern: 'console' }],
    ],
    [['edit', { path: 'src/sum.js', oldText: '1 - 1', newText: '1 + 1' }]],
    [['bash', { command: 'node src/sum.js' }]],
  ])
  agent.send('mend it')
  await agent.idle()
  expect(outcomes()).toEqual([
    'Created "src/sum.js": 19 bytes.',
    'console.log(1 - 1)\n',
    'src/sum.js:1:console.log(1 - 1)',
    'Edited "src/sum.js": 1 replacement at line 1.',
    '2\n[exit code 0]',
  ])
})

test('refusals are results that say why, and schemas are kept', async () => {
  const root = temporaryFolder()
  const { agent, outcomes, results } = agentOn(root, [
    [
      ['read', { path: '../secret' }],
      ['read', { path: 'x', extra: 1 }],
      ['read', { path: 'x', offset: 0 }],
      ['read', {}],
      ['bash', { command: 'true', timeoutSeconds: 0 }],
      ['write', { path: 'x', content: 1 }],
      ['edit', { path: 'x', oldText: '', newText: 'y' }],
      ['grep', { pattern: 'x', glob: 7 }],
      ['bash', { command: 'sleep 1000', timeoutSeconds: 0.2 }],
    ],
  ])
  agent.send('try')
  await agent.idle()
  expect(outcomes()).toEqual(['TOOL_FAILED', ...Array(7).fill('TOOL_ARGUMENTS_INVALID'), 'TOOL_FAILED'])
  const { output } = results()[0]!.data.message.content[0]!
  expect(output).toEqual({ type: 'error-text', value: expect.stringContaining('must stay under the root') })
})

test('an image reaches the log as media', async () => {
  const root = temporaryFolder()
  const bytes = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex')
  writeFileSync(join(root, 'a.png'), bytes)
  const { agent, results } = agentOn(root, [[['read', { path: 'a.png' }]]])
  agent.send('look')
  await agent.idle()
  expect(results()[0]!.data.message.content[0]!.output).toEqual({
    type: 'content',
    value: [
      { type: 'text', text: '"a.png": image/png, 16 bytes.' },
      { type: 'media', mediaType: 'image/png', data: bytes.toString('base64') },
    ],
  })
})

test('a cancel ends a command that ignores SIGTERM within the grace: TOOL_ABORTED, and nothing is left running', async () => {
  const root = temporaryFolder()
  const file = join(root, 'pid')
  const { agent, outcomes } = agentOn(
    root,
    [[['bash', { command: `trap '' TERM; echo $$ > ${file}; while :; do sleep 1000; done` }]]],
    { bash: { killGraceMs: 100 } },
  )
  agent.send('wait')
  await eventually('the command runs', () => existsSync(file) && readFileSync(file, 'utf8').endsWith('\n'))
  const pid = Number(readFileSync(file, 'utf8'))
  agent.cancel('enough')
  await agent.idle()
  expect(outcomes()).toEqual(['TOOL_ABORTED'])
  expect(isRunning(pid)).toBe(false)
})
