// The conversations of the corpus, as events, by every importer there is.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { readTranscript } from '@palimpsest/transcripts'

/** Paths of the transcripts below `corpus`, relative, sorted. Single records cut out of sessions are none. */
export function listTranscripts(corpus) {
  if (!existsSync(corpus)) return []
  const folders = readdirSync(corpus, { withFileTypes: true }).filter(entry => entry.isDirectory())
  return folders
    .flatMap(({ name }) => readdirSync(join(corpus, name)).map(file => `${name}/${file}`))
    .filter(name => !name.split('/')[0].endsWith('-single'))
    .sort()
}

/** `{ name, format, header, events }` of each conversation of the file. */
export function readConversations(corpus, name) {
  const bytes = readFileSync(join(corpus, name))
  const first = readTranscript(bytes)
  const count = Math.max(1, first.about.conversations ?? 1)
  return Array.from({ length: count }, (_, conversation) => {
    const { format, header, events } = conversation === 0 ? first : readTranscript(bytes, { conversation })
    return { name: count === 1 ? name : `${name} ${conversation + 1}`, format, header, events }
  })
}
