import {
  type Chunk,
  type EventType,
  type FinishReason,
  type Message,
  type ModelFailure,
  type ModelPort,
  type ModelRequest,
  type RequestHeader,
  Session,
  type SessionEvent,
  type SurfaceEventType,
  type SurfaceIntent,
  type Usage,
} from '@palimpsest/session'
import { describe, expect, expectTypeOf, test } from 'vitest'
import { refusal } from './observed.js'
import { APPEND, assistant, replaces, restores, result, say, user } from './samples.js'

declare module '@palimpsest/session' {
  interface EventMap {
    'acme/note': { text: string; tags?: string[] }
  }
}

const session = say(Session.create(), 2)
/** Only the compiler looks at what stands here. */
const compileOnly = (_: () => unknown): void => {}

describe('the compiler demands an intent', () => {
  test('of every surface event', () => {
    compileOnly(() => {
      session.append('user/message', user(), APPEND)
      session.append('user/message', user(), {
        surfaceOp: { op: 'replace', start: 0, end: 1 },
        sourceEventSeqs: [0, 1],
      })
      // @ts-expect-error a surface event needs its intent
      session.append('user/message', user())
      // @ts-expect-error a surface event needs its intent
      session.append('context/message', { ...user(), origin: 'x' })
      // @ts-expect-error a surface event needs its intent
      session.append('steering/message', { turn: 1, ...user() })
      // @ts-expect-error a surface event needs its intent
      session.append('assistant/message', assistant('x'))
      // @ts-expect-error a surface event needs its intent
      session.append('tool/result', result('c'))
      // @ts-expect-error an intent needs its surfaceOp
      session.append('user/message', user(), {})
      // @ts-expect-error there is no such op
      session.append('user/message', user(), { surfaceOp: 'prepend' })
      // @ts-expect-error a range has two ends
      session.append('user/message', user(), { surfaceOp: { op: 'replace', start: 0 } })
      // @ts-expect-error a message cannot restore
      session.append('user/message', user(), restores(1))
      // @ts-expect-error a message is never ignorable
      session.append('user/message', user(), { surfaceOp: 'append', ignorable: true })
      // @ts-expect-error one intent, not two
      session.append('user/message', user(), APPEND, APPEND)
    })
    expect(
      refusal(() => (session.append as (type: string, data: object) => unknown).call(session, 'user/message', user())),
    ).toMatchObject({
      code: 'SURFACE_INTENT_REQUIRED',
    })
  })

  test('and refuses one to a log-only event', () => {
    compileOnly(() => {
      session.append('turn/start', { turn: 1 })
      // @ts-expect-error log-only events carry no intent
      session.append('turn/start', { turn: 1 }, APPEND)
      // @ts-expect-error log-only events carry no sources
      session.append('tool/call', {} as never, { sourceEventSeqs: [0] })
      // @ts-expect-error what the build knows is not ignorable
      session.append('step/start', { turn: 1, step: 1 }, { ignorable: true })
    })
  })

  test('of a restore, its own kind', () => {
    compileOnly(() => {
      session.append('surface/restore', { reason: 'x' }, restores(1))
      // @ts-expect-error a restore needs its intent
      session.append('surface/restore', {})
      // @ts-expect-error a restore cites its node
      session.append('surface/restore', {}, { surfaceOp: { op: 'restore', node: 1 } })
      // @ts-expect-error a restore does not append
      session.append('surface/restore', {}, APPEND)
      // @ts-expect-error a restore does not replace
      session.append('surface/restore', {}, replaces(0, 1, [0, 1]))
    })
  })

  test('of the data, its type’s shape', () => {
    compileOnly(() => {
      // @ts-expect-error no such type
      session.append('turn/begin', { turn: 1 })
      // @ts-expect-error a turn is a number
      session.append('turn/start', { turn: '1' })
      // @ts-expect-error a user message has the role user
      session.append('user/message', { message: { role: 'assistant', content: [] } }, APPEND)
      // @ts-expect-error content is an array of parts
      session.append('user/message', { message: { role: 'user', content: 'hi' } }, APPEND)
      // @ts-expect-error context names its origin
      session.append('context/message', user(), APPEND)
      // @ts-expect-error a turn ends for a reason of the list
      session.append('turn/end', { turn: 1, reason: { kind: 'bored' } })
    })
  })
})

describe('a type merged in by somebody else', () => {
  test('is always log-only and always ignorable', () => {
    compileOnly(() => {
      // @ts-expect-error a merged type says ignorable
      session.append('acme/note', { text: 'x' })
      // @ts-expect-error a merged type is log-only
      session.append('acme/note', { text: 'x' }, APPEND)
      // @ts-expect-error ignorable is true or absent
      session.append('acme/note', { text: 'x' }, { ignorable: false })
      // @ts-expect-error its data is what was merged
      session.append('acme/note', { words: 'x' }, { ignorable: true })
    })
    const event = session.append('acme/note', { text: 'x', tags: ['a'] }, { ignorable: true })
    expectTypeOf(event.data).toEqualTypeOf<{ text: string; tags?: string[] }>()
    expectTypeOf<'acme/note'>().toExtend<EventType>()
    expect(event).toMatchObject({ type: 'acme/note', ignorable: true, data: { text: 'x', tags: ['a'] } })
  })
})

