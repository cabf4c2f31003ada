import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { opened } from './opened.js'
import { written } from './written.js'

const CORPUS = fileURLToPath(new URL('../../../../shared/corpus/', import.meta.url))
const FOLDERS = { codex: 'codex', 'codex-single': 'codex', pi: 'pi', 'pi-omp': 'pi' }

/** What a file of the other agent may leave out: each brings its own system text and tools. */
const OWN = ['text', 'tool-schema']

describe.skipIf(!existsSync(CORPUS))(
  'a real file, read, written and read again (skipped without ../shared/corpus)',
  () => {
    for (const [folder, format] of Object.entries(FOLDERS)) {
      for (const name of existsSync(CORPUS) ? readdirSync(CORPUS + folder) : []) {
        it(`${folder}/${name} holds the same messages`, () => {
          const first = opened(readFileSync(`${CORPUS}${folder}/${name}`))
          expect(first.format).toBe(format)
          const { text, loss } = written(first, format)
          expect(loss.filter(({ kind }) => !OWN.includes(kind))).toEqual([])
          if (first.messages.length === 0) return
          const again = opened(text)
          expect(again.told).toEqual([])
          expect(again.messages).toEqual(first.messages)
          expect(written(opened(readFileSync(`${CORPUS}${folder}/${name}`)), format).text).toBe(text)
        })
      }
    }
  },
)
