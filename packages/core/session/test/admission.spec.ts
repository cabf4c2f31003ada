import { runInNewContext } from 'node:vm'
import { MAX_DEPTH, Session } from '@palimpsest/session'
import { describe, expect, test } from 'vitest'
import { expectRefused, isDeeplyFrozen, refusal } from './observed.js'
import { APPEND, appendLoose, say, user } from './samples.js'

/** A user message whose third part holds `at`, so that a refusal has some way to tell. */
function withInput(at: unknown): object {
  return { message: { role: 'user', content: [{}, {}, { type: 'x', input: { at } }] } }
}
const PATH = 'data.message.content[2].input.at'

function admit(at: unknown): unknown {
  const event = appendLoose(Session.create(), 'user/message', withInput(at), APPEND)
  const { message } = event.data as { message: { content: { input: { at: unknown } }[] } }
  return message.content[2]!.input.at
}

function nested(depth: number, wrap: (inner: unknown) => unknown = inner => [inner]): unknown {
  let value: unknown = wrap('core')
  for (let level = 1; level < depth; level++) value = wrap(value)
  return value
}

describe('what JSON would lose is refused, with its path', () => {
  class Point {
    x = 1
  }
  class List extends Array {}
  const refused: [name: string, value: unknown, path?: string][] = [
    ['undefined', undefined],
    ['a function', () => 1],
    ['a class', Point],
    ['a symbol', Symbol('s')],
    ['a bigint', 1n],
    ['NaN', Number.NaN],
    ['Infinity', Number.POSITIVE_INFINITY],
    ['-Infinity', Number.NEGATIVE_INFINITY],
    ['-0', -0],
    ['undefined in an array', [1, undefined], `${PATH}[1]`],
    // biome-ignore lint/suspicious/noSparseArray: the hole is what is refused
    ['a hole', [1, , 3], `${PATH}[1]`],
    ['a hole at the end', new Array(1), `${PATH}[0]`],
    ['a vast array of holes', new Array(2 ** 32 - 1), `${PATH}[0]`],
    ['an extra property on an array', Object.assign([1], { note: 'x' })],
    ['a symbol on an array', Object.assign([1], { [Symbol('s')]: 1 })],
    ['a property of an array that is not enumerable', Object.defineProperty([1], 'note', { value: 1 })],
    ['the strings of a template', ((...parts: unknown[]) => parts[0])`a${1}b`],
    ['what a regular expression found', /a/.exec('a')],
    ['an array of a subclass', List.from([1])],
    ['an array without a prototype', Object.setPrototypeOf([1], null)],
    ['a symbol key', { [Symbol('s')]: 1 }],
    ['a key that is not enumerable', Object.defineProperty({}, 'hidden', { value: 1 })],
    ['a Date', new Date(0)],
    ['a Map', new Map()],
    ['a Set', new Set()],
    ['a regular expression', /x/],
    ['a Buffer', Buffer.from('x')],
    ['a typed array', new Uint8Array(1)],
    ['an ArrayBuffer', new ArrayBuffer(1)],
    ['an Error', new Error('x')],
    ['a Promise', Promise.resolve()],
    ['a boxed string', Object('x')],
    ['a boxed number', Object(1)],
    ['a boxed bigint', Object(1n)],
    ['an instance of a class', new Point()],
    ['an object that inherits from a plain one', Object.create({ x: 1 })],
    ['Object.prototype', Object.prototype],
    [
      'the arguments of a function',
      (() =>
        (function () {
          // biome-ignore lint/complexity/noArguments: the object itself is what is refused
          return arguments
        })())(),
    ],
    ['a generator', (function* () {})()],
    ['a module-like namespace', Object.create(null, { [Symbol.toStringTag]: { value: 'Module' } })],
    ['a Date of another realm', runInNewContext('new Date(0)')],
    ['a Map of another realm', runInNewContext('new Map()')],
    ['an instance of another realm', runInNewContext('new (class Foreign { x = 1 })()')],
    ['an array of a subclass of another realm', runInNewContext('new (class Foreign extends Array {})()')],
  ]
  test.each(refused)('%s', (_, value, path = PATH) => {
    const session = say(Session.create(), 2)
    expectRefused(
      session,
      () => appendLoose(session, 'user/message', withInput(value), APPEND),
      'NOT_LOSSLESS_JSON',
      `${path}:`,
      'expected',
      'found',
    )
  })

  test.each(refused.filter(([, value]) => value !== undefined))('%s in a header', (_, value, path = PATH) => {
    const error = refusal(() => Session.create({ header: { extra: value } as never }))
    expect(error.code).toBe('NOT_LOSSLESS_JSON')
    expect(error.message).toContain(`header.extra${path.slice(PATH.length)}:`)
  })

  test.each(refused)('%s in a seed', (_, value, path = PATH) => {
    const good = say(Session.create(), 1).events
    const bad = { seq: 1, time: 1, type: 'user/message', data: withInput(value), surfaceOp: 'append' }
    const error = refusal(() => Session.create({ seed: [...good, bad as never] }))
    expect(error.code).toBe('NOT_LOSSLESS_JSON')
    expect(error.message).toContain(`seed[1].${path}:`)
  })

  test('data itself', () => {
    for (const data of [undefined, () => 1, 1n, Number.NaN, new Date()]) {
      const session = Session.create()
      expectRefused(session, () => appendLoose(session, 'turn/start', data), 'NOT_LOSSLESS_JSON', 'data:')
    }
  })

  test('a key that is no name stands in the path as JSON', () => {
    const session = Session.create()
    const append = () => appendLoose(session, 'turn/start', { turn: 1, 'a "b"': { '': 1n } })
    expectRefused(session, append, 'NOT_LOSSLESS_JSON', String.raw`data["a \"b\""][""]:`)
  })
})

