// An agent with a small window: it compacts by itself, and every request that it ever made can be made again.
import { createAgent } from '@palimpsest/agent-loop'
import { compaction, restore } from '@palimpsest/history'
import { createHost } from '@palimpsest/host'
import { attachInvariants } from '@palimpsest/invariants'
import { scriptedModel } from '@palimpsest/model-scripted'
import { Session } from '@palimpsest/session'

const host = createHost()
await attachInvariants(host)
await host.use(
  compaction({ window: 2_000, summarize: async ({ messages }) => `${messages.length} messages about numbers` }),
)

const session = Session.create()
const model = scriptedModel((_, n) => ({ text: `answer ${n}: ${'so it goes '.repeat(40)}` }))
const agent = createAgent({ session, model, host, system: 'Be brief.' })
for (let turn = 1; turn <= 20; turn++) {
  agent.send(`question ${turn}`)
  await agent.idle()
}

const edits = session.events.filter(({ type }) => type === 'compaction/end')
console.log(
  `${edits.length} ${edits.length === 1 ? 'compaction' : 'compactions'}; the model sees ${session.surface.size} of 40 messages`,
)
for (const { data } of edits) console.log(`  event ${data.node} saved about ${data.tokensSaved} tokens`)
for (
  let [first] = session.surface.seqs();
  session.surface.shadowed(first).length > 0;
  [first] = session.surface.seqs()
) {
  restore(session, first)
}
console.log(`all of it restored: ${session.surface.size} messages`)
await agent.dispose()
