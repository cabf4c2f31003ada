import type { Target } from '@palimpsest/provider-rules'
import { pathWord, shellWord } from '../view/shell-word.js'

/** Providers' own messages, and whose rules hold for them. */
export const PROVIDER_FORMATS: Readonly<Record<string, Target>> = {
  'anthropic-messages': 'anthropic',
  'openai-chat': 'openai-chat',
  'openai-responses': 'openai-responses',
  'gemini-contents': 'gemini',
}

/** What a session can be written as, and whose rules its messages must meet there; `undefined`: nobody's. */
export const EXPORT_TARGETS: Readonly<Record<string, Target | undefined>> = {
  ...PROVIDER_FORMATS,
  'ai-sdk-messages': undefined,
  'claude-code': 'anthropic',
  codex: 'openai-responses',
  pi: undefined,
}

/** All that `export --to` takes: those, and a store of our own. */
export const EXPORT_NAMES: readonly string[] = [...Object.keys(EXPORT_TARGETS), 'palimpsest']

/** The formats whose agents can go on with what is written, and their own command for it. */
export const RESUMED_BY: Readonly<Record<string, { agent: string; command(id: string, file: string): string }>> = {
  'claude-code': { agent: 'Claude Code', command: id => `claude --resume ${shellWord(id)}` },
  codex: { agent: 'Codex', command: id => `codex resume ${shellWord(id)}` },
  pi: { agent: 'pi', command: (_, file) => `pi --session ${pathWord(file)}` },
}

/** What people call them. */
export const TARGET_NAMES: Readonly<Record<Target, string>> = {
  anthropic: 'Anthropic',
  'openai-chat': 'OpenAI (chat)',
  'openai-responses': 'OpenAI (Responses)',
  gemini: 'Gemini',
  deepseek: 'DeepSeek',
}