describe('cycles are refused where they close', () => {
  const own: Record<string, unknown> = { name: 'own' }
  own.self = own
  const far: { list: unknown[] } = { list: [1] }
  far.list.push({ back: far })
  const array: unknown[] = [0]
  array.push(array)
  test.each([
    ['an object in itself', own, `${PATH}.self:`],
    ['over an array', far, `${PATH}.list[1].back:`],
    ['an array in itself', array, `${PATH}[1]:`],
  ])('%s', (_, value, path) => {
    const session = Session.create()
    const append = () => appendLoose(session, 'user/message', withInput(value), APPEND)
    expectRefused(session, append, 'NOT_LOSSLESS_JSON', path, 'cycle')
  })

  test('the same object twice is no cycle: it becomes two copies', () => {
    const shared = { x: [1] }
    const stored = admit([shared, shared]) as object[]
    expect(stored).toEqual([shared, shared])
  })
})

describe('depth', () => {
  const objects = (inner: unknown) => ({ inner })
  test.each([
    ['arrays', undefined],
    ['objects', objects],
  ])(`${MAX_DEPTH} nested %s are admitted, one more is refused`, (_, wrap) => {
    const session = Session.create()
    const inside = nested(MAX_DEPTH - 1, wrap)
    const event = appendLoose(session, 'turn/start', { turn: inside })
    expect(JSON.stringify(event.data)).toBe(JSON.stringify({ turn: inside }))
    const tooDeep = () => appendLoose(session, 'turn/start', { turn: nested(MAX_DEPTH, wrap) })
    expectRefused(session, tooDeep, 'NOT_LOSSLESS_JSON', '1000', wrap ? 'data.turn.inner.inner' : 'data.turn[0][0]')
  })

  test('MAX_DEPTH is 1000, and siblings do not add up', () => {
    expect(MAX_DEPTH).toBe(1000)
    expect(admit([nested(900), nested(900), nested(900)])).toBeDefined()
  })

  test('the header counts from itself', () => {
    expect(Session.create({ header: { deep: nested(MAX_DEPTH - 1) as never } }).header.deep).toBeDefined()
    expect(refusal(() => Session.create({ header: { deep: nested(MAX_DEPTH) as never } })).code).toBe(
      'NOT_LOSSLESS_JSON',
    )
  })

  test('a seed is held to the same depth', () => {
    const event = { seq: 0, time: 1, type: 'turn/start', data: nested(MAX_DEPTH, objects) }
    expect(Session.create({ seed: [event as never] }).length).toBe(1)
    const deeper = { ...event, data: nested(MAX_DEPTH + 1, objects) }
    const error = refusal(() => Session.create({ seed: [deeper as never] }))
    expect(error.code).toBe('NOT_LOSSLESS_JSON')
    expect(error.message).toContain('seed[0].data')
  })

  test('an intent has no room for depth', () => {
    const session = say(Session.create(), 1)
    const deep = { surfaceOp: nested(MAX_DEPTH + 1, objects) }
    const append = () => appendLoose(session, 'user/message', user(), deep)
    expectRefused(session, append, 'SURFACE_INTENT_NOT_ALLOWED')
  })
})

