import { openSession } from '@palimpsest/session-persistence'
import { beforeAll, expect, test } from 'vitest'
import { build, Child } from './processes.js'
import { newFile, openStore } from './stores.js'

beforeAll(build)

test('many processes make one database and write to it side by side', async () => {
  const file = newFile()
  const ids = Array.from({ length: 6 }, (_, n) => `s${n}`)
  const children = ids.map(id => new Child('writer.mjs', file, 'own', id, '8'))
  for (const child of children) expect(JSON.parse((await child.ended())!)).toEqual({ wrote: 56 })
  const backend = openStore(file)
  for (const id of ids) {
    const { events, damage } = (await backend.read(id))!
    expect([events.length, damage]).toEqual([56, []])
    expect(new Set(events.filter(({ type }) => type === 'turn/end').map(({ data }) => JSON.stringify(data))).size).toBe(
      8,
    )
  }
})

test('many processes write one session turn by turn, never within the turn of another', async () => {
  const file = newFile()
  const children = Array.from({ length: 4 }, () => new Child('writer.mjs', file, 'shared', 'log', '5'))
  for (const child of children) expect(JSON.parse((await child.ended())!)).toEqual({ wrote: 5 })
  const { events, damage } = (await openStore(file).read('log'))!
  expect([events.length, damage]).toEqual([20 * 7, []])
  for (let turn = 0; turn < 20; turn++) {
    const [start, ...rest] = events.slice(turn * 7, turn * 7 + 7)
    expect(start).toMatchObject({ type: 'turn/start', data: { turn: turn + 1 } })
    const end = rest.at(-1)!.data as { reason: { reason: string } }
    for (const chunk of rest.slice(0, 5)) expect(JSON.stringify(chunk.data)).toContain(`"${end.reason.reason} `)
  }
})

test('what a killed writer was acknowledged is there, and its lease is free', async () => {
  const file = newFile()
  let acknowledged = 0
  for (let round = 0; round < 8; round++) {
    const child = new Child('writer.mjs', file, 'hold', 'log')
    for (let line = 0; line < 1 + (round % 3); line++) acknowledged = JSON.parse((await child.next())!).acknowledged
    await child.kill()
    const backend = openStore(file)
    const { events, damage } = (await backend.read('log'))!
    expect(events.length).toBeGreaterThanOrEqual(acknowledged)
    expect(damage).toEqual([])
    const { report, close } = await openSession(backend, 'log')
    expect([report.damage, report.readOnly]).toEqual([[], false])
    await close()
    await backend.close()
  }
})
