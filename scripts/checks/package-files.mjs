import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, normalize } from 'node:path'

const FIELDS = ['version', 'license', 'author', 'type']

/** What every package.json says is the same where it must be, and matches its tsconfig and the root. */
export function packageFiles(root) {
  const top = readJson(root, 'package.json')
  const packages = top.workspaces.map(folder => ({ folder, manifest: readJson(root, `${folder}/package.json`) }))
  const byName = new Map(packages.map(each => [each.manifest.name, each]))
  return [
    ...packages.flatMap(each => [
      ...sameAsRoot(each, top),
      ...entryPoints(each),
      ...references(each, byName, root),
      ...siblings(each, root),
      ...kernelAlone(each),
    ]),
    ...onePinEach([{ folder: '.', manifest: top }, ...packages]),
    ...builtByRoot(root, packages),
  ]
}

// --- internal ---

function readJson(root, file) {
  return JSON.parse(readFileSync(join(root, file), 'utf8'))
}

function sameAsRoot({ folder, manifest }, top) {
  const wrong = FIELDS.filter(field => manifest[field] !== top[field])
  if (manifest.engines?.node !== top.engines.node) wrong.push('engines.node')
  return [
    ...wrong.map(field => `${folder}/package.json: ${field} differs from the root's`),
    ...(manifest.description ? [] : [`${folder}/package.json has no description`]),
    ...(manifest.files?.includes('dist') ? [] : [`${folder}/package.json: files must name dist`]),
  ]
}

function entryPoints({ folder, manifest }) {
  if (manifest.bin) return []
  return Object.entries(manifest.exports ?? {}).flatMap(([entry, target]) => {
    const file = entry === '.' ? 'index' : entry.slice(2)
    const expected = {
      '@palimpsest/source': `./src/${file}.ts`,
      types: `./dist/${file}.d.ts`,
      default: `./dist/${file}.js`,
    }
    const same = JSON.stringify(target) === JSON.stringify(expected)
    return same
      ? []
      : [`${folder}/package.json: exports["${entry}"] must be ${JSON.stringify(expected)}, in this order`]
  })
}

/** A dependency on a sibling is a reference in tsconfig.json, and the other way round. */
function references({ folder, manifest }, byName, root) {
  const needed = Object.keys(manifest.dependencies ?? {}).filter(name => byName.has(name))
  const wanted = needed.map(name => byName.get(name).folder).sort()
  const found = (readJson(root, `${folder}/tsconfig.json`).references ?? [])
    .map(({ path }) => normalize(join(folder, path)).replaceAll('\\', '/'))
    .sort()
  if (JSON.stringify(wanted) === JSON.stringify(found)) return []
  return [`${folder}/tsconfig.json refers to [${found}], its package.json depends on [${wanted}]; make them agree`]
}

/** Tests compose freely; a sibling that the sources import is declared, and no other. */
function siblings({ folder, manifest }, root) {
  const imported = new Set(sourcesOf(join(root, folder, 'src')).flatMap(importsOf))
  imported.delete(manifest.name)
  const declared = Object.keys(manifest.dependencies ?? {}).filter(name => name.startsWith('@palimpsest/'))
  return [
    ...[...imported].filter(name => !declared.includes(name)).map(name => `imports ${name}, which it does not declare`),
    ...declared.filter(name => !imported.has(name)).map(name => `declares ${name}, which its sources never import`),
  ].map(problem => `${folder}/package.json: the package ${problem}`)
}

function sourcesOf(folder) {
  if (!existsSync(folder)) return []
  const names = readdirSync(folder, { recursive: true }).filter(name => name.endsWith('.ts'))
  return names.map(name => readFileSync(join(folder, name), 'utf8'))
}

function importsOf(text) {
  return [...text.matchAll(/(?:from|import)\s*\(?\s*'(@palimpsest\/[a-z-]+)/g)].map(([, name]) => name)
}

function kernelAlone({ folder, manifest }) {
  if (manifest.name !== '@palimpsest/session' || Object.keys(manifest.dependencies ?? {}).length === 0) return []
  return [`${folder}/package.json: the kernel has no dependency`]
}

function onePinEach(packages) {
  const pins = new Map()
  for (const { folder, manifest } of packages)
    for (const [name, range] of Object.entries({ ...manifest.dependencies, ...manifest.devDependencies }))
      pins.set(name, [...(pins.get(name) ?? []), { folder, range }])
  return [...pins].flatMap(([name, uses]) => {
    const ranges = new Set(uses.map(({ range }) => range))
    const loose = uses.filter(({ range }) => !/^\d/.test(range))
    return [
      ...(ranges.size > 1 ? [`${name} is asked for as ${[...ranges].join(' and ')}; pin one version`] : []),
      ...loose.map(({ folder, range }) => `${folder}/package.json: ${name} ${range} is no exact version`),
    ]
  })
}

function builtByRoot(root, packages) {
  const built = readJson(root, 'tsconfig.json').references.map(({ path }) => path)
  return packages
    .map(({ folder }) => folder)
    .filter(folder => existsSync(join(root, folder, 'tsconfig.json')) && !built.includes(folder))
    .map(folder => `tsconfig.json at the root does not refer to ${folder}, so npm run build leaves it out`)
}
