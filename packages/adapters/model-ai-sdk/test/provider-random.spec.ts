import { createAgent, defineTool } from '@palimpsest/agent-loop'
import { type AssistantMessage, type ModelPort, Session } from '@palimpsest/session'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { fake, finish, type Part, type Spec } from './fake-model.js'

/** Models by what the SDK's packages call themselves, and the name under which each gives its state. */
const VENDORS = [
  { provider: 'anthropic.messages', key: 'anthropic' },
  { provider: 'mini-max', key: 'anthropic', providerOptionsName: 'mini-max' },
  { provider: 'openai.responses', key: 'openai' },
  { provider: 'x.chat', key: 'x', providerOptionsName: 'x' },
  { provider: 'google.vertex.chat', key: 'vertex' },
  { provider: 'amazon-bedrock', key: 'bedrock' },
  { provider: 'gateway', key: 'xai', modelId: 'xai/grok' },
]

type Kind = 'thought' | 'sealed' | 'seal' | 'signed text' | 'text' | 'call' | 'run' | 'custom' | 'drawing'
interface Answer {
  kinds: Kind[]
  isNoted: boolean
}
interface Turn {
  vendor: number
  spec: Spec
  answers: Answer[]
  reload: boolean
}

const kind = fc.constantFrom<Kind>(
  'thought',
  'sealed',
  'seal',
  'signed text',
  'text',
  'call',
  'run',
  'custom',
  'drawing',
)
const turn: fc.Arbitrary<Turn> = fc.record({
  vendor: fc.nat(VENDORS.length - 1),
  spec: fc.constantFrom<Spec>('v2', 'v3', 'v4'),
  answers: fc.array(fc.record({ kinds: fc.array(kind, { minLength: 1, maxLength: 4 }), isNoted: fc.boolean() }), {
    maxLength: 2,
  }),
  reload: fc.boolean(),
})

/** The stream of one answer; what its vendor wants back, and nobody else may see, holds `sealed-VENDOR.`. */
function partsOf({ kinds, isNoted }: Answer, tag: string, vendor: number, spec: Spec): Part[] {
  const secret = (n: number) => `sealed-${vendor}.${tag}.${n}`
  const state = (n: number) => ({ providerMetadata: { [VENDORS[vendor]?.key ?? '']: { state: secret(n) } } })
  const parts = kinds.flatMap((kind, n): Part[] => {
    const id = `${tag}.${n}`
    const block = (type: string, delta: string, own: object) => [
      { type: `${type}-start`, id },
      { type: `${type}-delta`, id, delta },
      { type: `${type}-end`, id, ...own },
    ]
    if (kind === 'thought') return block('reasoning', `sealed-${vendor}.thought`, state(n))
    if (kind === 'sealed') return [{ type: 'reasoning-start', id, ...state(n) }]
    if (kind === 'seal') return [{ type: 'text-start', id, ...state(n) }]
    if (kind === 'signed text') return block('text', `said ${id};`, state(n))
    if (kind === 'text') return block('text', `said ${id};`, {})
    if (kind === 'call')
      return [{ type: 'tool-call', toolCallId: id, toolName: 'look', input: '{"n": 1.0}', ...state(n) }]
    if (kind === 'run') {
      const call = { toolCallId: secret(n), toolName: 'search', providerExecuted: true }
      return [
        { type: 'tool-call', ...call, input: '{}' },
        { type: 'tool-result', ...call, result: { found: secret(n) } },
      ]
    }
    if (spec !== 'v4') return []
    if (kind === 'custom') return [{ type: 'custom', kind: 'x.y', ...state(n) }]
    return [{ type: 'reasoning-file', mediaType: 'image/png', data: { type: 'data', data: 'AAAA' }, ...state(n) }]
  })
  const names = parts.some(part => part.providerMetadata !== undefined)
  const reason = kinds.includes('call') ? 'tool-calls' : 'stop'
  return [...parts, finish(spec, reason, isNoted || !names ? state(kinds.length) : {})]
}

interface Sent {
  vendor: number
  prompt: { role: string; content: Part[] }[]
  /** By the message's place in the request: whose answer it is. */
  owners: (number | undefined)[]
  messages: readonly AssistantMessage[]
}

