import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { checksumOf } from '../src/formats/dsh/checksum.js'
import {
  assistant,
  call,
  compaction,
  dshHeader,
  dshLog,
  dshRecords,
  result,
  started,
  step,
  stepEnd,
  summary,
  text,
  turn,
  turnEnd,
  user,
} from './dsh-log.js'
import { lines, opened, script } from './opened.js'
import { zstdFrame } from './zstd-frame.js'

const WHOLE = dshLog(
  turn(1),
  user('Read it.'),
  step(),
  assistant({ type: 'reasoning', text: 'I look.' }, call('call_1', '{"p": 1}')),
  started('call_1'),
  result('call_1', [text('milk')], 4),
  stepEnd(),
  turnEnd(1),
)

describe('a dsh log', () => {
  it('becomes our events one to one, with its seqs, times and sources', () => {
    const { format, events, messages, findings, about } = opened(WHOLE)
    expect(format).toBe('dsh')
    expect(findings).toEqual([])
    expect(events.map(({ seq, type }) => `${seq} ${type}`)).toEqual([
      '0 turn/start',
      '1 user/message',
      '2 step/start',
      '3 assistant/message',
      '4 tool/call',
      '5 tool/result',
      '6 step/end',
      '7 turn/end',
    ])
    expect(events[5]!.sourceEventSeqs).toEqual([4])
    expect(events[7]!.time).toBe(1_700_000_007_000)
    expect(script(messages)).toEqual([
      'user: Read it.',
      'assistant: (I look.) | call_1 run {"p": 1}',
      'tool: call_1 text milk',
    ])
    expect(about).toMatchObject({
      id: 'ses-1',
      cwd: '/project',
      model: 'deepseek-v4-flash',
      vendor: 'deepseek',
      hasOwnTurns: true,
    })
  })

  it('takes both shapes of answers and results, and counts what has no seq', () => {
    const { events, messages, told } = opened(
      lines(
        dshHeader,
        turn(1),
        { type: 'user/message', data: { content: [text('Go.')], source: { kind: 'user' } }, surfaceOp: 'append' },
        step(),
        {
          type: 'assistant/message',
          data: { turn: 1, step: 1, content: [call('c')], provenance: { provider: 'x', model: 'claude-9' } },
          sourceEventSeqs: [2],
          surfaceOp: 'append',
        },
        started('c'),
        {
          type: 'tool/result',
          data: { turn: 1, step: 1, callId: 'c', content: [text('no')], isError: true },
          sourceEventSeqs: [4],
          surfaceOp: 'append',
        },
      ),
    )
    expect(told).toEqual([])
    expect(events.map(({ seq }) => seq)).toEqual([0, 1, 2, 3, 4, 5])
    expect(script(messages)).toEqual(['user: Go.', 'assistant: c run {}', 'tool: c error-text no'])
    expect(messages[1]!.providerOptions).toEqual({ palimpsest: { vendor: 'anthropic', model: 'claude-9' } })
  })

  it('unpacks a row of deltas into as many events as it stands for', () => {
    const row = { type: 'text-chunks', data: { turn: 1, step: 1, index: 0, dt: [5, -2], texts: ['a', 'b', 'c'] } }
    const records = dshRecords([turn(1), step(), row])
    const { events } = opened(
      lines(dshHeader, ...records, { type: 'step/end', seq: 5, time: 9, data: { turn: 1, step: 1 } }),
    )
    const chunks = events.filter(({ type }) => type === 'assistant/chunk')
    expect(chunks.map(({ seq, time }) => [seq, time - 1_700_000_002_000])).toEqual([
      [2, 0],
      [3, 5],
      [4, 3],
    ])
    expect(events.at(-1)).toMatchObject({ seq: 5, type: 'step/end' })
  })

  it('keeps what plugins wrote, by its own name unless a name of ours is taken', () => {
    const { events, told } = opened(
      dshLog(turn(1), { type: 'todo/write', data: { todos: [] } }, compaction('start', 'c'), {
        type: 'metrics/sample',
        data: { ms: 1 },
        ignorable: true,
      }),
    )
    expect(told).toEqual([])
    expect(events.slice(1).map(({ type, ignorable }) => [type, ignorable])).toEqual([
      ['todo/write', true],
      ['import/dsh.compaction/start', true],
      ['metrics/sample', true],
    ])
  })

  it('has half a character in a message, and none where a stream was cut between its halves', () => {
    const row = { type: 'text-chunks', data: { turn: 1, step: 1, index: 0, dt: [1], texts: ['\ud83d', '\ude00'] } }
    const { told } = opened(lines(dshHeader, ...dshRecords([turn(1), step(), row]), ...dshRecords([user('\ud83d')], 4)))
    expect(told).toEqual(['text.lone-surrogate line 5'])
  })

  it('ends before an event that may not be skipped', () => {
    const { events, findings, about } = opened(
      dshLog(turn(1), user('Hi.'), { type: 'defend/x', data: {} }, user('More.')),
    )
    expect(findings).toEqual([
      { code: 'format.unknown-required-event', severity: 'error', where: 'line 4', type: 'defend/x' },
    ])
    expect(events).toHaveLength(2)
    expect(about.resume).toBe('refused')
  })

  it('is not read where a newer version wrote it', () => {
    const { findings, about, events } = opened(lines({ ...dshHeader, version: 3 }, ...dshRecords([turn(1)])))
    expect(findings).toEqual([{ code: 'format.newer', severity: 'error', where: 'line 1', file: 3, supported: 0 }])
    expect(about).toMatchObject({ resume: 'refused', unreadable: true })
    expect(events).toEqual([])
  })

  it('names a message without an id by session and position, and blames no writer that never gave ids', () => {
    const nameless = user('Hi.') as { data: { id?: string } }
    delete nameless.data.id
    const { findings, events } = opened(dshLog(turn(1), nameless, user('Again.')))
    expect(findings).toEqual([
      { code: 'event.missing-id', severity: 'error', where: 'line 3', derivedFrom: ['ses-1', 1] },
    ])
    expect(events[1]!.data).toMatchObject({ id: 'ses-1:1' })
    const old = {
      type: 'user/message',
      data: { content: [text('Hi.')], source: { kind: 'user' } },
      surfaceOp: 'append',
    }
    expect(opened(dshLog(turn(1), old)).told).toEqual([])
    expect(opened(dshLog(turn(1), old, user('Again.'))).told).toEqual(['event.missing-id line 3'])
  })
})

