import { type Mended, mendSession, openSession, type SessionBackend } from '@palimpsest/session-persistence'
import { Command } from 'commander'
import { action, type Context } from '../context.js'
import type { Problems } from '../doctor/findings.js'
import { escapeLine } from '../escape.js'
import { EXIT, type ExitCode } from '../exit-codes.js'
import { CommandError, describeFailure, usageError } from '../failure.js'
import { reportOpening } from '../opening.js'
import { listAll, resolveId } from '../session-id.js'
import type { DoctorFileOptions } from '../transcripts/doctor-file.js'
import { isPath } from '../transcripts/is-path.js'
import { counted, seqRange, wrongText } from '../view/figures.js'
import { withExamples } from './examples.js'

export function doctorCommand(): Command {
  const command = new Command('doctor')
    .description(
      'Check stored sessions: damage, an open turn, the relations of a log. Exit code 1 if anything is wrong',
    )
    .argument(
      '[id|path]',
      'a session id, its unique beginning, or "last"; a transcript, or a folder of them; default: all of the store',
    )
    .option(
      '--fix',
      'mend: a torn tail or an open turn in place, other damage into a new session or file; no old byte is lost',
    )
    .option('--out <file>', 'with --fix of a transcript: where the mended copy goes; default: beside it')
    .option('--scan', 'look into the transcripts in the usual folders of the agents of this computer')
    .option(
      '--target <name>',
      'of a transcript: whose request to print: anthropic, openai-chat, openai-responses, gemini, deepseek',
    )
    .option('--format <name>', 'of a transcript: what wrote it (default: auto, told by its content)')
    .option('--model <id>', 'of a transcript: the model of the next request')
    .option('--thinking <mode>', 'of a transcript: on, off, or keep')
    .option('--purpose <name>', 'of a transcript: next, or summary')
    .option('--redact', 'of a transcript: replace secrets in all that is printed')
    .option('--conversation <n>', 'of a transcript that holds several: which one, from 0')
    .action(action(doctor))
  return withExamples(
    command,
    'doctor',
    'doctor 3f2a',
    'doctor 3f2a --fix',
    'doctor broken.jsonl',
    'doctor broken.jsonl --fix',
    'doctor --scan',
    "doctor --json | jq '.[] | select(.ok | not)'",
  )
}

// --- internal ---

interface Diagnosis extends Omit<Problems, 'length'> {
  id: string
  ok: boolean
  length?: number
}

interface DoctorOptions extends DoctorFileOptions {
  fix?: boolean
  scan?: boolean
  out?: string
}

async function doctor(context: Context, given: string | undefined, options: DoctorOptions): Promise<ExitCode> {
  const { fix = false, scan = false, target } = options
  if (scan && (given !== undefined || fix))
    throw usageError('--scan: expected nothing beside it, found a path or --fix')
  if (given === undefined && target !== undefined)
    throw usageError('--target: expected an id or a transcript with it, found none')
  if (scan) return (await import('../transcripts/doctor-folder.js')).doctorScan(context)
  if (given !== undefined && isPath(given) && !(await isSession(context, given))) {
    return (await import('../transcripts/doctor-path.js')).doctorPath(context, given, options)
  }
  if (given !== undefined && target !== undefined) {
    return (await import('../transcripts/doctor-path.js')).doctorRequest(context, given, options)
  }
  if (fix) return mend(context, given)
  const backend = await context.existingStore()
  const ids = given === undefined ? await allIds(backend) : [await resolveId(backend, given)]
  const diagnoses: Diagnosis[] = []
  for (const id of ids) {
    const diagnosis = await diagnose(backend!, id, context.storeFlag)
    diagnoses.push(diagnosis)
    print(diagnosis, context)
    if (given !== undefined && !context.out.isJson) await printMending(backend!, diagnosis, context)
  }
  if (ids.length > 1) summarise(diagnoses, context)
  const { out, place } = context
  if (out.isJson) out.json(given === undefined ? diagnoses : diagnoses[0])
  else if (ids.length === 0) out.line(`No sessions in ${escapeLine(place)}.`)
  return diagnoses.every(({ ok }) => ok) ? EXIT.ok : EXIT.failure
}

/** A bare name is the session's where the store has one, whatever else lies in this folder. */
async function isSession(context: Context, given: string): Promise<boolean> {
  if (!SESSION_ID.test(given)) return false
  return context
    .existingStore()
    .then(backend => resolveId(backend, given))
    .then(
      () => true,
      () => false,
    )
}

const SESSION_ID = /^[\w-]+$/

