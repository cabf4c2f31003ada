import { createMemoryBackend, createSession, openSession } from '@palimpsest/session-persistence'
import { describe, expect, test } from 'vitest'
import { call, deferred, never, setup, tool, transcript } from './harness.js'

describe('an agent on a stored session', () => {
  test('reload equals live: the same messages and requests, and the next agent logs no second header', async () => {
    const backend = createMemoryBackend()
    const open = await createSession(backend, { id: 's', now: () => 0 })
    const { agent } = setup([{ reasoning: 'hm', toolCalls: [call('t'), call('t')] }, { text: 'ok' }], {
      session: open,
      tools: [tool('t', () => ({ n: 1 }), { parallelSafe: true })],
    })
    const { admitted } = agent.send('go')
    expect(await admitted).toBe(1)
    await agent.idle()
    await agent.dispose()
    await open.close()

    const again = await openSession(backend, 's')
    expect(again.report).toMatchObject({ repaired: [], readOnly: false })
    expect(again.session.deriveMessages()).toEqual(open.session.deriveMessages())
    for (let length = 0; length <= open.session.length; length++) {
      expect(again.session.requestAt(length)).toEqual(open.session.requestAt(length))
    }
    const next = setup([{ text: 'sure' }], {
      session: again,
      tools: [tool('t', () => ({ n: 1 }), { parallelSafe: true })],
    })
    next.agent.send('more')
    await next.agent.idle()
    const { events } = again.session
    expect(events.filter(({ type }) => type === 'request/header')).toHaveLength(1)
    expect(transcript(events).slice(-6)).toEqual([
      'turn 2 {',
      'user more',
      'step 1 (',
      'assistant sure',
      ')',
      '} completed',
    ])
    await again.close()
  })

  test('left in the middle of a tool: the next owner reads that its outcome is unknown, and goes on', async () => {
    const backend = createMemoryBackend()
    const open = await createSession(backend, { id: 's' })
    const started = deferred()
    const { agent } = setup([{ toolCalls: [call('t'), call('t')] }], {
      session: open,
      cancelGraceMs: 0,
      tools: [
        tool('t', () => {
          started.resolve()
          return never
        }),
      ],
    })
    agent.send('go')
    await started.promise

    const taken = await openSession(backend, 's', { takeover: true })
    const next = setup([{ text: 'let me look' }], { session: taken })
    next.agent.send('and?')
    await next.agent.idle()
    expect(transcript(taken.session.events).slice(4)).toEqual([
      'call call-1',
      'result call-1 TOOL_OUTCOME_UNKNOWN < tool/call',
      'result call-2 TOOL_NOT_STARTED < assistant/message',
      ')',
      '} interrupted',
      'turn 2 {',
      'user and?',
      'step 1 (',
      'assistant let me look',
      ')',
      '} completed',
    ])
    await taken.close()

    // The owner that lost the session is told at its next flush, and does nothing more.
    agent.cancel()
    await agent.idle()
    await expect(agent.send('still there?').admitted).rejects.toMatchObject({ code: 'SESSION_FENCED' })
    await agent.idle()
    expect(transcript(open.session.events).at(-1)).toBe('} error SESSION_FENCED')
  })

  test('a closed one refuses, and the sender is told', async () => {
    const open = await createSession(createMemoryBackend(), { id: 's' })
    const { agent } = setup([{ text: 'ok' }], { session: open })
    await open.close()
    await expect(agent.send('go').admitted).rejects.toMatchObject({ code: 'SESSION_READ_ONLY' })
  })
})
