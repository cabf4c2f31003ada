import { type HealOptions, TARGETS, type Target } from '@palimpsest/provider-rules'
import { FORMAT_NAMES, type ReadOptions } from '@palimpsest/transcripts'
import { usageError } from '../failure.js'

export interface GivenReadOptions {
  format?: string
  conversation?: string
}

export interface GivenHealOptions {
  target?: string
  model?: string
  thinking?: string
  purpose?: string
}

export function readOptions({ format = 'auto', conversation = '0' }: GivenReadOptions): ReadOptions {
  const number = Number(conversation)
  if (!/^\d+$/.test(conversation)) throw usageError(`--conversation: expected a number from 0, found ${conversation}`)
  return { format: oneOf('--format', format, ['auto', ...FORMAT_NAMES] as const), conversation: number }
}

export function healOptions({ target, model, thinking = 'keep', purpose = 'next' }: GivenHealOptions): HealOptions & {
  target?: Target
  model?: string
} {
  return {
    ...(target !== undefined && { target: oneOf('--target', target, TARGETS) }),
    ...(model !== undefined && { model }),
    thinking: oneOf('--thinking', thinking, ['on', 'off', 'keep'] as const),
    purpose: oneOf('--purpose', purpose, ['next', 'summary'] as const),
  }
}

export function oneOf<T extends string>(option: string, given: string, known: readonly T[]): T {
  if ((known as readonly string[]).includes(given)) return given as T
  throw usageError(`${option}: expected one of ${known.join(', ')}, found ${given}`)
}
