import { lines } from './opened.js'

/** Records of a log as the program writes them, with seqs from `first` on and a second between them. */
export function dshRecords(events: readonly object[], first = 0): object[] {
  return events.map((event, i) => ({ seq: first + i, time: 1_700_000_000_000 + (first + i) * 1000, ...event }))
}

export const dshHeader = { type: 'session', version: 0, id: 'ses-1', createdAt: 1_700_000_000_000, cwd: '/project' }

export function dshLog(...events: object[]): string {
  return lines(dshHeader, ...dshRecords(events))
}

export const turn = (n: number) => ({ type: 'turn/start', data: { turn: n } })
export const turnEnd = (n: number) => ({ type: 'turn/end', data: { turn: n, reason: { kind: 'completed' } } })
export const step = (n = 1) => ({ type: 'step/start', data: { turn: 1, step: n } })
export const stepEnd = (n = 1) => ({ type: 'step/end', data: { turn: 1, step: n } })

export function user(text: string, more: object = {}): object {
  const data = { id: `m-${text}`, role: 'user', content: [{ type: 'text', text }], source: { kind: 'user' } }
  return { type: 'user/message', data, surfaceOp: 'append', ...more }
}

export function assistant(...content: object[]): object {
  const source = { kind: 'model', provider: 'deepseek-official', model: 'deepseek-v4-flash' }
  const data = { turn: 1, step: 1, message: { id: 'm-a', role: 'assistant', content, source } }
  return { type: 'assistant/message', data, surfaceOp: 'append' }
}

export const text = (text: string) => ({ type: 'text', text })
export const call = (id: string, args = '{}') => ({ type: 'tool-call', id, name: 'run', arguments: args })
export const started = (callId: string) => ({
  type: 'tool/call',
  data: { turn: 1, step: 1, callId, name: 'run', arguments: '{}' },
})

export function result(callId: string, content: unknown, source: number, isError = false): object {
  const part = { type: 'tool-result', toolCallId: callId, content, isError }
  const message = { id: `m-${callId}`, role: 'user', content: [part], source: { kind: 'tool', callId } }
  return { type: 'tool/result', data: { turn: 1, step: 1, message }, sourceEventSeqs: [source], surfaceOp: 'append' }
}

/** The message that a compaction puts in the place of a range. */
export function summary(compactionId: string, start: number, end: number, said: string): object {
  const source = { kind: 'plugin', plugin: 'compact', compactionId }
  const data = { id: `m-${compactionId}`, role: 'user', content: [text(said)], source }
  return { type: 'user/message', data, surfaceOp: { op: 'replace', start, end }, sourceEventSeqs: [start, end] }
}

export const compaction = (edge: 'start' | 'end', compactionId: string) => ({
  type: `compaction/${edge}`,
  data: { compactionId, turn: null },
})
