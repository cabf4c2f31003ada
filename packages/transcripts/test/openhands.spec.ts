import { describe, expect, it } from 'vitest'
import { lines, opened, script } from './opened.js'

function completion(id: string, content: string, ...calls: string[]): object {
  const tool_calls = calls.map(call => ({
    id: call,
    type: 'function',
    function: { name: 'bash', arguments: '{"c":1}' },
  }))
  return { id, model: 'claude-9', choices: [{ message: { role: 'assistant', content, tool_calls } }] }
}

function metadata(call: string, model_response: object): object {
  return { tool_call_metadata: { tool_call_id: call, function_name: 'bash', model_response } }
}

const run = (...history: unknown[]) => ({ instance_id: 'i-1', instruction: 'Fix it.', history, metrics: {} })
const system = { id: 0, source: 'agent', action: 'system', args: { content: 'You are an agent.' } }
const task = { id: 1, source: 'user', action: 'message', args: { content: 'Fix it.' } }

describe('an OpenHands run', () => {
  it('takes each answer once from the actions that came of it', () => {
    const answer = completion('gen-1', 'Both.', 'a', 'b')
    const { format, messages, events, about, places } = opened(
      lines(
        run(
          system,
          task,
          { id: 2, source: 'user', action: 'recall', args: {} },
          { id: 3, source: 'agent', action: 'run', args: { command: 'ls' }, ...metadata('a', answer) },
          { id: 4, source: 'agent', observation: 'run', content: 'x.c', cause: 3, ...metadata('a', answer) },
          { id: 5, source: 'agent', action: 'run', args: { command: 'cat' }, ...metadata('b', answer) },
          { id: 6, source: 'agent', observation: 'error', content: 'no', cause: 5, ...metadata('b', answer) },
          { id: 7, source: 'environment', observation: 'error', content: 'Out of steps.' },
          { id: 8, source: 'agent', action: 'finish', args: { final_thought: 'Fixed.' } },
        ),
      ),
    )
    expect(format).toBe('openhands')
    expect(script(messages)).toEqual([
      'user: Fix it.',
      'assistant: Both. | a bash {"c":1} | b bash {"c":1}',
      'tool: a text x.c',
      'tool: b error-text no',
      'user: Out of steps.',
      'assistant: Fixed.',
    ])
    expect(events.find(({ type }) => type === 'request/header')?.data).toMatchObject({ system: 'You are an agent.' })
    expect(about).toMatchObject({ id: 'i-1', model: 'claude-9', vendor: 'anthropic', conversations: 1 })
    expect(new Set(places.map(({ where }) => where))).toEqual(new Set(['line 1']))
  })

  it('makes calls of the actions of early runs, which kept no answers', () => {
    const { messages } = opened(
      lines(
        run(
          [
            { action: 'message', content: 'Fix it.' },
            { action: 'run', command: 'ls', thought: 'I look.' },
          ],
          { observation: 'run', content: 'x.c', command: 'ls' },
          { action: 'finish', outputs: {}, thought: 'Fixed.' },
        ),
      ),
    )
    expect(script(messages)).toEqual([
      'user: Fix it.',
      'assistant: I look. | action-2 run {"command":"ls"}',
      'tool: action-2 text x.c',
      'assistant: Fixed.',
    ])
  })

  it('forgets a set of events for a summary', () => {
    const says = (id: number, content: string) => ({ id, source: 'agent', action: 'message', args: { content } })
    const forget = {
      id: 9,
      source: 'agent',
      action: 'condensation',
      args: { forgotten_event_ids: [2, 3], summary: 'Sum.' },
    }
    const { messages } = opened(lines(run(task, says(2, 'A.'), says(3, 'B.'), says(4, 'C.'), forget)))
    expect(script(messages)).toEqual(['user: Fix it.', 'user: Sum.', 'assistant: C.'])
  })

  it('is one of several in a file', () => {
    const file = lines(run(task), { ...run({ ...task, args: { content: 'The other.' } }), instance_id: 'i-2' })
    const { messages, findings, about } = opened(file, { conversation: 1 })
    expect(script(messages)).toEqual(['user: The other.'])
    expect(findings).toEqual([{ code: 'file.conversations', severity: 'info', where: 'file', conversations: 2 }])
    expect(about).toMatchObject({ id: 'i-2', conversations: 2 })
  })
})

describe('events of the OpenHands SDK', () => {
  const message = (id: string, source: string, text: string) => ({
    kind: 'MessageEvent',
    id,
    source,
    llm_message: { role: source, content: [{ type: 'text', text }] },
  })
  const action = (id: string, call: string) => ({
    kind: 'ActionEvent',
    id,
    llm_response_id: 'r-1',
    thought: id === 'e2' ? [{ type: 'text', text: 'Both.' }] : [],
    tool_name: 'bash',
    tool_call_id: call,
    tool_call: { id: call, name: 'bash', arguments: '{"c":1}' },
  })
  const events = [
    { kind: 'SystemPromptEvent', id: 'e0', system_prompt: { type: 'text', text: 'S' }, tools: [] },
    message('e1', 'user', 'Go.'),
    action('e2', 'a'),
    action('e3', 'b'),
    {
      kind: 'ObservationEvent',
      id: 'e4',
      tool_name: 'bash',
      tool_call_id: 'a',
      observation: { content: [{ type: 'text', text: 'x' }] },
    },
    { kind: 'AgentErrorEvent', id: 'e5', tool_name: 'bash', tool_call_id: 'b', error: 'no' },
    message('e6', 'agent', 'Done.'),
  ]

  it('gather the actions of one answer', () => {
    const { format, messages } = opened(JSON.stringify(events))
    expect(format).toBe('openhands')
    expect(script(messages)).toEqual([
      'user: Go.',
      'assistant: Both. | a bash {"c":1} | b bash {"c":1}',
      'tool: a text x',
      'tool: b error-text no',
      'assistant: Done.',
    ])
    expect(opened(lines(...events)).messages).toEqual(messages)
  })

  it('are condensed by their ids', () => {
    const condensation = { kind: 'Condensation', id: 'e7', forgotten_event_ids: ['e2', 'e4', 'e5'], summary: 'Sum.' }
    const { messages } = opened(JSON.stringify([...events, condensation]))
    expect(script(messages)).toEqual(['user: Go.', 'user: Sum.', 'assistant: Done.'])
  })
})
