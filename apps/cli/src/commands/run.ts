import { createSession } from '@palimpsest/session-persistence'
import { Command } from 'commander'
import { action, type Context } from '../context.js'
import type { ExitCode } from '../exit-codes.js'
import { addRunOptions, ENVIRONMENT_HELP, type RunOptions } from '../run/options.js'
import { taskText } from '../run/task-text.js'
import { withExamples } from './examples.js'

export function runCommand(): Command {
  const command = new Command('run')
    .description('Start a session: one task is one turn. Streams what the model says and what the tools do')
    .argument('[task]', 'what to do; "-" reads it from stdin; none, on a terminal: asks for one after another')
    .option('--id <id>', 'the id of the session; default: a new one')
  addRunOptions(command).addHelpText('after', ENVIRONMENT_HELP).action(action(run))
  return withExamples(
    command,
    'run "make the tests pass" --model anthropic:claude-sonnet-4-5',
    'run "what does this do?" --base-url http://localhost:11434/v1 --model qwen3',
    'run "add a changelog" --allow write --cwd ../project',
    'run - --model scripted:replies.json --json < task.txt',
  )
}

// --- internal ---

async function run(
  context: Context,
  given: string | undefined,
  options: RunOptions & { id?: string },
): Promise<ExitCode> {
  const task = await taskText(given, 'palimpsest run "make the tests pass"')
  const { chooseModel, converse, createDriver, openToolBox, parseAllow, SYSTEM, workFolder } = await import(
    '../run/parts.js'
  )
  const cwd = workFolder(options.cwd ?? process.cwd())
  const { port, settings, defaults } = await chooseModel(options)
  const box = await openToolBox(cwd, options.mcp ?? [])
  try {
    const allowed = parseAllow(options.allow, box.tools)
    const { id, maxSteps, system = SYSTEM } = options
    const open = await createSession(await context.store(), { ...(id !== undefined && { id }), header: { cwd } })
    const agent = {
      model: port,
      settings: { ...defaults, ...settings },
      system,
      tools: box.tools,
      ...(maxSteps !== undefined && { maxSteps }),
    }
    return await converse(context, open, await createDriver(open, agent, allowed, context.out), task)
  } finally {
    await box.close()
  }
}
