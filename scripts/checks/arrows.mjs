// Who may import whom, enforced. The rules are data in .dependency-cruiser.cjs.

import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { cruise } from 'dependency-cruiser'
import extractTypeScriptConfig from 'dependency-cruiser/config-utl/extract-ts-config'

const require = createRequire(import.meta.url)

export async function arrows(root) {
  const { forbidden, options } = require('../../.dependency-cruiser.cjs')
  const roots = ['packages', 'apps', 'examples', 'benches'].filter(folder => existsSync(join(root, folder)))
  const { output } = await cruise(
    roots,
    { ...options, baseDir: root, ruleSet: { forbidden }, validate: true },
    { exportsFields: ['exports'], conditionNames: ['@palimpsest/source', 'import', 'types', 'node', 'default'] },
    { tsConfig: extractTypeScriptConfig(join(root, 'tsconfig.test.json')) },
  )
  if (output.summary.totalCruised === 0) return ['no module was found under packages/; the check saw nothing']
  return output.summary.violations.map(
    ({ from, to, rule }) => `${from} imports ${to}: ${forbidden.find(({ name }) => name === rule.name)?.comment}`,
  )
}
