import type { JsonValue } from '@palimpsest/session'

/** `error`: refused by a provider, or history is lost or wrong. `warning`: a risk. `info`: worth knowing. */
export type Severity = 'error' | 'warning' | 'info'

/**
 * Something that is not as it should be. `code` and the further members: docs/doctor.md. `where`: `line 3`,
 * `line 3-4`, `frame 2`, `seq 5`, a path from the root of a document such as `messages[2].content[0]`, or `file`.
 */
export interface Finding {
  code: string
  severity: Severity
  where: string
  [member: string]: JsonValue
}

export type LossKind = 'text' | 'reasoning' | 'call' | 'result' | 'media' | 'tool-schema' | 'record'

/** What the live history holds and the outcome does not. */
export interface Loss {
  kind: LossKind
  count: number
  reason: string
  where?: string
}
