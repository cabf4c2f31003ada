import { readFileSync } from 'node:fs'
import { RULES, TARGETS } from '@palimpsest/provider-rules'
import { expect, it } from 'vitest'

const page = readFileSync(new URL('../../../docs/provider-rules.md', import.meta.url), 'utf8')

it('the page lists the rules in their order, with what they report and where they come from', () => {
  const rows = [...page.matchAll(/^\| `(.*)` \| (.*) \| (.*) \| (.*) \| (.*) \|$/gm)].map(([, ...cells]) => cells)
  const told = [...new Set(RULES)].map(({ name, targets, codes, healing, source }) => [
    name,
    targets.length === TARGETS.length ? 'all' : targets.join(', '),
    codes.map(code => `\`${code}\``).join(', '),
    healing,
    source,
  ])
  expect(rows).toEqual(told)
})