async function mend(context: Context, given: string | undefined): Promise<ExitCode> {
  if (given === undefined)
    throw usageError('--fix: expected the id of one session, found none; palimpsest doctor names them')
  const backend = await context.existingStore()
  const id = await resolveId(backend, given)
  const mended = await mendSession(backend!, id)
  if (mended === undefined) return mendByAppending(context, backend!, id)
  const { id: fixed, ...rest } = mended
  if (context.out.isJson) context.out.json({ id, fixed, ...rest })
  else printMended(id, mended, context)
  return EXIT.ok
}

/** What opening the session for work appends: the truthful end of a turn that was interrupted. */
async function mendByAppending(context: Context, backend: SessionBackend, id: string): Promise<ExitCode> {
  const opened = await openSession(backend, id)
  try {
    const { repaired, damage } = opened.report
    if (repaired.length === 0 && damage.length === 0) {
      throw new CommandError(
        'NOTHING_TO_MEND',
        `expected an open turn, a torn tail, a hole or a damaged header, found ${id} without`,
      )
    }
    if (context.out.isJson)
      context.out.json({ id, fixed: id, length: opened.session.length, appended: repaired, damage })
    await reportOpening(opened, context)
    context.out.line(`Go on: palimpsest resume ${id} "task"${context.storeFlag}`)
    return EXIT.ok
  } finally {
    await opened.close()
  }
}

function printMended(id: string, { id: fixed, length, holes, leftOut, unknown }: Mended, { out, storeFlag }: Context) {
  out.line(`${out.colors.bold(fixed)} holds what can be read of ${escapeLine(id)}: ${counted(length, 'event')}`)
  for (const { from, to, bytes } of holes) {
    out.line(`  ${seqRange(from, to)} ${to - from === 1 ? 'is' : 'are'} lost (${counted(bytes, 'byte')})`)
  }
  if (leftOut.length > 0) out.line(`  left out, as they rest on what is lost: ${leftOut.join(', ')}`)
  if (unknown.length > 0) out.line(`  of types that this build does not know: ${unknown.map(escapeLine).join(', ')}`)
  out.line(`Go on: palimpsest resume ${fixed} "task"${storeFlag}`)
}

async function allIds(backend: SessionBackend | undefined): Promise<string[]> {
  return (await listAll(backend)).map(({ id }) => id)
}

async function diagnose(backend: SessionBackend, id: string, storeFlag: string): Promise<Diagnosis> {
  try {
    const { findProblems } = await import('../doctor/findings.js')
    const problems = await findProblems(backend, id, storeFlag)
    return { id, ok: problems.findings.length === 0, ...problems }
  } catch (error) {
    const { code, message } = describeFailure(error)
    return { id, ok: false, findings: [{ code, message }], notes: [] }
  }
}

function print({ id, ok, length, findings, notes }: Diagnosis, { out }: Context): void {
  const { bold, dim, green, red } = out.colors
  const events = length === undefined ? '' : `  ${counted(length, 'event')}`
  // A hole is told as such, and as the bad record that makes it.
  const places = new Set(findings.map(each => (each.damage === undefined ? each : JSON.stringify(each.damage.where))))
  const count = ok ? '' : `  ${wrongText(places.size)}`
  out.line(`${ok ? green('ok     ') : red('wrong  ')}  ${bold(escapeLine(id))}${events}${count}`)
  for (const { code, message } of findings) {
    const text = message.startsWith(code) ? message : `${code}: ${message}`
    out.line(`         ${escapeLine(text)}`)
  }
  for (const { message } of notes) out.line(`         ${dim(`note: ${escapeLine(message)}`)}`)
}

/** What of its messages is put right each time that they are sent: most of it came with an import. */
async function printMending(backend: SessionBackend, { id, length }: Diagnosis, { out, storeFlag }: Context) {
  if (length === undefined) return
  const { mendingOf } = await import('../transcripts/mending.js')
  const mending = await mendingOf(backend, id)
  if (mending === undefined) return
  const { target, kinds } = mending
  const count = kinds.reduce((sum, each) => sum + each.count, 0)
  const each = kinds.map(({ code, count }) => (count === 1 ? code : `${count} × ${code}`)).join(', ')
  out.line(`         in what it sends ${wrongText(count)}, and put right in each request: ${each}`)
  out.line(`         more of it: palimpsest doctor ${id} --target ${target}${storeFlag}`)
}

function summarise(diagnoses: readonly Diagnosis[], { out, storeFlag }: Context): void {
  const wrong = diagnoses.filter(({ ok }) => !ok)
  const all =
    wrong.length === 0 ? 'nothing is wrong with any of them' : `something is wrong with ${wrong.length} of them`
  out.line(`\n${counted(diagnoses.length, 'session')}; ${all}`)
  if (wrong[0] !== undefined) out.line(`Next: palimpsest doctor ${escapeLine(wrong[0].id)}${storeFlag}`)
}
