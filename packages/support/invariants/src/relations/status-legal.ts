import type { Agent, AgentStatus } from '@palimpsest/host'
import { forEachAgent, type Relation } from '../relation.js'

export const statusLegal: Relation = {
  name: 'status-legal',
  description:
    'An agent moves idle → running → idle, from both to disposed, from there nowhere, and never to the same.',
  judgeHost: (ctx, report) => {
    const last = new WeakMap<Agent, AgentStatus>()
    forEachAgent(ctx, agent => {
      last.set(agent, agent.status)
    })
    ctx.on('agent/status', (status, agent) => {
      const before = last.get(agent)
      last.set(agent, status)
      if (before === undefined || MOVES[before].includes(status)) return
      const legal = MOVES[before].join(' or ') || 'no other status'
      report(
        { seqs: [], message: `agent ${agent.id} was ${before}: expected ${legal} next, found ${status}` },
        agent.session.id,
      )
    })
  },
}

// --- internal ---

const MOVES: Record<AgentStatus, readonly AgentStatus[]> = {
  idle: ['running', 'disposed'],
  running: ['idle', 'disposed'],
  disposed: [],
}
