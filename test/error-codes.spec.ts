import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const page = readFileSync(join(root, 'docs/errors.md'), 'utf8')

// Literals of that form that are no codes: names of the environment and of the system.
const NOT_OURS = [
  /^ERR_/,
  /_API_KEY$/,
  /_BASE_URL$/,
  /^XDG_/,
  /^PALIMPSEST_/,
  /^npm_/,
  /^O_/,
  /^NO_COLOR$/,
  /^FORCE_COLOR$/,
]

describe('docs/errors.md', () => {
  test('has a heading for every code of SessionErrorCode', () => {
    expect(missing(union('packages/core/session/src/errors.ts', 'SessionErrorCode'))).toEqual([])
  })

  test('has a heading for every code of PersistenceErrorCode and DamageCode', () => {
    const port = 'packages/session-persistence/session-persistence/src'
    expect(missing(union(`${port}/errors.ts`, 'PersistenceErrorCode'))).toEqual([])
    expect(missing(union(`${port}/port.ts`, 'DamageCode'))).toEqual([])
  })

  test('has a heading for every kind of turn end', () => {
    const text = readFileSync(join(root, 'packages/core/session/src/events.ts'), 'utf8')
    const type = /export type TurnEnd =([\s\S]*?)\n\n/.exec(text)?.[1] ?? ''
    const kinds = [...type.matchAll(/kind: '([a-z-]+)'/g)].map(([, kind]) => kind)
    expect(kinds.length).toBeGreaterThan(0)
    expect(headings(/^[a-z-]+$/).sort()).toEqual(kinds.sort())
  })

  test('has a heading for every code that the sources write, and no other', () => {
    const written = sourceCodes()
    expect(written.size).toBeGreaterThan(20)
    expect(missing([...written].sort())).toEqual([])
    expect(headings(/^[A-Z]+_[A-Z_]+$/).filter(code => !written.has(code))).toEqual([])
  })

  test('has each heading once', () => {
    const all = headings(/./)
    expect(all.filter((heading, index) => all.indexOf(heading) !== index)).toEqual([])
  })
})

function headings(pattern: RegExp): string[] {
  return [...page.matchAll(/^### (\S+)$/gm)].map(([, heading]) => heading!).filter(heading => pattern.test(heading))
}

function missing(codes: string[]): string[] {
  const known = new Set(headings(/./))
  return codes.filter(code => !known.has(code))
}

/** The members of an exported union of string literals. */
function union(file: string, name: string): string[] {
  const text = readFileSync(join(root, file), 'utf8')
  const body = new RegExp(`export type ${name} =\\s*\\n((?:\\s*\\|.*\\n)+)`).exec(text)?.[1] ?? ''
  const codes = [...body.matchAll(/'([A-Z_]+)'/g)].map(([, code]) => code!)
  expect(codes.length, `${file} has no union ${name}`).toBeGreaterThan(0)
  return codes
}

/** Every upper-case literal with an underscore, which is how codes are written and nothing else is. */
function sourceCodes(): Set<string> {
  const files = ['packages', 'apps'].flatMap(folder =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .map(file => join(root, folder, file))
      .filter(file => /[\\/]src[\\/].*\.ts$/.test(file) && !file.includes('node_modules')),
  )
  const literals = files.flatMap(file =>
    [...readFileSync(file, 'utf8').matchAll(/'([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)'/g)].map(([, code]) => code!),
  )
  return new Set(literals.filter(code => !NOT_OURS.some(pattern => pattern.test(code))))
}
