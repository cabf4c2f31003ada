import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { brokenSession } from './broken-session.js'

// Every ```js block of the documents runs (```ts is for reading), against the built packages. What each `console.log(…)` prints must
// stand behind it on its line, as a `// ` comment; other comments are only comments.
const root = dirname(dirname(fileURLToPath(import.meta.url)))
const pages = [
  ...(existsSync(join(root, 'README.md')) ? ['README.md'] : []),
  ...readdirSync(join(root, 'docs'))
    .filter(name => name.endsWith('.md'))
    .map(name => `docs/${name}`),
]

let folder: string
beforeAll(() => {
  // Below the root, so that the workspace's packages resolve.
  folder = mkdtempSync(join(root, 'node_modules', '.snippets-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe('snippets', () => {
  test.runIf(pages.includes('README.md'))('the README has one', () => {
    expect(snippetsOf('README.md')).not.toEqual([])
  })

  for (const page of pages) {
    test.each(snippetsOf(page).map(text => [text]))(`${page} runs as it says`, text => {
      const file = join(mkdtempSync(join(folder, 'one-')), 'snippet.mjs')
      writeFileSync(file, text)
      const printed = execFileSync(process.execPath, [file], { cwd: folder, encoding: 'utf8', timeout: 60_000 })
      expect(printed.trimEnd()).toBe(promises(text).join('\n'))
    })
  }
})

test.runIf(pages.includes('README.md'))('the doctor prints what the README shows', () => {
  const [, command, shown] = /^```console\n\$ palimpsest (.*)\n([\s\S]*?)^```$/m.exec(read('README.md'))!
  const home = mkdtempSync(join(folder, 'doctor-'))
  writeFileSync(join(home, 'broken.jsonl'), brokenSession())
  const main = join(root, 'apps', 'cli', 'dist', 'main.js')
  const { stdout } = spawnSync(process.execPath, [main, ...command!.split(' ')], { cwd: home, encoding: 'utf8' })
  expect(stdout.trimEnd()).toBe(shown!.trimEnd())
})

// --- internal ---

function read(page: string): string {
  return readFileSync(join(root, page), 'utf8')
}

function snippetsOf(page: string): string[] {
  return [...read(page).matchAll(/^```js\n([\s\S]*?)^```$/gm)].map(([, snippet]) => snippet!)
}

/** The texts of the comments that follow a `console.log` on its line. */
function promises(snippet: string): string[] {
  return snippet.split('\n').flatMap(line => {
    const comment = /^\s*console\.log\(.*\)\s*\/\/ (.*)$/.exec(line)
    return comment ? [comment[1]!] : []
  })
}
