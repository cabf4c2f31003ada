// Append, replace, restore: three facts in the log, and the surface that follows from them.
import assert from 'node:assert/strict'
import { Session } from '@palimpsest/session'

const session = Session.create({ id: 'first' })
const user = text => ({ message: { role: 'user', content: [{ type: 'text', text }] } })
const texts = messages => messages.map(({ content }) => content[0].text)

session.append('user/message', user('the build fails'), { surfaceOp: 'append' })
session.append('user/message', user('… four thousand lines of build log …'), { surfaceOp: 'append' })
const before = session.deriveMessages()

// The summary stands in the place of what it shadows, and names it as its source.
const summary = session.append('user/message', user('[build log: a semicolon is missing in line 7]'), {
  surfaceOp: { op: 'replace', start: 1, end: 1 },
  sourceEventSeqs: [1],
})
console.log('the model sees', texts(session.deriveMessages()))
console.log('it saw        ', texts(session.messagesAt(2)))
assert.equal(session.surface.coveredBy(1), summary.seq)

// Undo is one more fact. The summary stays in the log.
session.append(
  'surface/restore',
  { reason: 'the full log is needed' },
  { surfaceOp: { op: 'restore', node: summary.seq }, sourceEventSeqs: [summary.seq] },
)
assert.deepEqual(session.deriveMessages(), before)
assert.equal(session.length, 4)

// Stored history cannot change, and a refused append changes nothing.
assert.throws(() => session.at(0).data.message.content.push('more'), TypeError)
assert.throws(() => session.append('user/message', user(undefined), { surfaceOp: 'append' }), {
  code: 'NOT_LOSSLESS_JSON',
  message: /data\.message\.content\[0\]\.text/,
})
assert.equal(session.length, 4)
console.log('the log holds ', session.events.map(({ seq, type }) => `${seq} ${type}`).join(', '))
