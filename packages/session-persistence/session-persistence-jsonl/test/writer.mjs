// A process that opens a store of the built package and says what it does, one JSON line a step.
// node writer.mjs DIRECTORY ID PERSISTENCE JSONL [--once] [--takeover]
const [directory, id, persistence, jsonl, ...flags] = process.argv.slice(2)
const { createJsonlBackend } = await import(jsonl)
const { createSession, openSession } = await import(persistence)

const say = line => process.stdout.write(`${JSON.stringify(line)}\n`)
const backend = createJsonlBackend({ directory })
const options = { maxDelayMs: Infinity, ...(flags.includes('--takeover') && { takeover: true }) }

try {
  const stored = (await backend.read(id, { from: 0, to: 0 })) !== undefined
  const { session, flush } = stored
    ? await openSession(backend, id, options)
    : await createSession(backend, { id, ...options })
  say({ opened: session.length })
  let go = !flags.includes('--once')
  process.stdin.on('data', () => {
    go = true
    work()
  })
  const work = async () => {
    do {
      const turn =
        (session.lastSeqOf('turn/start') === undefined ? 0 : session.at(session.lastSeqOf('turn/start')).data.turn) + 1
      session.append('turn/start', { turn })
      session.append('turn/end', {
        turn,
        reason: { kind: 'aborted', reason: `${process.pid} ${'x'.repeat(turn % 700)}` },
      })
      try {
        await flush()
      } catch (error) {
        say({ failed: error.code })
        process.exit(3)
      }
      say({ acknowledged: session.length })
    } while (!flags.includes('--once'))
  }
  if (go) await work()
} catch (error) {
  say({ failed: error.code ?? String(error.stack) })
  process.exit(3)
}