describe('a widened union', () => {
  test('is caught at run time', () => {
    const type = 'user/message' as EventType
    const append = session.append.bind(session) as (
      type: EventType,
      data: object,
      intent?: SurfaceIntent,
    ) => SessionEvent
    expect(refusal(() => append(type, user())).code).toBe('SURFACE_INTENT_REQUIRED')
    expect(refusal(() => append('turn/start' as EventType, {}, APPEND)).code).toBe('SURFACE_INTENT_NOT_ALLOWED')
  })
})

describe('an event', () => {
  test('narrows its data by its type', () => {
    const event = session.at(0) as SessionEvent
    if (event.type === 'user/message') {
      expectTypeOf(event.data.message.role).toEqualTypeOf<'user'>()
      // @ts-expect-error a user message has no call id
      event.data.toolCallId
    } else if (event.type === 'tool/result') {
      expectTypeOf(event.data.toolCallId).toEqualTypeOf<string>()
    } else if (event.type === 'assistant/chunk') {
      expectTypeOf(event.data.chunk).toEqualTypeOf<Chunk>()
    } else if (event.type === 'request/header') {
      expectTypeOf(event.data).toEqualTypeOf<RequestHeader>()
    }
    expect(event.type).toBe('user/message')
  })

  test('of a known type is returned as that type', () => {
    const event = session.append('turn/start', { turn: 3 })
    expectTypeOf(event).toEqualTypeOf<SessionEvent<'turn/start'>>()
    expectTypeOf(event.data.turn).toEqualTypeOf<number>()
    expectTypeOf(session.append('user/message', user(), APPEND).type).toEqualTypeOf<'user/message'>()
    expect(event.data.turn).toBe(3)
  })

  test('has members that cannot be assigned', () => {
    const event = session.at(0)!
    compileOnly(() => {
      // @ts-expect-error readonly
      event.seq = 1
      // @ts-expect-error readonly
      session.length = 1
      // @ts-expect-error readonly
      session.header = {}
      // @ts-expect-error readonly
      session.surface.size = 1
      // @ts-expect-error a frozen list of seqs
      session.surface.seqs().push(1)
      // @ts-expect-error a frozen snapshot
      session.events.push(event)
    })
    expect(() => Object.assign(event, { seq: 1 })).toThrow(TypeError)
  })

  test('types of the surface are the five', () => {
    expectTypeOf<SurfaceEventType>().toEqualTypeOf<
      'user/message' | 'context/message' | 'steering/message' | 'assistant/message' | 'tool/result'
    >()
  })
})

describe('messages, chunks and requests', () => {
  test('have the shapes of the contract', () => {
    expectTypeOf<Message['role']>().toEqualTypeOf<'user' | 'assistant' | 'tool'>()
    expectTypeOf<Chunk['type']>().toEqualTypeOf<
      'text-delta' | 'reasoning-delta' | 'tool-input-delta' | 'tool-call' | 'tool-result' | 'file' | 'finish' | 'error'
    >()
    expectTypeOf<FinishReason>().toEqualTypeOf<'stop' | 'length' | 'tool-calls' | 'content-filter' | 'other'>()
    expectTypeOf<Usage>().toEqualTypeOf<{
      inputTokens?: number
      outputTokens?: number
      totalTokens?: number
      cachedInputTokens?: number
      reasoningTokens?: number
    }>()
    expectTypeOf<ModelFailure>().toEqualTypeOf<{
      code: string
      message: string
      retryable: boolean
      status?: number
      retryAfterMs?: number
    }>()
    expectTypeOf<Extract<Chunk, { type: 'finish' }>['finishReason']>().toEqualTypeOf<FinishReason>()
    expectTypeOf<Extract<Chunk, { type: 'tool-call' }>['input']>().toEqualTypeOf<string>()
    expectTypeOf<Extract<Chunk, { type: 'error' }>['error']>().toEqualTypeOf<ModelFailure>()
    expectTypeOf<ModelRequest>().toExtend<RequestHeader>()
    expectTypeOf<ModelRequest['messages']>().toEqualTypeOf<Message[]>()
    expectTypeOf<ReturnType<ModelPort['stream']>>().toEqualTypeOf<AsyncIterable<Chunk>>()
    expectTypeOf(session.deriveMessages()).toEqualTypeOf<Message[]>()
    expectTypeOf(session.messagesAt(0)).toEqualTypeOf<Message[]>()
    expectTypeOf(session.requestAt(0)).toEqualTypeOf<ModelRequest | undefined>()
  })

  test('narrow by role and type', () => {
    const message = session.deriveMessages()[0] as Message
    if (message.role === 'tool') expectTypeOf(message.content[0]!.toolCallId).toEqualTypeOf<string>()
    if (message.role === 'user') expectTypeOf(message.content[0]!.type).toEqualTypeOf<'text' | 'file' | 'image'>()
    expect(message.role).toBe('user')
  })
})
