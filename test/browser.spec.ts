import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createContext, runInContext } from 'node:vm'
import { gzipSync } from 'node:zlib'
import { build, type Rolldown } from 'vite'
import { beforeAll, describe, expect, test } from 'vitest'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const GZIP_LIMIT_BYTES = 15 * 1024

let code: string
let external: string[]
beforeAll(async () => {
  const output = await bundle(join(root, 'packages/core/session/src/index.ts'))
  code = output.code
  external = [...output.imports, ...output.dynamicImports]
})

describe('the kernel in a browser', () => {
  test('imports nothing', () => {
    expect(external).toEqual([])
    expect(code).not.toMatch(/["'`]node:|\brequire\(|\bprocess\.|\bBuffer\b|__vite-browser-external/)
  })

  test('appends, replaces and derives without anything of Node', () => {
    const result = runInContext(`${code};(${walk})(kernel)`, browserContext())
    expect(JSON.parse(result as string)).toEqual({
      surface: [3],
      shadowed: [0, 1],
      texts: ['Sum: hello'],
      code: 'NOT_LOSSLESS_JSON',
      idIsText: true,
    })
  })

  test(`is at most ${GZIP_LIMIT_BYTES} bytes, minified and gzipped`, () => {
    const bytes = gzipSync(code, { level: 9 }).length
    console.log(`@palimpsest/session for a browser: ${code.length} bytes minified, ${bytes} bytes gzipped`)
    expect(bytes).toBeLessThanOrEqual(GZIP_LIMIT_BYTES)
  })
})

/** What the page's script does; it is turned to text and sees the context's globals only. */
// biome-ignore lint/suspicious/noExplicitAny: the bundle's global has no type here
const walk = (kernel: any): string => {
  const session = kernel.Session.create()
  const user = (text: string) => ({ message: { role: 'user', content: [{ type: 'text', text }] } })
  session.append('user/message', user('hello'), { surfaceOp: 'append' })
  session.append('user/message', user('there'), { surfaceOp: 'append' })
  session.append('turn/start', { turn: 1 })
  const surfaceOp = { op: 'replace', start: 0, end: 1 }
  session.append('user/message', user('Sum: hello'), { surfaceOp, sourceEventSeqs: [0, 1] })
  let code: unknown
  try {
    session.append('turn/start', { turn: Number.NaN })
  } catch (error) {
    code = (error as { code: string }).code
  }
  return JSON.stringify({
    surface: session.surface.seqs(),
    shadowed: session.surface.shadowed(3),
    texts: session.deriveMessages().map((message: { content: { text: string }[] }) => message.content[0]!.text),
    code,
    idIsText: typeof session.id === 'string' && session.id.length > 0,
  })
}

async function bundle(entry: string): Promise<Rolldown.OutputChunk> {
  const result = await build({
    root,
    configFile: false,
    logLevel: 'error',
    build: {
      write: false,
      minify: true,
      target: 'es2023',
      lib: { entry, name: 'kernel', formats: ['iife'], fileName: 'kernel' },
    },
  })
  const [output] = Array.isArray(result) ? result : [result]
  const chunk = (output as Rolldown.RolldownOutput).output[0]
  expect((output as Rolldown.RolldownOutput).output).toHaveLength(1)
  return chunk
}

/** A realm with the language, and of the platform what every browser has. */
function browserContext(): object {
  const { crypto, queueMicrotask, setTimeout, clearTimeout, TextEncoder, TextDecoder, structuredClone, console } =
    globalThis
  const platform = {
    crypto,
    queueMicrotask,
    setTimeout,
    clearTimeout,
    TextEncoder,
    TextDecoder,
    structuredClone,
    console,
  }
  const context = createContext({ ...platform, reportError: (error: unknown) => console.error(error) })
  runInContext('globalThis.self = globalThis.window = globalThis', context)
  return context
}
