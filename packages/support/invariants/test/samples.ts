import { createHost, type Host } from '@palimpsest/host'
import { attachInvariants, InvariantError } from '@palimpsest/invariants'
import type { EventMap, Session, SessionEvent } from '@palimpsest/session'

export const APPEND = { surfaceOp: 'append' } as const

/** A host with the plugin attached, and what it was told. */
export async function watched(): Promise<{
  host: Host
  broken: () => string[]
  errors: unknown[]
  dispose(): Promise<void>
}> {
  const errors: unknown[] = []
  const host = createHost({ onError: error => errors.push(error) })
  const { dispose } = await attachInvariants(host)
  return {
    host,
    errors,
    broken: () => errors.map(error => (error instanceof InvariantError ? error.relation : String(error))),
    dispose,
  }
}

export const user = (text: string): EventMap['user/message'] => ({
  message: { role: 'user', content: [{ type: 'text', text }] },
})

export function asks(...ids: string[]): EventMap['assistant/message'] {
  const content = ids.map(toolCallId => ({ type: 'tool-call' as const, toolCallId, toolName: 'look', input: {} }))
  return { turn: 1, step: 1, message: { role: 'assistant', content }, finishReason: 'tool-calls' }
}

export const begins = (toolCallId: string) => ({ turn: 1, step: 1, toolCallId, toolName: 'look', arguments: '{}' })

export function result(toolCallId: string): EventMap['tool/result'] {
  const part = {
    type: 'tool-result' as const,
    toolCallId,
    toolName: 'look',
    output: { type: 'text' as const, value: 'x' },
  }
  return { turn: 1, step: 1, toolCallId, message: { role: 'tool', content: [part] } }
}

/** A session whose `at`, `surface` or other members lie. */
export function lying(session: Session, lies: Partial<Record<keyof Session, unknown>>): Session {
  return new Proxy(session, {
    get(target, key) {
      if (key in lies) return lies[key as keyof Session]
      const value = Reflect.get(target, key, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

export const forged = (seq: number, type: string, data: unknown, rest: object = {}): SessionEvent =>
  ({ seq, time: 0, type, data, ...rest }) as unknown as SessionEvent
