import { InvalidArgumentError } from 'commander'
import { usageError } from '../failure.js'

/** A whole number from 0, as commander's option parser. */
export function parseCount(text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text)
  throw new InvalidArgumentError('Expected a whole number from 0.')
}

/** The seq that stands where an id may stand. */
export function seqOf(text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text)
  throw usageError(`expected the seq of an event, a whole number from 0, found "${text}"`)
}

/** A whole number from 1. */
export function parsePositive(text: string): number {
  const count = parseCount(text)
  if (count > 0) return count
  throw new InvalidArgumentError('Expected a whole number from 1.')
}
