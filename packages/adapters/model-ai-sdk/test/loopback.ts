import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Chunk, Message, ModelPort, ModelRequest } from '@palimpsest/session'

export interface Seen {
  path: string
  headers: IncomingMessage['headers']
  body: string
}

export type Answer = (response: ServerResponse, seen: Seen) => void

/** A provider on loopback that gives one answer a request, in order, and keeps what it was sent. */
export class Loopback {
  readonly seen: Seen[] = []
  readonly answers: Answer[] = []
  readonly #server: Server

  private constructor(server: Server) {
    this.#server = server
  }

  static async start(): Promise<Loopback> {
    const server = createServer()
    const loopback = new Loopback(server)
    server.on('request', (request, response) => loopback.#take(request, response))
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    return loopback
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1`
  }

  /** The parsed body of the n-th request. */
  sent(n: number): Record<string, never> & { messages: Record<string, unknown>[] } {
    return JSON.parse(this.seen[n]?.body ?? 'null')
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise(resolve => this.#server.close(resolve))
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const pieces: Buffer[] = []
    for await (const piece of request) pieces.push(piece as Buffer)
    const seen = { path: request.url ?? '', headers: request.headers, body: Buffer.concat(pieces).toString() }
    this.seen.push(seen)
    const answer = this.answers.shift()
    if (answer) return answer(response, seen)
    response.writeHead(404).end('no answer left in this test')
  }
}

/** Server-sent events; objects are sent as JSON, Anthropic's with their type as the event's name. */
export function events(...list: (object | string)[]): Answer {
  return response => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end(eventText(list))
  }
}

export function eventText(list: (object | string)[]): string {
  return list
    .map(event => {
      if (typeof event === 'string') return `data: ${event}\n\n`
      const name = 'type' in event ? `event: ${event.type}\n` : ''
      return `${name}data: ${JSON.stringify(event)}\n\n`
    })
    .join('')
}

/** Sends the events and then resets the connection. */
export function resetAfter(...list: (object | string)[]): Answer {
  return response => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(eventText(list), () => setImmediate(() => response.socket?.resetAndDestroy()))
  }
}

/** Sends the events and ends the answer there, in good order as far as HTTP can tell. */
export function closeAfter(...list: (object | string)[]): Answer {
  return response => {
    response.writeHead(200, { 'content-type': 'text/event-stream', connection: 'close' })
    response.end(eventText(list))
  }
}

export function status(code: number, body: object | string, headers: Record<string, string> = {}): Answer {
  return response => {
    response.writeHead(code, { 'content-type': 'application/json', ...headers })
    response.end(typeof body === 'string' ? body : JSON.stringify(body))
  }
}

export const openAi = {
  delta: (delta: object, finish: string | null = null) => ({
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'm-2025',
    choices: [{ index: 0, delta, finish_reason: finish }],
  }),
  usage: (usage: object) => ({
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'm-2025',
    choices: [],
    usage,
  }),
  calls: (...calls: { id: string; name: string; arguments: string }[]) =>
    calls.map((call, index) =>
      openAi.delta({
        tool_calls: [
          { index, id: call.id, type: 'function', function: { name: call.name, arguments: call.arguments } },
        ],
      }),
    ),
  done: '[DONE]',
}

export const anthropic = {
  start: (usage: object = { input_tokens: 3, output_tokens: 1 }) => ({
    type: 'message_start',
    message: {
      type: 'message',
      id: 'msg_1',
      role: 'assistant',
      model: 'claude-x-1',
      content: [],
      stop_reason: null,
      usage,
    },
  }),
  block: (index: number, content_block: object, ...deltas: object[]) => [
    { type: 'content_block_start', index, content_block },
    ...deltas.map(delta => ({ type: 'content_block_delta', index, delta })),
    { type: 'content_block_stop', index },
  ],
  text: (index: number, ...pieces: string[]) =>
    anthropic.block(index, { type: 'text', text: '' }, ...pieces.map(text => ({ type: 'text_delta', text }))),
  call: (index: number, id: string, name: string, ...pieces: string[]) =>
    anthropic.block(
      index,
      { type: 'tool_use', id, name, input: {} },
      ...pieces.map(partial_json => ({ type: 'input_json_delta', partial_json })),
    ),
  stop: (stop_reason: string, usage: object = { output_tokens: 7 }) => [
    { type: 'message_delta', delta: { stop_reason, stop_sequence: null }, usage },
    { type: 'message_stop' },
  ],
}

export function ask(messages: Message[] = [user('hello')], more: Partial<ModelRequest> = {}): ModelRequest {
  return { model: 'm', settings: {}, messages, ...more }
}

export function user(text: string): Message {
  return { role: 'user', content: [{ type: 'text', text }] }
}

export async function collect(
  port: ModelPort,
  request: ModelRequest = ask(),
  signal: AbortSignal = new AbortController().signal,
): Promise<Chunk[]> {
  const chunks: Chunk[] = []
  for await (const chunk of port.stream(frozen(request), signal)) chunks.push(chunk)
  return chunks
}

/** As the loop gives it: deeply frozen. */
function frozen<T>(value: T): T {
  if (typeof value === 'object' && value !== null) Object.values(Object.freeze(value)).forEach(frozen)
  return value
}

/** The message that a loop makes of these chunks, by the contract's rules, as far as these tests need them. */
export function messageOf(chunks: readonly Chunk[]): Message {
  const content: Record<string, unknown>[] = []
  const open = new Map<string, Record<string, unknown>>()
  for (const chunk of chunks) {
    if (chunk.type === 'text-delta' || chunk.type === 'reasoning-delta') {
      const key = `${chunk.type} ${chunk.id}`
      const part = open.get(key) ?? { type: chunk.type === 'text-delta' ? 'text' : 'reasoning', text: '' }
      if (!open.has(key)) content.push(part)
      open.set(key, part)
      part.text += chunk.text
      if (chunk.providerOptions)
        part.providerOptions = { ...(part.providerOptions as object), ...chunk.providerOptions }
    } else if (chunk.type === 'tool-call') {
      const input = parsedOrEmpty(chunk.input)
      content.push({ ...chunk, input, ...(JSON.stringify(input) === chunk.input ? {} : { rawInput: chunk.input }) })
    } else if (chunk.type === 'tool-result' || chunk.type === 'file') {
      content.push({ ...chunk })
    }
  }
  return { role: 'assistant', content } as unknown as Message
}

function parsedOrEmpty(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return {}
  }
}
