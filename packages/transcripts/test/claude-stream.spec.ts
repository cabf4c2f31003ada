import { beforeEach, describe, expect, it } from 'vitest'
import { answer, call, restartClock, result, text, user } from './claude-rows.js'
import { lines, opened, script } from './opened.js'

beforeEach(restartClock)

const of = (record: object, more: object = {}) => ({ ...record, session_id: 's', ...more })
const init = of({ type: 'system', subtype: 'init', cwd: '/project', model: 'claude-opus-4-5', tools: ['Bash'] })

describe('what Claude Code prints as stream-json', () => {
  const records = () => [
    init,
    of(user('Go.')),
    of(answer('m1', text('Look.'))),
    of(answer('m1', call('t1', { n: 1 }), { stop_reason: 'tool_use' })),
    of(answer('m7', text('Sub.')), { parent_tool_use_id: 't1' }),
    result('t1'),
    of(answer('m2', text('Done.'))),
    of({ type: 'result', subtype: 'success', is_error: false }),
  ]
  const said = ['user: Go.', 'assistant: Look. | t1 Bash {"n":1}', 'tool: t1 text out t1', 'assistant: Done.']

  it('is read from a record per line', () => {
    const { format, messages, about, told, events } = opened(lines(...records()))
    expect(format).toBe('claude-stream-json')
    expect(script(messages)).toEqual(said)
    expect(about).toMatchObject({ id: 's', cwd: '/project', model: 'claude-opus-4-5', vendor: 'anthropic' })
    expect(told).toEqual([])
    const notes = events.map(({ type }) => type as string).filter(type => type.startsWith('import/'))
    expect(notes.map(type => type.slice('import/claude-stream-json.'.length))).toEqual([
      'system',
      'assistant',
      'result',
    ])
  })

  it('keeps beside the message a record of it that holds nothing', () => {
    const { messages, places } = opened(
      lines(init, of(user('Go.')), of(answer('m1', text('Look.'))), of(answer('m1', []))),
    )
    expect(script(messages)).toEqual(['user: Go.', 'assistant: Look.'])
    expect(places.map(({ where }) => where)).toContain('line 4')
  })

  it('is read from one array, and then named by paths', () => {
    const { format, messages, places, events } = opened(JSON.stringify(records(), null, 2))
    expect(format).toBe('claude-stream-json')
    expect(script(messages)).toEqual(said)
    const at = events.findIndex(({ type }) => type === 'assistant/message')
    expect(places[at]).toMatchObject({ where: 'messages[2]', parts: ['messages[2]', 'messages[3]'] })
  })

  it('has its results in front, and keeps the digits of a call', () => {
    const late = of(user([text('Well.'), { type: 'tool_result', tool_use_id: 't1', content: 'x' }]))
    const big = JSON.stringify(of(answer('m1', call('t1', { n: 'N' })))).replace('"N"', '9007199254740993')
    const { messages, told } = opened(lines(init, of(user('Go.')), big, late))
    expect(script(messages)).toEqual([
      'user: Go.',
      'assistant: t1 Bash {"n":9007199254740993}',
      'tool: t1 text x',
      'user: Well.',
    ])
    expect(told).toEqual(['number.unsafe line 3', 'order.result-not-leading line 4'])
  })

  it('splits records that were joined, and says so', () => {
    const { messages, told } = opened(
      lines(init, `${JSON.stringify(of(user('Go.')))}${JSON.stringify(of(user('On.')))}`),
    )
    expect(script(messages)).toEqual(['user: Go.', 'user: On.'])
    expect(told).toEqual(['file.joined-records line 2'])
  })
})
