// One event through all seven stops. docs/one-event.md shows this program's output, and a test compares them.
import { appendFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createSession, openSession } from '@palimpsest/session-persistence'
import { createJsonlBackend } from '@palimpsest/session-persistence-jsonl'

const directory = mkdtempSync(join(tmpdir(), 'palimpsest-example-'))
const file = join(directory, 'walk.jsonl')
const stop = (number, name) => console.log(`\n${number}. ${name}`)
const show = (label, value) =>
  console.log(`   ${label.padEnd(10)} ${typeof value === 'string' ? value : JSON.stringify(value)}`)

const backend = createJsonlBackend({ directory })
const { session, flush, close } = await createSession(backend, { id: 'walk', now: () => 1700000000000 })
session.on(event =>
  show('observer', `heard event ${event.seq}, the log's own object: ${event === session.at(event.seq)}`),
)

stop(1, 'append')
const mine = { message: { role: 'user', content: [{ type: 'text', text: 'hello' }] } }
show('surface', session.surface.seqs())
const event = session.append('user/message', mine, { surfaceOp: 'append' })

stop(2, 'sealEvent')
show('event', event)
mine.message.content[0].text = 'changed by the caller'
show('still', event.data.message.content[0].text)
show('frozen', Object.isFrozen(event.data.message.content[0]))

stop(3, 'planSurface, applySurface')
show('surface', session.surface.seqs())
try {
  session.append('user/message', mine, { surfaceOp: { op: 'replace', start: 7, end: 7 }, sourceEventSeqs: [0] })
} catch (error) {
  show('refused', error.code)
  show('length', session.length)
}

stop(4, 'publish')
show('told', 'above, before append returned')

stop(5, 'write-behind and flush')
await flush()
show('durable', `${session.length} event`)

stop(6, 'the line on the disk')
console.log(readFileSync(file, 'utf8').trimEnd().replaceAll(/^/gm, '   '))
const live = JSON.stringify(session.deriveMessages())
await close()

stop(7, 'open again')
appendFileSync(file, '{"seq":1,"time":17000') // what a crash in mid-write leaves
const again = await openSession(backend, 'walk')
const [{ code, bytes, kept }] = again.report.damage
show('damage', `${code}, ${bytes} bytes kept in ${kept.slice(kept.lastIndexOf('/') + 1)}`)
show('messages', again.session.deriveMessages())
show('the same', JSON.stringify(again.session.deriveMessages()) === live)

await again.close()
await backend.close()
rmSync(directory, { recursive: true })
