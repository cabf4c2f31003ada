import { forEachAgent, type Relation } from '../relation.js'

export const scopeIsolated: Relation = {
  name: 'scope-isolated',
  description: 'An event is told of the session that holds it, and to that session’s listeners and global ones only.',
  judgeHost: (ctx, report) => {
    ctx.on('session/event', (event, session) => {
      if (session.at(event.seq) === event) return
      const message = `expected event ${event.seq} to be the one in the log of "${session.id}", found another`
      report({ seqs: [event.seq], message }, session.id)
    })
    forEachAgent(ctx, agent => {
      ctx.forAgent(agent).on('session/event', (event, session) => {
        if (session === agent.session) return
        const message = `expected a listener of "${agent.session.id}" to hear that session only, found event ${event.seq} of "${session.id}"`
        report({ seqs: [event.seq], message }, session.id)
      })
    })
  },
}
