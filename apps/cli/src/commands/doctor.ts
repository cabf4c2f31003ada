import type { SessionBackend } from '@palimpsest/session-persistence'
import { Command } from 'commander'
import { action, type Context } from '../context.js'
import { type Finding, findProblems } from '../doctor/findings.js'
import { escapeLine } from '../escape.js'
import { EXIT, type ExitCode } from '../exit-codes.js'
import { describeFailure } from '../failure.js'
import { listAll, resolveId } from '../session-id.js'
import { readLog } from '../stored-session.js'
import { withExamples } from './examples.js'

export function doctorCommand(): Command {
  const command = new Command('doctor')
    .description(
      'Check stored sessions: damage, an open turn, provenance. Only reads; exit code 1 if anything is wrong',
    )
    .argument('[id]', 'a session id, its unique beginning, or "last"; default: all of the store')
    .action(action(doctor))
  return withExamples(command, 'doctor', 'doctor 3f2a', "doctor --json | jq '.[] | select(.ok | not)'")
}

// --- internal ---

interface Diagnosis {
  id: string
  ok: boolean
  length?: number
  findings: Finding[]
}

async function doctor(context: Context, given: string | undefined): Promise<ExitCode> {
  const backend = context.existingStore()
  const ids = given === undefined ? await allIds(backend) : [await resolveId(backend, given)]
  const diagnoses: Diagnosis[] = []
  for (const id of ids) {
    const diagnosis = await diagnose(backend!, id)
    diagnoses.push(diagnosis)
    print(diagnosis, context)
  }
  const { out, directory } = context
  if (out.isJson) out.json(given === undefined ? diagnoses : diagnoses[0])
  else if (ids.length === 0) out.line(`No sessions in ${escapeLine(directory)}.`)
  return diagnoses.every(({ ok }) => ok) ? EXIT.ok : EXIT.failure
}

async function allIds(backend: SessionBackend | undefined): Promise<string[]> {
  return (await listAll(backend)).map(({ id }) => id)
}

async function diagnose(backend: SessionBackend, id: string): Promise<Diagnosis> {
  try {
    const log = await readLog(backend, id)
    const findings = findProblems(id, log)
    return { id, ok: findings.length === 0, length: log.length, findings }
  } catch (error) {
    const { code, message } = describeFailure(error)
    return { id, ok: false, findings: [{ code, message }] }
  }
}

function print({ id, ok, length, findings }: Diagnosis, { out }: Context): void {
  const { bold, green, red } = out.colors
  const events = length === undefined ? '' : `  ${length} events`
  out.line(`${ok ? green('ok     ') : red('problem')}  ${bold(escapeLine(id))}${events}`)
  for (const { code, message } of findings) {
    const text = message.startsWith(code) ? message : `${code}: ${message}`
    out.line(`         ${escapeLine(text)}`)
  }
}