/** Runs the turns through the loop; gives back each request, as the loop built it and as the provider got it. */
async function requestsOf(turns: Turn[]): Promise<Sent[]> {
  const sent: Sent[] = []
  const owners = new Map<number, number>()
  let session = Session.create({ now: () => 0 })
  for (const [at, { vendor, spec, answers, reload }] of turns.entries()) {
    if (reload) session = Session.create({ seed: JSON.parse(JSON.stringify(session.events)) })
    const queue = answers.map((answer, n) => partsOf(answer, `${at}-${n}`, vendor, spec))
    queue.push([...partsOf({ kinds: ['text'], isNoted: false }, `${at}-end`, vendor, spec)])
    const off = session.on(event => {
      if (event.type === 'assistant/message') owners.set(event.seq, vendor)
    })
    const model = portOf(vendor, spec, queue, (prompt, messages) => {
      const visible = session.surface.seqs().map(seq => owners.get(seq))
      sent.push({ vendor, prompt, owners: visible, messages: messages as AssistantMessage[] })
    })
    const agent = createAgent({ session, model, tools: [look] })
    agent.send('go')
    await agent.idle()
    await agent.dispose()
    off()
  }
  return sent
}

const look = defineTool({ name: 'look', inputSchema: { type: 'object' }, effect: 'read', execute: () => 'seen' })

function portOf(
  vendor: number,
  spec: Spec,
  queue: Part[][],
  tell: (prompt: never, messages: unknown) => void,
): ModelPort {
  const { key: _, ...names } = VENDORS[vendor] ?? { key: '', provider: '' }
  return {
    model: 'm',
    stream(request, signal) {
      const { port, calls } = fake(spec, queue.shift() ?? [], names)
      return tapped(port.stream(request, signal), () => tell(calls[0]?.prompt as never, request.messages))
    },
  }
}

async function* tapped<T>(chunks: AsyncIterable<T>, end: () => void): AsyncGenerator<T> {
  let told = false
  for await (const chunk of chunks) {
    if (!told) end()
    told = true
    yield chunk
  }
}

/** As it must stand in the prompt: without what is ours. */
function asSent(message: AssistantMessage): unknown {
  return JSON.parse(JSON.stringify(message), (name, value) =>
    name === 'rawInput' || name === 'palimpsest' ? undefined : value,
  )
}

/** Not an empty answer, which is left out, nor one with parts of V4, which have another shape in the prompt. */
function isPlain({ content }: AssistantMessage): boolean {
  return content.length > 0 && content.every(part => part.providerOptions?.palimpsest?.part === undefined)
}

function check({ vendor, prompt, owners, messages }: Sent): void {
  const text = JSON.stringify(prompt)
  const foreign = VENDORS.map((_, n) => `sealed-${n}.`).filter((_, n) => n !== vendor)
  expect(foreign.filter(secret => text.includes(secret))).toEqual([])
  const answers = prompt.filter(({ role }) => role === 'assistant')
  expect(answers.filter(({ content }) => content.length === 0)).toEqual([])
  const bare = answers.flatMap(({ content }) => content.filter(part => part.text === '' && !part.providerOptions))
  expect(bare).toEqual([])
  const own = messages.filter((message, n) => owners[n] === vendor && isPlain(message))
  const found = own.map(message => answers.findIndex(answer => sameText(answer, asSent(message))))
  expect(found).not.toContain(-1)
  expect(found).toEqual([...found].sort((a, b) => a - b))
  const said = JSON.stringify(messages).match(/said [^;]*;/g) ?? []
  expect(text.match(/said [^;]*;/g) ?? []).toEqual(said)
  const ids = (type: string) =>
    prompt.flatMap(({ role, content }) =>
      content.flatMap(part =>
        part.type === type && (role === 'tool' || !part.providerExecuted) && part.toolName === 'look'
          ? [part.toolCallId]
          : [],
      ),
    )
  const called = messages.flatMap(({ content }) =>
    content.flatMap(part => (part.type === 'tool-call' && part.toolName === 'look' ? [part.toolCallId] : [])),
  )
  expect(ids('tool-call')).toEqual(called)
  expect(ids('tool-result')).toEqual(called)
}

function sameText(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}

test('vendors that take turns in a session each get their own state as they gave it, and no other’s', async () => {
  let requests = 0
  await fc.assert(
    fc.asyncProperty(fc.array(turn, { minLength: 2, maxLength: 6 }), async turns => {
      const sent = await requestsOf(turns)
      requests += sent.length
      expect(sent.length).toBeGreaterThanOrEqual(turns.length)
      for (const each of sent) check(each)
    }),
    { numRuns: Number(process.env.PALIMPSEST_PROVIDER_RUNS ?? 100) },
  )
  expect(requests).toBeGreaterThan(100)
})
