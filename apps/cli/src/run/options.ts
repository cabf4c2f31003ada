import type { Command } from 'commander'
import { parsePositive } from '../commands/parse-count.js'
import type { ModelFlags } from './model.js'

/** What `run` and `resume` have in common. */
export interface RunOptions extends ModelFlags {
  system?: string
  cwd?: string
  allow?: string
  mcp?: string[]
  maxSteps?: number
}

export function addRunOptions(command: Command): Command {
  return command
    .option('--model <name>', 'anthropic:NAME, openai:NAME, scripted:FILE (a JSON array of replies), or a plain NAME')
    .option('--base-url <url>', 'an OpenAI-compatible server (or, with anthropic:NAME, an Anthropic one)')
    .option('--api-key-env <variable>', 'the environment variable that holds the key')
    .option(
      '--max-output-tokens <n>',
      'the longest answer; Anthropic always gets a limit, by default 8192',
      parsePositive,
    )
    .option('--system <text>', 'the system text')
    .option('--cwd <dir>', "the folder that the tools work in; default: the session's own, else this one")
    .option('--allow <names>', 'run without asking: effects (write,execute) or tools (bash,edit), comma-separated')
    .option('--mcp <server>', 'an MCP server: a command or an http(s) address; may be repeated', collect)
    .option('--max-steps <n>', 'end the turn after this many model requests (default: 100)', parsePositive)
}

export const ENVIRONMENT_HELP = `
Environment:
  PALIMPSEST_MODEL                       the model, where --model names none
  OPENAI_API_KEY, OPENAI_BASE_URL        for openai:NAME and plain names
  ANTHROPIC_API_KEY, ANTHROPIC_BASE_URL  for anthropic:NAME

Tools: read and grep run at once. write, edit and bash are asked about on a terminal, and denied
without one unless --allow names them. Ctrl-C cancels the turn, a second one quits at once; the log
keeps everything, and palimpsest resume goes on from it.`

// --- internal ---

function collect(value: string, all: string[] = []): string[] {
  return [...all, value]
}
