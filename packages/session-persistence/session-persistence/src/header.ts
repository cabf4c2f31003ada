import { SESSION_FORMAT_VERSION, type SessionHeader } from '@palimpsest/session'
import { PersistenceError } from './errors.js'

/** Refuses (`FORMAT_VERSION_UNSUPPORTED`) a log of another format, saying in which direction it differs. */
export function assertFormatVersion(header: SessionHeader): void {
  const { version, id } = header
  if (version === SESSION_FORMAT_VERSION) return
  const newer = version > SESSION_FORMAT_VERSION
  throw new PersistenceError(
    'FORMAT_VERSION_UNSUPPORTED',
    `session "${id}" has format version ${version}, which is ${newer ? 'newer' : 'older'} than ${SESSION_FORMAT_VERSION}, the only one that this build knows; ${newer ? 'update palimpsest' : 'open it with the build that wrote it'}`,
  )
}

/** Refuses (`HEADER_DAMAGED`) a header that belongs to another session than the one asked for. */
export function assertHeaderId(header: SessionHeader, id: string): void {
  if (header.id === id) return
  throw new PersistenceError(
    'HEADER_DAMAGED',
    `session "${id}" holds the header of ${JSON.stringify(header.id)}; was its file renamed or copied? Give it back its own name`,
  )
}
