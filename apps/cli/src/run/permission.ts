import type { Tool } from '@palimpsest/agent-loop'
import type { Plugin, ToolExecution } from '@palimpsest/host'
import { usageError } from '../failure.js'

/** What the user said about one call: this once, no, always this tool while this command runs, or Ctrl-C. */
export type Answer = 'yes' | 'no' | 'always' | 'cancel'
export type Ask = (call: ToolExecution) => Promise<Answer>

/**
 * Stands before every call that writes or executes: passes what `allowed` names, an effect or a tool,
 * and asks about the rest, one question at a time. Without anybody to ask the answer is no.
 */
export function permission(allowed: Iterable<string>, ask: Ask | undefined): Plugin {
  const granted = new Set(allowed)
  let last: Promise<unknown> = Promise.resolve()
  const isGranted = ({ tool, toolName }: ToolExecution) =>
    effectOf(tool) === 'read' || granted.has(effectOf(tool)) || granted.has(toolName)

  const decide = async (call: ToolExecution): Promise<void> => {
    if (isGranted(call)) return
    if (ask === undefined) throw denied(call, nobodyAsked(call))
    const answer = await ask(call)
    if (answer === 'always') granted.add(call.toolName)
    if (answer === 'cancel') call.agent.cancel('the user pressed Ctrl-C at a question')
    if (answer === 'no') throw denied(call, 'the user said no')
    if (answer === 'cancel') throw denied(call, 'the user ended the turn')
  }

  return {
    name: 'permission',
    setup(ctx) {
      ctx.around('tool/execute', async (call, next) => {
        const turn = last.then(() => decide(call))
        last = turn.catch(() => {})
        await turn
        return next()
      })
    },
  }
}

/** The names in `--allow`: effects and tools. A name that is neither is a mistake that would only show in mid-turn. */
export function parseAllow(text: string | undefined, tools: readonly Tool[]): string[] {
  const names = (text ?? '').split(',').flatMap(name => name.trim() || [])
  const known = new Set([...EFFECTS, ...tools.map(({ name }) => name)])
  const unknown = names.find(name => !known.has(name))
  if (unknown === undefined) return names
  throw usageError(`--allow: expected effects or tools among ${[...known].join(', ')}, found "${unknown}"`)
}

// --- internal ---

const EFFECTS = ['read', 'write', 'execute'] as const

function effectOf({ effect }: ToolExecution['tool']): 'read' | 'write' | 'execute' {
  return effect ?? 'execute'
}

function nobodyAsked({ tool, toolName }: ToolExecution): string {
  const effect = effectOf(tool)
  const unnamed = effect === toolName ? `does not name ${effect}` : `names neither ${effect} nor ${toolName}`
  return `it ${effect}s, there is no terminal to ask on, and --allow ${unnamed}`
}

/** The loop makes a `TOOL_DENIED` result of it, which the model reads. */
function denied({ toolName }: ToolExecution, why: string): Error {
  return Object.assign(new Error(`The call of ${toolName} was denied: ${why}. It did not run.`), {
    code: 'TOOL_DENIED',
  })
}
