// A process that writes over the built package and says what it does, one JSON line a step.
// node writer.mjs PERSISTENCE SQLITE FILE own ID TURNS | shared ID TURNS | hold ID
const [persistence, sqlite, file, mode, id, turns] = process.argv.slice(2)
const { createSqliteBackend } = await import(sqlite)
const { createSession, openSession } = await import(persistence)

const say = line => process.stdout.write(`${JSON.stringify(line)}\n`)
const pause = ms => new Promise(resolve => setTimeout(resolve, ms))

/** One turn of a few chunks, flushed at every event. */
async function writeTurn({ session, flush }, turn) {
  session.append('turn/start', { turn })
  for (let n = 0; n < 5; n++) {
    session.append('assistant/chunk', {
      turn,
      step: 1,
      chunk: { type: 'text-delta', id: '0', text: `${process.pid} ${n}` },
    })
    await flush()
  }
  session.append('turn/end', { turn, reason: { kind: 'aborted', reason: String(process.pid) } })
  await flush()
}

/** A session of one's own: every process takes part in making the database. */
async function own(backend) {
  const open = await createSession(backend, { id })
  for (let turn = 1; turn <= Number(turns); turn++) await writeTurn(open, turn)
  await open.close()
  say({ wrote: open.session.length })
}

/** One session for all: a turn each time that one gets the lease. */
async function shared(backend) {
  for (let done = 0; done < Number(turns); ) {
    try {
      const stored = (await backend.read(id, { from: 0, to: 0 })) !== undefined
      const open = await (stored ? openSession(backend, id) : createSession(backend, { id }))
      const starts = open.session.events.filter(({ type }) => type === 'turn/start').length
      await writeTurn(open, starts + 1)
      await open.close()
      done += 1
    } catch (error) {
      if (!['SESSION_LOCKED', 'SESSION_EXISTS'].includes(error.code)) throw error
      await pause(Math.random() * 10)
    }
  }
  say({ wrote: Number(turns) })
}

/** Writes turns until it is killed. */
async function hold(backend) {
  const stored = (await backend.read(id, { from: 0, to: 0 })) !== undefined
  const open = await (stored ? openSession(backend, id) : createSession(backend, { id, maxDelayMs: 0 }))
  for (let turn = open.session.events.filter(({ type }) => type === 'turn/start').length + 1; ; turn++) {
    await writeTurn(open, turn)
    say({ acknowledged: open.session.length })
  }
}

try {
  const backend = createSqliteBackend({ file, busyMs: 60_000 })
  await { own, shared, hold }[mode](backend)
  await backend.close()
} catch (error) {
  say({ failed: error.code ?? String(error.stack) })
  process.exit(3)
}
