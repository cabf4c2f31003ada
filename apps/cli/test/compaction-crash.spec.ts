import { fileURLToPath } from 'node:url'
import { compact, findInterruptedCompaction } from '@palimpsest/history'
import type { Session } from '@palimpsest/session'
import { openSession } from '@palimpsest/session-persistence'
import { describe, expect, it } from 'vitest'
import { findProblems } from '../src/doctor/findings.js'
import { addSession, KINDS, newStore, type TestedStore } from './both-stores.js'
import { palimpsest, scriptFile, startProgram, temporaryFolder } from './command.js'
import { text } from './stores.js'

const PROCESS = fileURLToPath(new URL('./compacting-process.mjs', import.meta.url))
const SAID = ['why does the build fail? '.repeat(40), 'and the tests? '.repeat(40), 'thank you']

/** Stops a compaction at the moment and kills its process there. */
async function killedIn(store: TestedStore, moment: string): Promise<Session> {
  const before = await addSession(store, 'talk', session => {
    session.append('request/header', { model: 'm', settings: {} })
    for (const each of SAID) session.append('user/message', { message: text(each) }, { surfaceOp: 'append' })
  })
  const place = store.place.replace('sqlite:', '')
  const { child, printed, ended } = startProgram(process.execPath, [PROCESS, store.kind, place, 'talk', moment])
  await printed('stopped')
  child.kill('SIGKILL')
  expect(await ended).toMatchObject({ signal: 'SIGKILL', stderr: '' })
  return before
}

describe.each(KINDS)('a compaction whose process is killed (%s)', kind => {
  it.each([
    { moment: 'before start', nodes: undefined, surface: [1, 2, 3] },
    { moment: 'while summarising', nodes: [], surface: [1, 2, 3] },
    { moment: 'before replacement', nodes: [], surface: [1, 2, 3] },
    { moment: 'before end', nodes: [5], surface: [5, 3] },
    { moment: 'after the end', nodes: undefined, surface: [5, 3] },
    { moment: 'in a turn', nodes: [], surface: [1, 2, 3, 5] },
  ])('$moment leaves the surface as it was, or as committed, and is told', async ({ moment, nodes, surface }) => {
    const store = newStore(kind)
    const before = await killedIn(store, moment)
    const backend = store.open()
    const { session, report, close } = await openSession(backend, 'talk')
    expect(report).toMatchObject({ damage: [], readOnly: false })
    expect(session.surface.seqs()).toEqual(surface)
    expect(session.messagesAt(before.length)).toEqual(before.deriveMessages())
    const found = findInterruptedCompaction(session)
    expect(found?.nodes).toEqual(nodes)
    await close()
    const { findings, notes } = await findProblems(backend, 'talk', '')
    expect(findings).toEqual([])
    expect(notes.map(({ code, seq }) => [code, seq])).toEqual(found ? [['COMPACTION_INTERRUPTED', found.seq]] : [])
    // It blocks nothing.
    const again = await openSession(backend, 'talk')
    const range = { start: surface[0]!, end: surface[0]! }
    const { shadowed } = await compact(again.session, { range, keepUserText: false, summarize: async () => 's' })
    expect(shadowed).toEqual([surface[0]])
    await again.close()
    await backend.close()
  })
})

describe('resume and doctor on a compaction that was killed', () => {
  it.each([
    ['while summarising', /compaction of 1…2 that began at event 4 never came to its end: nothing was replaced/],
    ['before end', /compaction of 1…2 that began at event 4 never came to its end, but its summary stands as event 5/],
  ])('say so in a line (%s)', async (moment, says) => {
    const store = newStore(moment === 'before end' ? 'sqlite' : 'jsonl')
    await killedIn(store, moment)
    const doctor = await palimpsest(['doctor', 'talk', '--store', store.place])
    expect(doctor).toMatchObject({ code: 0, stderr: '' })
    expect(doctor.stdout).toMatch(says)
    const model = `scripted:${scriptFile(temporaryFolder(), [{ text: 'done' }])}`
    const resume = () => palimpsest(['resume', 'talk', 'go on', '--model', model, '--store', store.place])
    const first = await resume()
    expect(first).toMatchObject({ code: 0 })
    expect(first.stderr).toMatch(says)
    expect(first.stderr.trimEnd().split('\n')).toHaveLength(1)
    expect(await resume()).toMatchObject({ code: 0, stderr: '' })
  })
})
