import { readFileSync } from 'node:fs'
import { Command } from 'commander'
import { atCommand } from './commands/at.js'
import { compactCommand } from './commands/compact.js'
import { diffCommand } from './commands/diff.js'
import { doctorCommand } from './commands/doctor.js'
import { explainCommand } from './commands/explain.js'
import { exportCommand } from './commands/export.js'
import { forkCommand } from './commands/fork.js'
import { importCommand } from './commands/import.js'
import { logCommand } from './commands/log.js'
import { lsCommand } from './commands/ls.js'
import { pruneCommand } from './commands/prune.js'
import { replayCommand } from './commands/replay.js'
import { restoreCommand } from './commands/restore.js'
import { resumeCommand } from './commands/resume.js'
import { rmCommand } from './commands/rm.js'
import { runCommand } from './commands/run.js'
import { showCommand } from './commands/show.js'
import { watchCommand } from './commands/watch.js'
import { demoCommand } from './demo/command.js'
import { EXIT_HELP } from './exit-codes.js'

/** The whole command line. Parsing throws a `CommanderError`; nothing in here ends the process. */
export function createProgram(): Command {
  const program = new Command('palimpsest')
    .description('Run, resume, look into and check agent sessions. Every fact of a session is in one append-only log.')
    .version(version())
    .option(
      '--store <place>',
      'a folder of JSONL files, or sqlite:FILE (default: the folder $XDG_STATE_HOME/palimpsest/sessions)',
    )
    .option('--json', 'print JSON for programs; errors too, on stderr')
    .configureHelp({ subcommandTerm: command => `${command.name()} ${command.usage()}` })
    .showSuggestionAfterError()
    .addHelpText('after', `\n${EXIT_HELP}\n\npalimpsest help COMMAND shows a command's options and examples.`)
  program.helpCommand(false)
  for (const command of [...commands(), helpCommand(program)]) program.addCommand(command)
  for (const command of [program, ...program.commands]) {
    command.exitOverride().configureOutput({ outputError: () => {} })
  }
  // A command that is added inherits none of this.
  for (const command of program.commands) command.configureHelp({ showGlobalOptions: true })
  return program
}

// --- internal ---

function commands(): Command[] {
  return [
    runCommand(),
    resumeCommand(),
    lsCommand(),
    showCommand(),
    logCommand(),
    watchCommand(),
    atCommand(),
    explainCommand(),
    diffCommand(),
    replayCommand(),
    compactCommand(),
    pruneCommand(),
    restoreCommand(),
    doctorCommand(),
    importCommand(),
    exportCommand(),
    forkCommand(),
    rmCommand(),
    demoCommand(),
  ]
}

/** Commander's own answers an unknown name with the whole help. */
function helpCommand(program: Command): Command {
  return new Command('help')
    .description("Show a command's options and examples")
    .argument('[command]')
    .action(async (name: string | undefined) => {
      const command = name === undefined ? program : program.commands.find(each => each.name() === name)
      if (command !== undefined) command.outputHelp()
      else await program.parseAsync([name!], { from: 'user' })
    })
}

function version(): string {
  const manifest = readFileSync(new URL('../package.json', import.meta.url), 'utf8')
  return (JSON.parse(manifest) as { version: string }).version
}
