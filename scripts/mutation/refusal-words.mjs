// What a refusal says is for people, and no test repeats it; its code is the contract, and stays mutated.

const WORDS_AT = { fail: 1, failOp: 0, failLandmarks: 0, SessionError: 1, PersistenceError: 1, Error: 0 }

export const strykerPlugins = [
  { kind: 'Ignore', name: 'refusal-words', value: { shouldIgnore: path => (isWords(path) ? REASON : undefined) } },
]

// --- internal ---

const REASON = 'the words of a refusal'

/** Whether a node is the text given to a call that refuses, or stands inside of it. */
function isWords(path) {
  if (path.listKey !== 'arguments') return false
  const { callee } = path.parent
  const from = Object.hasOwn(WORDS_AT, callee.name ?? '') ? WORDS_AT[callee.name] : undefined
  return from !== undefined && path.key >= from && !path.isObjectExpression()
}