describe('a caller’s code runs once and cannot reach in', () => {
  test('a getter is read once, and what it gave is stored', () => {
    let reads = 0
    const source = {
      get at() {
        reads++
        return reads
      },
    }
    expect(admit(source)).toEqual({ at: 1 })
    expect(reads).toBe(1)
  })

  test('a getter that gives another kind of value the second time gives it to nobody', () => {
    let reads = 0
    const source = Object.defineProperty({}, 'at', { enumerable: true, get: () => (reads++ === 0 ? 'text' : () => 1) })
    expect(admit(source)).toEqual({ at: 'text' })
  })

  test('a getter that throws is a refusal with its cause', () => {
    const cause = new Error('mine')
    const source = {
      get at() {
        throw cause
      },
    }
    const session = Session.create()
    const append = () => appendLoose(session, 'turn/start', { turn: [source] })
    expectRefused(session, append, 'NOT_LOSSLESS_JSON', 'data.turn[0].at')
    expect(refusal(append).cause).toBe(cause)
  })

  test('a getter that appends is refused, whether it hides that or not', () => {
    const session = Session.create()
    const open = {
      get turn(): number {
        return session.append('turn/start', { turn: 1 }).seq
      },
    }
    expectRefused(session, () => session.append('turn/start', open), 'REENTRANT_APPEND')
    let inner: unknown
    const sly = {
      get turn(): number {
        try {
          return session.append('turn/start', { turn: 1 }).seq
        } catch (error) {
          inner = error
          return 7
        }
      },
    }
    expect(session.append('turn/start', sly).data).toEqual({ turn: 7 })
    expect(inner).toMatchObject({ code: 'REENTRANT_APPEND' })
    expect(session.length).toBe(1)
  })

  test('a Proxy that looks plain is admitted as what it looked like', () => {
    const seen: PropertyKey[] = []
    const proxy = new Proxy(
      { a: 1, list: new Proxy([1, 2], {}) },
      {
        get(target, key) {
          seen.push(key)
          return Reflect.get(target, key)
        },
      },
    )
    const stored = admit(proxy)
    expect(stored).toEqual({ a: 1, list: [1, 2] })
    expect(seen).toEqual(['a', 'list'])
  })

  test.each([
    ['data', (value: unknown) => value, 'data:'],
    ['a member', (value: unknown) => ({ turn: value }), 'data.turn:'],
    ['an element', (value: unknown) => ({ turn: [value] }), 'data.turn[0]:'],
  ])('a Proxy that throws as %s is a coded refusal', (_, wrap, path) => {
    const revoked = Proxy.revocable({}, {})
    revoked.revoke()
    const angry = new Proxy({}, { ownKeys: () => raise(new Error('no keys for you')) })
    for (const value of [revoked.proxy, angry]) {
      const session = Session.create()
      expectRefused(session, () => appendLoose(session, 'turn/start', wrap(value)), 'NOT_LOSSLESS_JSON', path)
    }
  })

  test('an intent or a seeded event that throws when read is a coded refusal with its cause', () => {
    const cause = new Error('mine')
    const angry = new Proxy({}, { ownKeys: () => raise(cause), getPrototypeOf: () => raise(cause) })
    const getter = Object.defineProperty({}, 'surfaceOp', { enumerable: true, get: () => raise(cause) })
    for (const bad of [
      angry,
      getter,
      { surfaceOp: angry },
      { ...APPEND, sourceEventSeqs: new Proxy([0], { get: () => raise(cause) }) },
    ]) {
      const session = say(Session.create(), 1)
      const append = () => appendLoose(session, 'user/message', user(), bad)
      expectRefused(session, append, 'SURFACE_INTENT_NOT_ALLOWED', 'intent')
      expect(refusal(append).cause).toBe(cause)
      const members =
        bad === angry
          ? angry
          : Object.defineProperties(
              { seq: 0, time: 1, type: 'user/message', data: user() },
              Object.getOwnPropertyDescriptors(bad),
            )
      const error = refusal(() => Session.create({ seed: [members as never] }))
      expect([error.code, error.message]).toEqual(['SEED_INVALID', expect.stringContaining('seed[0]')])
      expect(error.cause).toBe(cause)
    }
  })

  test('an intent whose getter appends is refused', () => {
    const session = say(Session.create(), 1)
    const intent = {
      get surfaceOp(): 'append' {
        say(session, 1)
        return 'append'
      },
    }
    expectRefused(session, () => session.append('user/message', user(), intent), 'REENTRANT_APPEND')
  })

  test('toJSON is a function like any other', () => {
    const session = Session.create()
    const append = () => appendLoose(session, 'turn/start', { turn: { toJSON: () => 1 } })
    expectRefused(session, append, 'NOT_LOSSLESS_JSON', 'data.turn.toJSON')
  })

  test('changing what was given changes nothing', () => {
    const data = user('before')
    const part = data.message.content[0] as { text: string }
    const sources = [0]
    const op = { op: 'replace' as const, start: 0, end: 0 }
    const session = say(Session.create(), 1)
    const event = session.append('user/message', data, { surfaceOp: op, sourceEventSeqs: sources })
    const before = JSON.stringify(session.events)
    part.text = 'after'
    data.message.content.push({ type: 'text', text: 'more' })
    sources.push(99)
    op.start = 42
    expect(JSON.stringify(session.events)).toBe(before)
    expect(event.data).not.toBe(data)
    expect(Object.isFrozen(data)).toBe(false)
    expect(Object.isFrozen(sources) || Object.isFrozen(op)).toBe(false)
  })

  test('the same goes for a header and a seed', () => {
    const parent = { id: 'p', length: 3 }
    const extra = { deep: [1] }
    const session = Session.create({ header: { parent, extra } })
    parent.length = 9
    extra.deep.push(2)
    expect(session.header).toMatchObject({ parent: { length: 3 }, extra: { deep: [1] } })
    const seed = JSON.parse(JSON.stringify(say(Session.create(), 2).events))
    const seeded = Session.create({ seed })
    const before = JSON.stringify(seeded.events)
    seed[0].data.message.content[0].text = 'changed'
    seed.pop()
    expect(JSON.stringify(seeded.events)).toBe(before)
  })

  test('everything that comes out is deeply frozen', () => {
    const session = say(Session.create({ header: { cwd: '/', extra: [{ a: [1] }] } }), 2)
    session.append('request/header', { model: 'm', settings: { deep: { er: [1] } } })
    session.append('user/message', user(), {
      surfaceOp: { op: 'replace', start: 0, end: 1 },
      sourceEventSeqs: [0, 1],
    })
    const shown = [
      session.header,
      session.events,
      session.slice(0, 2),
      session.surface.seqs(),
      session.surface.shadowed(3),
      session.surface.shadowed(0),
      session.deriveMessages(),
      session.messagesAt(1),
      session.surfaceAt(1),
      session.requestAt(3),
      session.requestAt(4),
      Session.create({ seed: JSON.parse(JSON.stringify(session.events)) }).events,
    ]
    for (const value of shown) expect(isDeeplyFrozen(value)).toBe(true)
    expect(() => {
      ;(session.deriveMessages()[0] as { role: string }).role = 'tool'
    }).toThrow(TypeError)
  })
})

