import type { Message, ModelRequest } from '@palimpsest/session'

/** A request in the terms of the log, as the rules of a provider leave it. */
export interface Outgoing {
  messages: readonly Message[]
  system?: string
  tools?: NonNullable<ModelRequest['tools']>
  thinking?: 'enabled' | 'disabled'
  toolChoice?: 'none'
}

/** The members of a provider's request body. Arguments that a double would change are `RawJson`: write it with `stringifyRaw`. */
export type RequestBody = Record<string, unknown>
