import type { Tool } from '@palimpsest/agent-loop'
import type { Chunk, ModelPort, RequestHeader, SessionEvent } from '@palimpsest/session'
import { answerCall } from './recorded-calls.js'
import type { RecordedStep } from './recorded-step.js'
import { findCall, type RecordedTurn } from './recording.js'
import type { Stage } from './stage.js'

/** What the request header of a step says, with the recording in place of model and tools. */
export function settingsFor(stage: Stage, turn: RecordedTurn, step: RecordedStep | undefined) {
  const header = headerOf(stage, turn, step)
  const tools = (header?.tools ?? []).map(schema => recordedTool(stage, turn, schema))
  return {
    model: recordedModel(stage, turn, header),
    settings: header?.settings ?? {},
    system: header?.system ?? '',
    tools,
  }
}

// --- internal ---

function headerOf(
  { recorded }: Stage,
  { end }: RecordedTurn,
  step: RecordedStep | undefined,
): RequestHeader | undefined {
  const asked = step?.attempts[0]?.[0]?.seq ?? step?.answer?.seq ?? end
  const seq = recorded.lastSeqOf('request/header', asked)
  return seq === undefined ? undefined : (recorded.at(seq) as SessionEvent<'request/header'>).data
}

/** Says by which rules it would have changed what it was given, as the recorded one did. */
function recordedModel(
  stage: Stage,
  turn: RecordedTurn,
  header: RequestHeader | undefined,
): ModelPort & Pick<RequestHeader, 'rules'> {
  const attempts = turn.steps.flatMap(step => step.attempts)
  return {
    model: header?.model ?? 'recorded',
    ...(header?.rules && { rules: header.rules }),
    async *stream(): AsyncIterable<Chunk> {
      const chunks = attempts.find(([first]) => first!.seq === stage.length) ?? []
      for (const { seq, data } of chunks) {
        await stage.reach(seq)
        yield data.chunk
      }
    },
  }
}

/** Takes any input, as what did not fit is in the recording as a result, and at any time: the recording has the order. */
function recordedTool(stage: Stage, turn: RecordedTurn, schema: NonNullable<RequestHeader['tools']>[number]): Tool {
  const { inputSchema, ...named } = schema
  return {
    ...named,
    inputSchema: { '~standard': { version: 1, vendor: 'palimpsest', validate: (value: unknown) => ({ value }) } },
    inputJsonSchema: inputSchema,
    parallelSafe: true,
    execute: (_, { step, toolCallId }) => answerCall(stage, findCall(turn, step, toolCallId)),
  }
}
