import { crc32 } from 'node:zlib'
import { Session } from '@palimpsest/session'
import { describe, expect, it } from 'vitest'
import { opened, script } from './opened.js'

const user = (text: string) => ({ message: { role: 'user' as const, content: [{ type: 'text' as const, text }] } })

/** A session with an edit that was undone again. */
function session(): Session {
  const made = Session.create({ id: 'ses-own', now: () => 1_700_000_000_000 })
  made.append('user/message', user('One.'), { surfaceOp: 'append' })
  made.append('user/message', user('Two.'), { surfaceOp: 'append' })
  const sourceEventSeqs = [0, 1]
  made.append('user/message', user('Both.'), { surfaceOp: { op: 'replace', start: 0, end: 1 }, sourceEventSeqs })
  made.append('surface/restore', {}, { surfaceOp: { op: 'restore', node: 2 }, sourceEventSeqs: [2] })
  made.append('turn/start', { turn: 1 })
  made.append('user/message', user('Three.'), { surfaceOp: 'append' })
  return made
}

/** A record as the JSONL store writes it. */
function line(record: object): string {
  const text = JSON.stringify(record).slice(0, -1)
  return `${text},"crc":"${crc32(text).toString(16).padStart(8, '0')}"}\n`
}

function file(made: Session): string[] {
  return [made.header, ...made.events].map(line)
}

describe('a file of the own store', () => {
  it('gives back the session that it holds', () => {
    const made = session()
    const { format, events, findings, messages, about } = opened(file(made).join(''))
    expect(format).toBe('palimpsest')
    expect(findings).toEqual([])
    expect(events).toEqual(made.events)
    expect(messages).toEqual(made.deriveMessages())
    expect(about).toMatchObject({ id: 'ses-own', createdAt: 1_700_000_000_000, hasOwnTurns: true })
  })

  it('trusts no record whose checksum is another, and says that what follows is no session to go on with', () => {
    const lines = file(session())
    lines[6] = lines[6]!.replace('Three', 'Tree!')
    const last = opened(lines.join(''))
    expect(last.findings).toEqual([
      { code: 'file.torn-record', severity: 'error', where: 'line 7', damage: 'RECORD_DAMAGED' },
    ])
    expect(last.about.resume).toBeUndefined()
    expect(script(last.messages)).toEqual(['user: One.', 'user: Two.'])
    const middle = file(session())
    middle[2] = middle[2]!.replace('Two', 'Too')
    const { told, about, loss, messages } = opened(middle.join(''))
    expect(told).toEqual([
      'file.torn-record line 3',
      'seq.gap line 4',
      'surface.replace-of-gone-node line 4',
      'surface.replace-of-gone-node line 5',
    ])
    expect(about.resume).toBe('refused')
    expect(loss).toMatchObject([{ kind: 'record', count: 1 }])
    expect(script(messages)).toEqual(['user: One.', 'user: Three.'])
  })

  it('reads up to where it was cut, at each byte', () => {
    const bytes = Buffer.from(file(session()).join(''))
    const whole = opened(bytes).events
    for (let end = 0; end < bytes.length; end += 7) {
      const { events } = opened(bytes.subarray(0, end), { format: 'palimpsest' })
      expect(events).toEqual(whole.slice(0, events.length))
    }
  })

  it('ends before a type that it does not know, and refuses a newer version', () => {
    const [header, ...events] = file(session())
    const unknown = line({ seq: 1, time: 1, type: 'other/event', data: {} })
    const stopped = opened(`${header}${events[0]}${unknown}${events[2]}`)
    expect(stopped.findings).toEqual([
      { code: 'format.unknown-required-event', severity: 'error', where: 'line 3', type: 'other/event' },
    ])
    expect(stopped.events).toHaveLength(1)
    expect(stopped.about.resume).toBe('refused')
    const newer = opened(`${line({ ...session().header, version: 7 })}${events[0]}`)
    expect(newer.findings).toEqual([
      { code: 'format.newer', severity: 'error', where: 'line 1', file: 7, supported: 0 },
    ])
    expect(newer.about).toMatchObject({ unreadable: true, resume: 'refused' })
  })

  it('keeps beside the surface what says it is a message and holds none', () => {
    const [header] = file(session())
    const odd = line({ seq: 0, time: 1, type: 'user/message', data: { message: 'Hi.' }, surfaceOp: 'append' })
    expect(opened(header + odd).events).toMatchObject([{ type: 'import/palimpsest.user/message', ignorable: true }])
  })
})
