import { describe, expect, it } from 'vitest'
import { opened, script } from './opened.js'

const system = { role: 'system', content: 'You fix bugs.', agent: 'main' }
const task = { role: 'user', content: 'Fix it.', agent: 'main' }
const calls = (id: string) => [{ id, type: 'function', function: { name: 'open', arguments: '{"path":"a.py"}' } }]

describe('a SWE-agent run', () => {
  it('has the task from the user, and what actions did as context', () => {
    const { format, messages, events } = opened(
      JSON.stringify({
        trajectory: [{ action: 'ls', observation: 'a.py', response: 'Look.', state: '{}', execution_time: 0.1 }],
        history: [
          system,
          { role: 'user', content: 'A demonstration.', is_demo: true, agent: 'main' },
          task,
          { role: 'assistant', content: 'Look.\n```\nls\n```', thought: 'Look.', action: 'ls', agent: 'main' },
          { role: 'user', content: 'a.py', agent: 'main', message_type: 'observation' },
        ],
        info: { exit_status: 'submitted' },
      }),
    )
    expect(format).toBe('swe-agent')
    expect(script(messages).map(line => line.split('\n')[0])).toEqual([
      'user: A demonstration.',
      'user: Fix it.',
      'assistant: Look.',
      'user: a.py',
    ])
    const origins = events.flatMap(({ type, data }) =>
      type === 'context/message' ? [(data as { origin: string }).origin] : [],
    )
    expect(origins).toEqual(['demonstration', 'observation'])
    expect(events.find(({ type }) => type === 'request/header')?.data).toMatchObject({ system: 'You fix bugs.' })
    expect(events.filter(({ type }) => type === 'turn/start')).toHaveLength(1)
    expect(events.filter(({ type }) => type.startsWith('import/'))).toHaveLength(2)
  })

  it('pairs results by the ids on the tool message, an id that comes again too', () => {
    const step = (text: string) => [
      { role: 'assistant', content: text, tool_calls: calls('c1'), agent: 'main' },
      { role: 'tool', content: `${text} done`, tool_call_ids: ['c1'], agent: 'main' },
    ]
    const { messages } = opened(JSON.stringify({ history: [system, task, ...step('One'), ...step('Two')] }))
    expect(script(messages)).toEqual([
      'user: Fix it.',
      'assistant: One | c1 open {"path":"a.py"}',
      'tool: c1 text One done',
      'assistant: Two | c1 open {"path":"a.py"}',
      'tool: c1 text Two done',
    ])
  })

  it('is read from its steps where it has no history', () => {
    const trajectory = [{ action: 'ls', observation: 'a.py', response: 'Look.' }]
    const { messages, format } = opened(JSON.stringify({ trajectory, history: [], info: {} }))
    expect(format).toBe('swe-agent')
    expect(script(messages)).toEqual(['assistant: Look.', 'user: a.py'])
  })

  it('says where a system message stands that is not the first', () => {
    const { told } = opened(JSON.stringify({ history: [system, task, system] }))
    expect(told).toEqual(['turn.system-not-first history[2]'])
  })
})

it('a mini-swe-agent run names its model and ends with a note', () => {
  const { format, messages, about, held } = opened(
    JSON.stringify({
      info: { config: { model: { model_name: 'anthropic/claude-sonnet-4' } } },
      trajectory_format: 'mini-swe-agent-1',
      messages: [
        { role: 'system', content: 'S' },
        { role: 'user', content: 'Fix it.' },
        { role: 'assistant', content: 'Done.' },
        { role: 'exit', content: 'Submitted' },
      ],
    }),
  )
  expect(format).toBe('swe-agent')
  expect(script(messages)).toEqual(['user: Fix it.', 'assistant: Done.'])
  expect(about).toMatchObject({ model: 'anthropic/claude-sonnet-4', vendor: 'anthropic' })
  expect(held('import/swe-agent.exit')).toHaveLength(1)
})
