import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const STORES = 'packages/session-persistence'

/** Every backend proves itself with the conformance kit; the in-memory one lives beside the port. */
export function conformance(root) {
  const packages = readdirSync(join(root, STORES)).filter(name => existsSync(join(root, STORES, name, 'package.json')))
  return packages
    .filter(name => !specsOf(join(root, STORES, name)).some(usesKit))
    .map(name => `${STORES}/${name} has no spec that calls testBackend; add test/conformance.spec.ts`)
}

// --- internal ---

function specsOf(folder) {
  const tests = join(folder, 'test')
  if (!existsSync(tests)) return []
  return readdirSync(tests, { recursive: true })
    .filter(name => name.endsWith('.spec.ts'))
    .map(name => readFileSync(join(tests, name), 'utf8'))
}

function usesKit(text) {
  return /\btestBackend\s*\(/.test(text)
}
