import type { Part, SurfaceIntent } from '@palimpsest/session'
import { createSession, forkSession, type OpenSession, openSession } from '@palimpsest/session-persistence'
import { flush, type Live, startAgent, startWork } from './agents.js'
import type { Claim } from './oracle.js'
import type { Process, World } from './world.js'

export type Move =
  | 'create'
  | 'open'
  | 'takeover'
  | 'fork'
  | 'close'
  | 'remove'
  | 'read'
  | 'list'
  | 'send'
  | 'steer'
  | 'inject'
  | 'cancel'
  | 'configure'
  | 'dispose'
  | 'flush'
  | 'edit'

export type Fault = 'kill' | 'losePower' | 'stop' | 'wake' | 'break' | 'mend' | 'rot'

/** What a user or an operator does in one process. Begins something, and waits for nothing. */
export const MOVES: Readonly<Record<Move, (world: World, process: Process, id?: string) => void>> = {
  create(world, process, id = newId(world)) {
    const { oracle } = world
    work(
      world,
      process,
      'create',
      id,
      () => {
        oracle.creating(id)
        return createSession(process.backend, { id, ...options(world, process) })
      },
      oracle.created.bind(oracle),
    )
  },

  open: (world, process, id) => open(world, process, id, false),
  takeover: (world, process, id) => open(world, process, id, true),

  fork(world, process) {
    const parent = knownId(world)
    if (parent === undefined) return
    const { oracle, random } = world
    const id = newId(world)
    const length = random.below(oracle.lengthOf(parent) + 2)
    oracle.creating(id)
    work(
      world,
      process,
      'fork',
      id,
      () => forkSession(process.backend, parent, { id, length, ...options(world, process) }),
      oracle.forking(id, parent, length),
      parent,
    )
  },

  close(world, process) {
    const live = someLive(world, process)
    if (live === undefined) return
    const { id } = live.claim
    if (world.random.onceIn(2)) world.begin(process, 'dispose', id, () => live.agent.dispose())
    process.lives.splice(process.lives.indexOf(live), 1)
    process.closed.push(live)
    const { length } = live.claim.session
    world.begin(process, 'close', id, () =>
      live.open.close().then(
        () => {
          world.oracle.acknowledged(live.claim, length)
          world.oracle.closed(live.claim)
        },
        error => {
          world.oracle.closed(live.claim)
          throw error
        },
      ),
    )
  },

  remove(world, process) {
    const id = knownId(world)
    if (id === undefined) return
    world.begin(process, 'remove', id, async () => {
      const removal = world.oracle.removing(id)
      try {
        await process.backend.remove(id)
      } catch (error) {
        removal.failed()
        throw error
      }
      removal.removed()
    })
  },

  read(world, process) {
    const id = knownId(world)
    if (id === undefined) return
    const before = world.oracle.look(id)
    world.begin(process, 'read', id, async () => {
      const log = await process.backend.read(id)
      world.oracle.read(id, log?.events, before)
    })
  },

  list(world, process) {
    const { oracle } = world
    const before = oracle.certain().map(id => [id, oracle.look(id)] as const)
    world.begin(process, 'list', '', async () => {
      const listed = new Set<string>()
      for await (const { id } of process.backend.list()) listed.add(id)
      for (const [id, look] of before) {
        if (!listed.has(id) && oracle.isMissed(id, look)) oracle.fail(`${id} is not listed`)
      }
    })
  },

  send: (world, process) => input(world, process, 'send'),
  steer: (world, process) => input(world, process, 'steer'),
  inject: (world, process) => input(world, process, 'inject'),
  cancel: (world, process) => someLive(world, process)?.agent.cancel('enough'),

  configure(world, process) {
    const agent = someLive(world, process)?.agent
    if (agent && agent.status !== 'disposed') agent.configure({ system: `be ${world.random.below(3)}` })
  },

  dispose(world, process) {
    const live = someLive(world, process)
    if (live === undefined) return
    world.begin(process, 'dispose', live.claim.id, async () => {
      await live.agent.dispose()
      live.agent = startAgent(world, live)
    })
  },

  flush(world, process) {
    const live = someLive(world, process)
    if (live !== undefined) world.begin(process, 'flush', live.claim.id, () => flush(world, live))
  },

  /** Replaces a stretch of the surface, or takes a replacement back. */
  edit(world, process) {
    const live = someLive(world, process)
    if (live === undefined || live.agent.status !== 'idle') return
    const { session } = live.open
    const { random } = world
    const seqs = session.surface.seqs()
    if (seqs.length === 0) return
    const node = random.pick(seqs)
    if (session.surface.shadowed(node).length > 0 && random.onceIn(2)) {
      session.append('surface/restore', {}, { surfaceOp: { op: 'restore', node }, sourceEventSeqs: [node] })
    } else {
      const from = random.below(seqs.length)
      const range = seqs.slice(from, from + 1 + random.below(4))
      const surfaceOp: SurfaceIntent['surfaceOp'] = { op: 'replace', start: range[0]!, end: range.at(-1)! }
      const content = [{ type: 'text' as const, text: `of ${range}` }]
      session.append('user/message', { message: { role: 'user', content } }, { surfaceOp, sourceEventSeqs: range })
    }
    world.counts.edit = (world.counts.edit ?? 0) + 1
  },
}

