import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { opened } from './opened.js'
import { written } from './written.js'

const CORPUS = fileURLToPath(new URL('../../../../shared/corpus/', import.meta.url))

describe.skipIf(!existsSync(CORPUS))(
  'a session of Claude Code, read, written and read again (skipped without ../shared/corpus)',
  () => {
    for (const folder of ['claude-code', 'claude-single']) {
      for (const name of existsSync(CORPUS) ? readdirSync(CORPUS + folder) : []) {
        it(`${folder}/${name} holds the same messages`, () => {
          const first = opened(readFileSync(`${CORPUS}${folder}/${name}`))
          expect(first.format).toBe('claude-code')
          const { text, loss } = written(first, 'claude-code')
          expect(loss).toEqual([])
          if (first.messages.length === 0) return
          const again = opened(text)
          expect(again.told).toEqual([])
          expect(again.messages).toEqual(first.messages)
          expect(written(again, 'claude-code').text).toBe(text)
        })
      }
    }
  },
)
