import { type EventMap, type IntentOf, Session } from '@palimpsest/session'

type Sealable = 'context/message' | 'request/header' | 'tool/result' | 'user/message'

/**
 * A detached, deeply frozen copy of data that is to be logged later, admitted by the kernel itself.
 * Throws what `append` would throw: `NOT_LOSSLESS_JSON`, `EVENT_DATA_INVALID`.
 */
export function sealData<T extends Sealable>(type: T, data: EventMap[T]): EventMap[T] {
  const intent = type === 'request/header' ? [] : [{ surfaceOp: 'append' }]
  return Session.create({ id: 'seal' }).append(type, data, ...(intent as unknown as IntentOf<T>)).data as EventMap[T]
}
