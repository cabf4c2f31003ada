import { SESSION_FORMAT_VERSION, Session } from '@palimpsest/session'
import { describe, expect, test } from 'vitest'
import { isDeeplyFrozen, refusal } from './observed.js'
import { say } from './samples.js'

describe('a header', () => {
  test('is completed: version, a new id, the time of creation', () => {
    const session = Session.create({ now: () => 77 })
    expect(session.header).toStrictEqual({ version: 0, id: session.id, createdAt: 77 })
    expect(SESSION_FORMAT_VERSION).toBe(0)
    expect(session.id).not.toBe('')
    expect(Session.create().id).not.toBe(session.id)
  })

  test('takes the id from either place, or the same from both', () => {
    expect(Session.create({ id: 'a' }).header.id).toBe('a')
    expect(Session.create({ header: { id: 'b' } }).id).toBe('b')
    expect(Session.create({ id: 'c', header: { id: 'c' } }).id).toBe('c')
    const error = refusal(() => Session.create({ id: 'a', header: { id: 'b' } }))
    expect(error.code).toBe('HEADER_INVALID')
    expect(error.message).toMatch(/"?a"?.*b/)
  })

  test('keeps what it is given, extra members exactly', () => {
    const given = {
      version: 0,
      id: 'x',
      createdAt: 5,
      cwd: '/home',
      parent: { id: 'p', length: 3, crc: '0a0b0c0d' },
      spawnedBy: { id: 'q', seq: 8 },
      importedFrom: { format: 'other', id: 'z' },
      title: 'mine',
      nested: { list: [1, { a: null }], constructor: 1 },
    }
    const { header } = Session.create({ header: given })
    expect(header).toStrictEqual(given)
    expect(isDeeplyFrozen(header)).toBe(true)
    expect(Session.create({ header }).header).toStrictEqual(given)
  })

  test('that cannot be looked at is refused', () => {
    const { proxy, revoke } = Proxy.revocable({}, {})
    revoke()
    expect(refusal(() => Session.create({ header: proxy })).code).toBe('HEADER_INVALID')
    expect(refusal(() => Session.create({ header: { parent: proxy } as never })).code).toBe('NOT_LOSSLESS_JSON')
  })

  test('is the same object every time', () => {
    const session = say(Session.create(), 1)
    expect(session.header).toBe(session.header)
    expect(session.id).toBe(session.header.id)
  })

  test.each([
    ['a newer version', { version: 1 }, 'newer'],
    ['an older version', { version: -1 }, 'version'],
    ['a version as text', { version: '0' }, 'version'],
    ['an empty id', { id: '' }, 'header.id'],
    ['an id that is no text', { id: 7 }, 'header.id'],
    ['an id of null', { id: null }, 'header.id'],
    ['a version of null', { version: null }, 'header.version'],
    ['a time of null', { createdAt: null }, 'header.createdAt'],
    ['a time that is no number', { createdAt: 'now' }, 'header.createdAt'],
    ['a cwd that is no text', { cwd: 1 }, 'header.cwd'],
    ['a parent that is text', { parent: 'p' }, 'header.parent'],
    ['a parent without length', { parent: { id: 'p' } }, 'header.parent.length'],
    ['a parent of negative length', { parent: { id: 'p', length: -1 } }, 'header.parent.length'],
    ['a parent without id', { parent: { length: 1 } }, 'header.parent.id'],
    ['a crc that is no text', { parent: { id: 'p', length: 1, crc: 5 } }, 'header.parent.crc'],
    ['spawnedBy without seq', { spawnedBy: { id: 'p' } }, 'header.spawnedBy.seq'],
    ['importedFrom without format', { importedFrom: { id: 'p' } }, 'header.importedFrom.format'],
  ])('with %s is refused', (_, header, word) => {
    const error = refusal(() => Session.create({ header: header as never }))
    expect(error.code).toBe('HEADER_INVALID')
    expect(error.message).toContain(word)
  })

  test.each([['text'], [7], [[]], [null], [new Date()]])('%j is no header', header => {
    expect(refusal(() => Session.create({ header: header as never })).code).toBe('HEADER_INVALID')
  })

  test('an id given beside is held to the same rule', () => {
    for (const id of ['', 7, {}, null]) {
      expect(refusal(() => Session.create({ id: id as never })).code).toBe('HEADER_INVALID')
    }
  })
})
