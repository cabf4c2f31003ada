import { type Exported, exportTo } from '@palimpsest/transcripts'
import type { Opened } from './opened.js'

/** The file in which `format` keeps a session as its next request would see it. */
export function written({ about, header, session, messages }: Opened, format: string): Exported {
  const seqs = session.surface.seqs()
  const request = session.requestAt(session.length)
  return exportTo(format, {
    header: { ...header, ...(about.id !== undefined && { id: about.id }) },
    entries: messages.map((message, i) => ({ message, event: session.at(seqs[i]!)! })),
    ...(request && { request }),
  })
}