describe('what JSON keeps is kept exactly', () => {
  const odd = JSON.parse('{"__proto__":{"x":1},"constructor":{"prototype":{"y":2}},"toString":"t","hasOwnProperty":0}')
  const strings = [
    '',
    '\u0000',
    '\u2028\u2029',
    '\ud800',
    '\udc00\ud800',
    'é',
    '\ufeff',
    '👩‍👩‍👧',
    '\u001b[31m',
    '__proto__',
    '"\\/',
  ]
  const numbers = [0, 5e-324, Number.MAX_VALUE, Number.MIN_SAFE_INTEGER, 2 ** 53, 0.1, -1e-7]

  test('awkward names stay plain own keys', () => {
    const stored = admit(odd) as object
    expect(JSON.stringify(stored)).toBe(JSON.stringify(odd))
    expect(Object.keys(stored)).toEqual(['__proto__', 'constructor', 'toString', 'hasOwnProperty'])
    expect(Object.getPrototypeOf(stored)).toBe(Object.prototype)
    expect(({} as { x?: number }).x).toBeUndefined()
    const session = Session.create()
    appendLoose(session, 'turn/start', { turn: odd })
    const again = Session.create({ seed: JSON.parse(JSON.stringify(session.events)) })
    expect(JSON.stringify(again.events)).toBe(JSON.stringify(session.events))
  })

  test('awkward names in a header too', () => {
    const { header } = Session.create({ id: 'a', header: { ...odd, createdAt: 1 }, now: () => 1 })
    expect(Object.hasOwn(header, 'constructor')).toBe(true)
    const literal = JSON.parse('{"__proto__":{"x":1},"note":2}')
    expect(JSON.stringify(Session.create({ id: 'a', header: literal, now: () => 1 }).header)).toBe(
      '{"version":0,"id":"a","createdAt":1,"__proto__":{"x":1},"note":2}',
    )
  })

  test.each(strings.map(text => [JSON.stringify(text), text]))('the string %s, as value and as key', (_, text) => {
    expect(admit(text)).toBe(text)
    expect(Object.entries(admit({ [text]: [text] }) as object)).toEqual([[text, [text]]])
    const session = Session.create({ header: { note: text } })
    session.append('user/message', user(text), APPEND)
    const again = Session.create({
      header: JSON.parse(JSON.stringify(session.header)),
      seed: JSON.parse(JSON.stringify(session.events)),
    })
    expect(again.events).toStrictEqual(session.events)
    expect(again.header).toStrictEqual(session.header)
  })

  test.each(numbers)('the number %d', value => {
    expect(admit(value)).toBe(value)
  })

  test('the order of keys', () => {
    expect(JSON.stringify(admit({ b: 1, a: 2, 1: 3 }))).toBe('{"1":3,"b":1,"a":2}')
  })

  test('objects without a prototype, and of another realm', () => {
    const bare = Object.assign(Object.create(null), { a: { b: [] } })
    const foreign = runInNewContext('({ a: { b: [1, { c: null }] }, bare: Object.create(null) })')
    expect(JSON.stringify(admit(bare))).toBe('{"a":{"b":[]}}')
    const stored = admit(foreign) as { a: { b: unknown[] } }
    expect(JSON.stringify(stored)).toBe('{"a":{"b":[1,{"c":null}]},"bare":{}}')
    expect(stored.a.b).toBeInstanceOf(Array)
    expect(Object.getPrototypeOf(stored)).toBe(Object.prototype)
  })

  test('an intent of another realm', () => {
    const session = say(Session.create(), 2)
    const intent = runInNewContext("({ surfaceOp: { op: 'replace', start: 0, end: 1 }, sourceEventSeqs: [0, 1] })")
    const event = session.append('user/message', user(), intent)
    expect(event.surfaceOp).toEqual({ op: 'replace', start: 0, end: 1 })
    expect(event.sourceEventSeqs).toEqual([0, 1])
    expect(Object.getPrototypeOf(event.sourceEventSeqs)).toBe(Array.prototype)
  })

  test('frozen and sealed input', () => {
    expect(admit(Object.freeze({ a: Object.freeze([1]) }))).toEqual({ a: [1] })
  })

  test('huge input', () => {
    const text = 'x\u0000é\ud800'.repeat(2_500_000)
    expect(admit(text)).toBe(text)
    const wide = Array.from({ length: 300_000 }, (_, i) => i)
    expect(admit(wide)).toStrictEqual(wide)
    const keys = Object.fromEntries(wide.slice(0, 50_000).map(i => [`k${i}`, i]))
    expect(admit(keys)).toStrictEqual(keys)
  })

  test('empty containers and null', () => {
    expect(admit({ a: [], b: {}, c: null, d: false })).toStrictEqual({ a: [], b: {}, c: null, d: false })
  })
})

// --- internal ---

function raise(error: Error): never {
  throw error
}