describe('seqs of a dsh log', () => {
  it('that run back count in the order of lines, and the run that was cut open is closed', () => {
    const again = dshRecords([turn(2), user('Again.'), step()], 2)
    const log = lines(dshHeader, ...dshRecords([turn(1), turnEnd(1), turn(2), user('Go.'), step()]), ...again)
    const { findings, events, messages } = opened(log)
    expect(findings).toEqual([
      { code: 'turn.open', severity: 'error', where: 'line 4', turn: 2 },
      { code: 'seq.repeat', severity: 'error', where: 'line 7', expected: 5, got: 2 },
    ])
    expect(events.map(({ type }) => type)).toEqual([
      ...['turn/start', 'turn/end', 'turn/start', 'user/message', 'step/start', 'step/end', 'turn/end'],
      ...['turn/start', 'user/message', 'step/start'],
    ])
    expect(events[8]!.data).toMatchObject({ originSeq: 3 })
    expect(script(messages)).toEqual(['user: Go.', 'user: Again.'])
  })

  it('that are cited after a renumbering are the new ones', () => {
    const second = dshRecords(
      [turn(2), user('B.'), step(), assistant(call('c')), started('c'), result('c', 'ok', 4)],
      0,
    )
    const { events } = opened(lines(dshHeader, ...dshRecords([turn(1), user('A.'), turnEnd(1)]), ...second))
    expect(events.at(-1)).toMatchObject({ type: 'tool/result', seq: 8, sourceEventSeqs: [7] })
  })

  it('that were lost with a torn line leave the rest in order', () => {
    const records = lines(...dshRecords([turn(1), user('A.'), user('B.'), user('C.')])).split('\n')
    records[2] = records[2]!.slice(0, 30)
    const { told, messages, events } = opened(lines(dshHeader) + records.join('\n'))
    expect(told).toEqual(['file.torn-record line 4', 'seq.gap line 5'])
    expect(events.map(({ seq }) => seq)).toEqual([0, 1, 2])
    expect(script(messages)).toEqual(['user: A.', 'user: C.'])
  })

  it('tell a started call from one that never began, in a turn that was cut open in the middle', () => {
    const { told, messages } = opened(
      dshLog(turn(1), user('Go.'), step(), assistant(call('a'), call('b')), started('a'), turn(2), user('On.')),
    )
    expect(told).toEqual(['turn.open line 2', 'call.outcome-unknown line 6', 'call.not-started line 5'])
    expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'tool', 'user'])
  })
})

