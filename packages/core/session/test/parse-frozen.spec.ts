import { MAX_DEPTH, parseFrozen, Session, type SessionEvent } from '@palimpsest/session'
import { describe, expect, test } from 'vitest'
import { isDeeplyFrozen, refusal } from './observed.js'
import { replaces, say, user } from './samples.js'
import { landmarksOf } from './stored.js'

const parsed = (text: string) => parseFrozen(text) as SessionEvent

/** The text of a log-only event whose data has the member `"x"` with this text. */
const textWith = (x: string, more = '') => `{"seq":0,"time":1,"type":"turn/start","data":{"turn":1,"x":${x}}${more}}`

/** What a seed of one event is refused with, or the event. */
const admit = (event: SessionEvent) => Session.create({ seed: [event] }).at(0)!

function resumed(parse: (text: string) => unknown) {
  const session = Session.create({ now: () => 1 })
  say(session, 4)
  session.append('user/message', user('sum'), replaces(1, 2, [1, 2]))
  const read = session.events.map(event => parse(JSON.stringify(event)) as SessionEvent)
  const landmarks = { ...landmarksOf(session.events), surface: session.surface.seqs().map(seq => read[seq]!) }
  const { header, length } = session
  return Session.resume({ header, length, landmarks, load: (from, to) => read.slice(from, to) })
}

describe('parseFrozen', () => {
  test('gives what JSON.parse gives, deeply frozen', () => {
    const text = '{"a":[1,{"b":null,"__proto__":{"c":"d"}},[]],"e":true,"a":[2,{"f":[{}]}]}'
    const value = parseFrozen(text)
    expect(value).toEqual(JSON.parse(text))
    expect(isDeeplyFrozen(value)).toBe(true)
    expect([parseFrozen('7'), parseFrozen('null'), parseFrozen('"s"')]).toEqual([7, null, 's'])
    expect(() => parseFrozen('{"a":')).toThrow(SyntaxError)
  })

  test('gives events that a session takes as it takes others', () => {
    const [fast, slow] = [resumed(parseFrozen), resumed(JSON.parse)]
    expect(fast.events).toEqual(slow.events)
    expect(fast.deriveMessages()).toEqual(slow.deriveMessages())
    expect(isDeeplyFrozen(fast.events)).toBe(true)
    expect(JSON.stringify(fast.events)).toBe(JSON.stringify(slow.events))
  })

  test('hands its data on without a copy', () => {
    const event = parsed(textWith('{"y":[1]}'))
    expect(admit(event).data).toBe(event.data)
    const other = JSON.parse(textWith('{"y":[1]}')) as SessionEvent
    expect(admit(other).data).not.toBe(other.data)
  })

  test('an event as it is written enters the log as it is; members in another order are put in theirs', () => {
    const members = ['"seq":0', '"time":1', '"type":"user/message"', '"data":{"message":{"role":"user","content":[]}}']
    const texts = [...members, '"surfaceOp":"append"']
    const [written, other] = [texts, texts.toReversed()].map(list => parsed(`{${list.join()}}`))
    expect(admit(written!)).toBe(written)
    expect(admit(other!)).not.toBe(other)
    expect(JSON.stringify(admit(other!))).toBe(JSON.stringify(written))
  })

  test('what is put in before it is frozen is frozen as well', () => {
    const put = (x: string) =>
      parseFrozen(textWith('null'), value => {
        ;(value as { data: { x: unknown } }).data.x = JSON.parse(x)
      }) as SessionEvent
    expect(put('[{"y":1}]')).toEqual(JSON.parse(textWith('[{"y":1}]')))
    expect(isDeeplyFrozen(put('[{"y":1}]'))).toBe(true)
    expect(refusal(() => admit(put('[-0]'))).code).toBe('NOT_LOSSLESS_JSON')
  })

  test('vouches for nothing below the value itself', () => {
    const { data } = parsed(textWith('{}'))
    expect(admit({ seq: 0, time: 1, type: 'turn/start', data } as SessionEvent).data).not.toBe(data)
  })
})

describe('an event from parseFrozen is refused like any other', () => {
  const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels)

  test.each([
    ['-0', textWith('-0')],
    ['-0 among whole numbers', textWith('[0,1,4294967296,-0]')],
    ['1e999', textWith('[{"y":1e999}]')],
    ['too many levels', textWith(nested(MAX_DEPTH))],
    ['an unknown member', textWith('1', ',"y":1')],
    ['a member that looks like two', '{"seq":0,"time":1,"type":"turn/start","data,surfaceOp":1}'],
    ['a source that is no seq', textWith('1', ',"surfaceOp":"append","sourceEventSeqs":[0.5]')],
    ['-0 as a source', textWith('1', ',"surfaceOp":"append","sourceEventSeqs":[-0]')],
    ['sources that are no list', textWith('1', ',"surfaceOp":"append","sourceEventSeqs":{"0":0}')],
    ['no sources', textWith('1', ',"surfaceOp":"append","sourceEventSeqs":[]')],
    ['marks on what is log-only', textWith('1', ',"surfaceOp":"append"')],
    ['data of another form', '{"seq":0,"time":1,"type":"user/message","data":{},"surfaceOp":"append"}'],
    ['a type that nobody knows', '{"seq":0,"time":1,"type":"x/y","data":{}}'],
    ['no object', '[]'],
  ])('%s', (_, text) => {
    const error = refusal(() => admit(parsed(text)))
    expect(error.code).toBe(refusal(() => admit(JSON.parse(text) as SessionEvent)).code)
    expect(error.message).toBe(refusal(() => admit(JSON.parse(text) as SessionEvent)).message)
  })

  test('the deepest that is allowed passes', () => {
    const event = parsed(textWith(nested(MAX_DEPTH - 1)))
    expect(admit(event).data).toBe(event.data)
  })
})
