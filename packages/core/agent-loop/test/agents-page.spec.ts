import { readFileSync } from 'node:fs'
import { defineTool } from '@palimpsest/agent-loop'
import { Session } from '@palimpsest/session'
import { describe, expect, test } from 'vitest'
import { call, setup } from './harness.js'

const page = readFileSync(new URL('../../../../docs/agents.md', import.meta.url), 'utf8')

declare module '@palimpsest/session' {
  interface EventMap {
    'acme/reviewed': { seq: number; by: string }
  }
}

describe('docs/agents.md', () => {
  test('draws the events of a turn as they are logged', async () => {
    const add = defineTool<{ a: number; b: number }>({
      name: 'add',
      inputSchema: { type: 'object' },
      execute: ({ a, b }) => String(a + b),
    })
    const script = [{ toolCalls: [call('add', undefined, { a: 2, b: 3 })] }, { text: 'It is 5.' }]
    const { agent, session } = setup(script, { tools: [add], system: 'Be brief.' })
    agent.inject('It is noon.', 'clock')
    agent.send('2 + 3?')
    await agent.idle()
    const drawn = [...page.matchAll(/^ ?(\d+) {2}[│├└─ ]*([a-z]+\/[a-z]+)/gm)].map(([, seq, type]) => `${seq} ${type}`)
    expect(drawn).toEqual(session.events.map(({ seq, type }) => `${seq} ${type}`))
  })

  test('merges a type of its own: it narrows, and must be ignorable', () => {
    const session = Session.create()
    session.append('acme/reviewed', { seq: 12, by: 'ada' }, { ignorable: true })
    const [event] = session.events
    expect(event?.type === 'acme/reviewed' && event.data.by).toBe('ada')
    // @ts-expect-error the intent is demanded
    expect(() => session.append('acme/reviewed', { seq: 12, by: 'ada' })).toThrow(
      expect.objectContaining({ code: 'UNKNOWN_EVENT_TYPE' }),
    )
  })
})
