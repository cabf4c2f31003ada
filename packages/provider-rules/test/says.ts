import { type Change, type Healed, type HealOptions, heal, type Target } from '@palimpsest/provider-rules'
import type {
  AssistantPart,
  Message,
  ModelRequest,
  ProviderOptions,
  ToolCallPart,
  ToolOutput,
  UserPart,
} from '@palimpsest/session'
import { frozen } from './frozen.js'

/** Messages in few words. */
export function user(...content: (string | UserPart)[]): Message {
  return {
    role: 'user',
    content: content.map(part => (typeof part === 'string' ? { type: 'text', text: part } : part)),
  }
}

export function assistant(...content: (string | AssistantPart)[]): Message {
  return {
    role: 'assistant',
    content: content.map(part => (typeof part === 'string' ? { type: 'text', text: part } : part)),
  }
}

/** The same, written by a model of that vendor. */
export function by(vendor: string, message: Message): Message {
  return { ...message, providerOptions: { palimpsest: { vendor } } }
}

export function call(toolCallId: string, more: Partial<ToolCallPart> = {}): ToolCallPart {
  return { type: 'tool-call', toolCallId, toolName: 'look', input: {}, ...more }
}

export function reasoning(text: string, providerOptions?: ProviderOptions): AssistantPart {
  return { type: 'reasoning', text, ...(providerOptions && { providerOptions }) }
}

export function result(toolCallId: string, output: string | ToolOutput = `of ${toolCallId}`): Message {
  const told = typeof output === 'string' ? { type: 'text' as const, value: output } : output
  return { role: 'tool', content: [{ type: 'tool-result', toolCallId, toolName: 'look', output: told }] }
}

/** A healthy call with its result. */
export function pair(toolCallId: string, more?: Partial<ToolCallPart>): [Message, Message] {
  return [assistant(call(toolCallId, more)), result(toolCallId)]
}

/** Heals, and heals what came out once more: that must change nothing. */
export function healed(
  target: Target,
  messages: Message[],
  { options = {}, ...request }: Partial<ModelRequest> & { options?: HealOptions } = {},
): Healed {
  const first = heal(frozen({ ...request, messages }), target, options)
  const { thinking: _, ...again } = options
  const second = heal({ ...request, ...first.request }, target, again)
  if (JSON.stringify(second.request.messages) !== JSON.stringify(first.request.messages)) {
    throw new Error(`healing what is healed changed ${JSON.stringify(second.changes)}`)
  }
  return first
}

/** What is found, above `info`, or with `all` at all: `code message[.part] members`. */
export function found({ changes }: Pick<Healed, 'changes'>, { all = false } = {}): string[] {
  return changes.filter(({ severity }) => all || severity !== 'info').map(told)
}

// --- internal ---

function told({ code, message, part, members }: Change): string {
  const where = part === undefined ? `${message}` : `${message}.${part}`
  return [code, where, ...(Object.keys(members).length > 0 ? [JSON.stringify(members)] : [])].join(' ')
}
