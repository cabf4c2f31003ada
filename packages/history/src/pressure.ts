import type { ModelFailure, Session } from '@palimpsest/session'
import { type CountTokens, headerTokens, totalTokens } from './tokens.js'

/** Tokens of the request that the log's first `length` events make, or all; of the messages alone where it has no header. */
export function requestTokens(session: Session, countTokens: CountTokens, length = session.length): number {
  const request = session.requestAt(length)
  const header = request === undefined ? 0 : headerTokens(request, countTokens)
  return header + totalTokens(request?.messages ?? session.messagesAt(length), countTokens)
}

/** Whether a provider refused a request for its length, as the providers say it. */
export function isOverflow({ code, message, status }: ModelFailure): boolean {
  return status === 413 || OVERFLOW.test(code) || OVERFLOW.test(message)
}

// --- internal ---

const OVERFLOW =
  /context[ _-]?(length|window|limit)|(prompt|input|request|messages?)[^.]{0,40}too (long|large)|maximum[^.]{0,30}(tokens|context)|too many (input )?tokens|exceed[^.]{0,60}(tokens|context)/i
