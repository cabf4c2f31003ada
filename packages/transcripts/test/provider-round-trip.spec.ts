import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { heal, TARGETS, type Target } from '@palimpsest/provider-rules'
import { type FormatName, type RequestBody, stringifyRaw, writeRequest } from '@palimpsest/transcripts'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { hostileMessages } from './hostile-messages.js'
import { opened } from './opened.js'

/** What each target's own file is read as. */
const OWN: Record<Target, FormatName> = {
  anthropic: 'anthropic-messages',
  'openai-chat': 'openai-chat',
  'openai-responses': 'openai-responses',
  gemini: 'gemini-contents',
  deepseek: 'openai-chat',
}
const numRuns = Number(process.env.PALIMPSEST_ROUND_TRIPS ?? 60)
const shared = (path: string) => fileURLToPath(new URL(`../../../../shared/${path}`, import.meta.url))
const oracle = existsSync(shared('cases/oracle.mjs'))
  ? await import(pathToFileURL(shared('cases/oracle.mjs')).href)
  : undefined
if (oracle === undefined) console.warn('../shared/cases/oracle.mjs is not there: bodies are not held against it')

/** The body that a file becomes for a target, as text, and what healing had to report. */
function bodyOf(file: string | Uint8Array, target: Target, format?: FormatName): { text: string; told: string[] } {
  const { session, messages } = opened(file, { ...(format && { format }) })
  const { system, tools } = session.requestAt(session.length) ?? {}
  const { request, changes } = heal(
    { messages, ...(system !== undefined && { system }), ...(tools && { tools }) },
    target,
  )
  const told = changes.filter(({ severity }) => severity !== 'info').map(({ code }) => code)
  return { text: stringifyRaw(writeRequest(target, request)), told }
}

function violations(target: Target, body: RequestBody): string[] {
  const list = (body.messages ?? body.input ?? body.contents) as unknown[]
  if (oracle === undefined || list.length === 0) return []
  return oracle.check(target, body).map(({ rule, path }: { rule: string; path: string }) => `${rule} ${path}`)
}

describe.each([...new Set(Object.values(OWN))])('whatever a file of %s holds', format => {
  it.each(TARGETS)(
    'goes to %s as a body that is accepted, and read again is the same',
    { timeout: 3_600_000 },
    target => {
      fc.assert(
        fc.property(hostileMessages(format), messages => {
          const { text } = bodyOf(JSON.stringify(messages), target, format)
          expect(violations(target, JSON.parse(text))).toEqual([])
          const again = bodyOf(text, target, OWN[target])
          expect(again.told).toEqual([])
          expect(JSON.parse(again.text)).toEqual(JSON.parse(text))
        }),
        { numRuns },
      )
    },
  )
})

const chats = shared('corpus/openai-chat/')

describe.skipIf(!existsSync(chats))('real runs of chat messages (skipped without ../shared/corpus)', () => {
  it.each(TARGETS)('go to %s and come back', target => {
    for (const name of readdirSync(chats)) {
      const { text } = bodyOf(readFileSync(chats + name), target)
      expect(violations(target, JSON.parse(text))).toEqual([])
      const again = bodyOf(text, target, OWN[target])
      expect([again.told, JSON.parse(again.text)]).toEqual([[], JSON.parse(text)])
    }
  })
})