/** What befalls a process, or all of them. */
export const FAULTS: Readonly<Record<Fault, (world: World, process: Process) => void>> = {
  kill: (world, process) => world.kill(process),
  losePower: world => {
    if (world.machine.losePower) world.losePower()
  },
  stop: (_world, process) => {
    if (process.state === 'running') process.state = 'stopped'
  },
  wake: world => {
    for (const process of world.processes) if (process.state === 'stopped') process.state = 'running'
  },
  break: (world, process) => world.machine.break(process),
  mend: world => world.machine.mend(),
  rot(world) {
    const id = knownId(world)
    if (id === undefined || world.isInUse(id)) return
    const seq = world.machine.rot?.(id)
    if (seq !== undefined) world.oracle.rotted(id, seq)
  },
}

// --- internal ---

const MOST_SESSIONS = 4

function open(world: World, process: Process, id: string | undefined, takeover: boolean): void {
  const known = id ?? knownId(world)
  if (known === undefined) return
  const { oracle } = world
  const before = oracle.look(known)
  work(
    world,
    process,
    takeover ? 'takeover' : 'open',
    known,
    () => openSession(process.backend, known, { takeover, ...options(world, process) }),
    (...opened) => oracle.opened(...opened, before),
  )
}

/** One opening of a session at a time in one process; who gets it works on it. */
function work(
  world: World,
  process: Process,
  what: string,
  id: string,
  start: () => Promise<OpenSession>,
  claimOf: (id: string, epoch: number, open: OpenSession) => Claim,
  about = id,
): void {
  if (process.busy.has(id)) return
  process.busy.add(id)
  world.begin(
    process,
    what,
    id,
    async () => {
      try {
        const opened = await start()
        if (process.state === 'dead') return
        const claim = claimOf(id, process.epochs.get(id)!, opened)
        process.lives.push(await startWork(world, claim, opened))
      } finally {
        process.busy.delete(id)
      }
    },
    about,
  )
}

function options({ random }: World, { now }: Process) {
  const maxDelayMs = random.pick([0, 5, 50, Number.POSITIVE_INFINITY])
  return { now, maxDelayMs, maxBatch: random.pick([1, 3, 512]) }
}

function newId({ ids, random }: World): string {
  if (ids.length >= MOST_SESSIONS || random.onceIn(6)) return random.pick(ids) ?? ids[ids.push('s0') - 1]!
  return ids[ids.push(`s${ids.length}`) - 1]!
}

function knownId({ ids, random }: World): string | undefined {
  return random.pick(ids)
}

function someLive({ random }: World, { lives }: Process): Live | undefined {
  return random.pick(lives)
}

function input(world: World, process: Process, verb: 'send' | 'steer' | 'inject'): void {
  const live = someLive(world, process)
  if (live === undefined || live.agent.status === 'disposed') return
  const text = `${verb} ${world.random.bits()}`
  const content: Part[] = [{ type: 'text', text }]
  const { claim, agent } = live
  world.begin(process, verb, claim.id, async () => {
    const { admitted } = verb === 'inject' ? agent.inject(content, 'simulation') : agent[verb](content)
    world.oracle.admitted(claim, await admitted, text)
  })
}
