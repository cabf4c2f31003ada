import { type Agent, type AgentOptions, createAgent, retry } from '@palimpsest/agent-loop'
import { createHost } from '@palimpsest/host'
import type { SessionEvent, TurnEnd, Usage } from '@palimpsest/session'
import type { OpenSession } from '@palimpsest/session-persistence'
import { EXIT, type ExitCode } from '../exit-codes.js'
import { type Output, onReaderGone } from '../output.js'
import { askPermission, canAsk } from '../terminal.js'
import { watchInterrupts } from './interrupts.js'
import { liveView } from './live-view.js'
import { permission } from './permission.js'

export interface Driver {
  /** Sends one task and waits for its turn to end. Rejects where the turn could not be logged. */
  run(task: string): Promise<TurnReport>
  /** Everything that was logged is durable when this resolves, and the lease is free. */
  close(): Promise<void>
}

export interface TurnReport {
  readonly turn: number
  readonly reason: TurnEnd
  readonly exitCode: ExitCode
  readonly steps: number
  /** The text of the last answer. */
  readonly text: string
  readonly usage: Usage
}

/** An agent on an open session, with the terminal as its plugins. */
export async function createDriver(
  open: OpenSession,
  agentOptions: Omit<AgentOptions, 'session' | 'host'>,
  allowed: readonly string[],
  out: Output,
): Promise<Driver> {
  const host = createHost({ onError: (error, source) => out.note(`${source}: ${String(error)}`) })
  await host.use(retry())
  if (!out.isJson) await host.use(liveView(out))
  await host.use(permission(allowed, canAsk() ? askPermission : undefined))
  const agent = createAgent({ ...agentOptions, session: open, host })
  return {
    run: task => runTurn(agent, open, task, out),
    async close() {
      await agent.dispose()
      await open.close()
    },
  }
}

// --- internal ---

async function runTurn(agent: Agent, open: OpenSession, task: string, out: Output): Promise<TurnReport> {
  const from = open.session.length
  const interrupts = watchInterrupts(
    () => {
      out.note('cancelling the turn; Ctrl-C again quits at once')
      agent.cancel('the user interrupted it')
    },
    exitCode => quit(open, exitCode),
  )
  onReaderGone(() => agent.cancel('nobody reads the output any more'))
  try {
    const { admitted } = agent.send(task)
    const admission = admitted.then(
      () => undefined,
      error => error,
    )
    await agent.idle()
    return reportOf(open.session.slice(from), interrupts.exitCode, await admission)
  } finally {
    interrupts.stop()
  }
}

const LAST_FLUSH_MS = 250

/** What is appended is written if the disk is quick about it; what is not is what a crash would lose, and recovery mends. */
function quit(open: OpenSession, exitCode: number): void {
  const leave = () => process.exit(exitCode)
  setTimeout(leave, LAST_FLUSH_MS)
  open.flush().then(leave, leave)
}

/** What the turn's own events say. A turn that never came to its end was not logged: the admission says why. */
function reportOf(events: readonly SessionEvent[], signalled: number | undefined, refusal: unknown): TurnReport {
  const end = events.findLast(event => event.type === 'turn/end')
  if (end === undefined) throw refusal ?? new Error('the turn left no end in the log')
  const answers = events.filter(event => event.type === 'assistant/message')
  const { turn, reason } = end.data
  return {
    turn,
    reason,
    exitCode: reason.kind === 'aborted' ? (signalled ?? EXIT.interrupted) : exitCodeOf(reason),
    steps: events.filter(event => event.type === 'step/start').length,
    text:
      answers
        .at(-1)
        ?.data.message.content.flatMap(part => (part.type === 'text' ? part.text : []))
        .join('') ?? '',
    usage: sumUsage(answers.flatMap(({ data }) => data.usage ?? [])),
  }
}

function exitCodeOf({ kind }: TurnEnd): ExitCode {
  if (kind === 'completed') return EXIT.ok
  return kind === 'max-steps' ? EXIT.maxSteps : EXIT.failure
}

function sumUsage(usages: readonly Usage[]): Usage {
  const sum: Usage = {}
  for (const usage of usages) {
    for (const key of Object.keys(usage) as (keyof Usage)[]) sum[key] = (sum[key] ?? 0) + (usage[key] ?? 0)
  }
  return sum
}