describe('a compaction in a dsh log', () => {
  const before = [turn(1), user('Goal.'), step(), assistant(text('Half.')), stepEnd(), turnEnd(1)]

  it('replaces its range; what came meanwhile stays', () => {
    const { messages, told, session } = opened(
      dshLog(...before, compaction('start', 'c'), user('Note.'), summary('c', 1, 3, 'Sum.'), compaction('end', 'c')),
    )
    expect(told).toEqual([])
    expect(script(messages)).toEqual(['user: Sum.', 'user: Note.'])
    expect(session.surface.shadowed(8)).toEqual([1, 3])
  })

  it('wins over a second one over the same range, which is refused', () => {
    const { messages, findings } = opened(
      dshLog(
        ...before,
        compaction('start', 'A'),
        compaction('start', 'B'),
        summary('A', 1, 3, 'Sum A.'),
        compaction('end', 'A'),
        summary('B', 1, 3, 'Sum B.'),
        compaction('end', 'B'),
      ),
    )
    expect(findings).toEqual([
      { code: 'surface.replace-of-gone-node', severity: 'error', where: 'line 12', id: 'm-B', start: 1, end: 3 },
      { code: 'compaction.overlap', severity: 'error', where: 'line 9', id: 'B' },
    ])
    expect(script(messages)).toEqual(['user: Sum A.'])
  })

  it('did not happen where its summary is blank', () => {
    const { messages, told } = opened(dshLog(...before, compaction('start', 'c'), summary('c', 1, 3, ' \n')))
    expect(told).toEqual(['compaction.void-summary line 9'])
    expect(script(messages)).toEqual(['user: Goal.', 'assistant: Half.'])
  })

  it('that names its range the wrong way round is refused', () => {
    const { messages, told } = opened(dshLog(...before, summary('c', 3, 1, 'Sum.')))
    expect(told).toEqual(['surface.replace-of-gone-node line 8'])
    expect(messages).toHaveLength(2)
  })
})

describe('a compressed dsh log', () => {
  const batches = [
    lines(dshHeader),
    lines(...dshRecords([turn(1), user('First.'), turnEnd(1)])),
    lines(...dshRecords([turn(2), user('Second.')], 3)),
  ]
  const frames = batches.map(zstdFrame)

  it('reads as the plain one does, by seqs', () => {
    const { format, findings, events, places, messages } = opened(Buffer.concat(frames))
    expect(format).toBe('dsh')
    expect(findings).toEqual([])
    expect(events).toEqual(opened(batches.join('')).events)
    expect(places[4]!.where).toBe('seq 4')
    expect(script(messages)).toEqual(['user: First.', 'user: Second.'])
  })

  it('loses only the batch whose frame the file ends in, wherever it was cut', () => {
    const whole = Buffer.concat(frames)
    const last = frames[0]!.length + frames[1]!.length
    for (let end = last + 1; end < whole.length; end++) {
      const { told, messages } = opened(whole.subarray(0, end), { format: 'dsh' })
      expect(told[0]).toBe('file.torn-frame frame 3')
      expect(script(messages)[0]).toBe('user: First.')
    }
  })

  it('tells a bad frame before the last, and goes on behind it', () => {
    const bad = Uint8Array.from(frames[1]!)
    bad[40]! ^= 0x20
    const cut = frames[1]!.subarray(0, 60)
    for (const frame of [bad, cut]) {
      const { told, messages } = opened(Buffer.concat([frames[0]!, frame, frames[2]!]))
      expect(told[0]).toBe('file.torn-frame frame 2')
      expect(script(messages)).toContain('user: Second.')
    }
  })

  it('does not unpack what is no batch but a bomb', () => {
    const block = Buffer.from([0, 0, 0, 0x61])
    block.writeUIntLE((131_072 << 3) | 2, 0, 3)
    const head = Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x58])
    const bomb = Buffer.concat([head, ...Array.from({ length: 3000 }, () => block)])
    expect(opened(Buffer.concat([frames[0]!, bomb])).told).toEqual(['file.torn-frame frame 2'])
  })

  it('is checked by the checksum of the format', () => {
    const known: [string, number][] = [
      ['', 0x51d8e999],
      ['a', 0xa98c6e5b],
      ['abc', 0xad770999],
      ['Nobody inspects the spammish repetition', 0x8a378bf1],
    ]
    for (const [given, sum] of known) expect(checksumOf(Buffer.from(given))).toBe(sum)
  })
})

const CORPUS = new URL('../../../../shared/corpus/dsh/', import.meta.url)

describe.skipIf(!existsSync(CORPUS))('real dsh logs (skipped without ../shared/corpus)', () => {
  it('read without an error, each result after its call', () => {
    for (const file of readdirSync(CORPUS)) {
      const { findings, events } = opened(readFileSync(new URL(file, CORPUS)))
      expect(
        findings.filter(({ severity }) => severity !== 'info'),
        file,
      ).toEqual([])
      // What a golden file cites by seq tells whether its rows were counted right.
      for (const { type, sourceEventSeqs: sources } of events) {
        if (type === 'tool/result' && sources !== undefined) expect(events[sources[0]!]?.type, file).toBe('tool/call')
      }
    }
  })
})
