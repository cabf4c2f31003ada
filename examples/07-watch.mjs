// A session that is watched while somebody else writes it: the history, a marker, then each event once,
// over a takeover too. Watching takes no lease.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createSession, openSession, watchSession } from '@palimpsest/session-persistence'
import { createJsonlBackend } from '@palimpsest/session-persistence-jsonl'

const directory = mkdtempSync(join(tmpdir(), 'palimpsest-example-'))
const [writer, other, reader] = [1, 2, 3].map(() => createJsonlBackend({ directory }))
const say = ({ session }, text) =>
  session.append(
    'user/message',
    { message: { role: 'user', content: [{ type: 'text', text }] } },
    { surfaceOp: 'append' },
  )

const first = await createSession(writer, { id: 'watched' })
say(first, 'written before anybody watched')
await first.flush()

const stop = new AbortController()
for await (const item of watchSession(reader, 'watched', { signal: stop.signal })) {
  if (item.kind === 'live') {
    console.log(`live after ${item.length}`)
    say(first, 'written by the first owner')
    await first.flush()
    continue
  }
  const { seq, data } = item.event
  console.log(seq, data.message.content[0].text)
  if (seq === 1) {
    // Another process would do the same: its lock has a higher epoch, and the first owner may write no more.
    const second = await openSession(other, 'watched', { takeover: true })
    say(second, 'written by the owner that took over')
    await second.close()
  }
  if (seq === 2) stop.abort() // ends the watch, without an error
}

for (const backend of [writer, other, reader]) await backend.close()
rmSync(directory, { recursive: true })
