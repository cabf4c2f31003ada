/** The texts that healing adds: short, fixed, and never a claim that something succeeded. */

export const OUTCOME_UNKNOWN =
  'This call was interrupted and its outcome is unknown: it may have run in part or in full. Check before retrying.'

export const NOT_STARTED = 'This call was interrupted before it started: it did not run and may be made again.'

export const NO_OUTPUT = '(no output)'

export const EARLIER_REMOVED = '(Earlier turns were removed.)'

export const CONTINUE = 'Continue.'

export function mediaLeftOut(kind: 'image' | 'file', why: string): string {
  return `[${kind} left out: ${why}]`
}
