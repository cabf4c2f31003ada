import { Session, type SessionEvent } from '@palimpsest/session'
import type { StoredLog } from '@palimpsest/session-persistence'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { planMend } from '../src/doctor/mend.js'
import { fillStory, text } from './stores.js'

/** The story without the events of `lost`. */
function storyWithout(lost: readonly number[], fill: (session: Session) => void = fillStory): StoredLog {
  const session = Session.create({ id: 'old', header: { cwd: '/project' }, now: () => 5 })
  fill(session)
  const events = session.events.filter(({ seq }) => !lost.includes(seq))
  return { header: session.header, events, length: session.length, damage: [] }
}

describe('planMend', () => {
  it('keeps what an edit said where its range is lost, and cites the loss', () => {
    const { events, leftOut, header } = planMend(storyWithout([5, 10]))
    expect(header).toEqual({ importedFrom: { format: 'palimpsest', id: 'old' }, cwd: '/project' })
    expect(leftOut).toEqual([11]) // the undo of an edit that is lost
    const losses = events.filter(({ type }) => type === 'log/lost')
    expect(losses.map(({ data }) => data)).toMatchObject([
      { from: 5, to: 6 },
      { from: 10, to: 11 },
    ])
    expect(events.at(-1)).toMatchObject({
      type: 'user/message',
      surfaceOp: { op: 'replace', start: 1, end: 7 },
    })
  })

  it('makes an append of a replacement whose end is lost', () => {
    const { events } = planMend(storyWithout([7]))
    const summaries = events.filter(event => event.type === 'user/message').slice(1)
    expect(summaries.map(({ surfaceOp }) => surfaceOp)).toEqual(['append', 'append'])
    const lost = events.find(({ type }) => type === 'log/lost')!.seq
    for (const { sourceEventSeqs } of summaries) expect(sourceEventSeqs).toContain(lost)
  })

  it('gives a valid log with every readable event or message, whatever is lost', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.integer({ min: 0, max: 12 }), { maxLength: 8 }), lost => {
        const log = storyWithout(lost)
        const { events, holes, leftOut } = planMend(log)
        const mended = Session.create({ seed: events })
        expect(mended.length).toBe(events.length)
        const dataOf = (list: readonly SessionEvent[]) => list.map(({ type, data }) => JSON.stringify([type, data]))
        const kept = dataOf(events)
        for (const each of dataOf(log.events.filter(({ seq }) => !leftOut.includes(seq)))) expect(kept).toContain(each)
        expect(events.filter(({ type }) => type === 'log/lost')).toHaveLength(holes.length)
      }),
      { numRuns: 300 },
    )
  })

  it('closes a turn whose end is lost', () => {
    const { events } = planMend(
      storyWithout([3], session => {
        session.append('turn/start', { turn: 1 })
        session.append('user/message', { turn: 1, message: text('go') }, { surfaceOp: 'append' })
        session.append('step/start', { turn: 1, step: 1 })
        session.append('turn/end', { turn: 1, reason: { kind: 'completed' } })
      }),
    )
    expect(events.map(({ type }) => type).slice(3)).toEqual(['log/lost', 'step/end', 'turn/end'])
  })
})
