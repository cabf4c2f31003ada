// Specs share their modules here, so only the first one sweeps by itself; and a mutant may keep a spec from sweeping.
import { mkdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { afterAll } from 'vitest'
import { FOLDER_PREFIX } from './parts.mjs'

afterAll(() => {
  const folder = tmpdir()
  if (!folder.includes(FOLDER_PREFIX)) throw new Error(`expected a folder of this run's own, found ${folder}`)
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder)
})
