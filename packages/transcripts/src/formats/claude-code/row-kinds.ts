export const KIND = { other: 0, user: 1, assistant: 2, system: 3, progress: 4, attachment: 5 } as const

export const FLAG = {
  /** Holds a message. */
  message: 1,
  sidechain: 2,
  /** A compaction begins here. */
  boundary: 4,
  summary: 8,
  /** The agent's own words about a request that failed: no model wrote them. */
  failed: 16,
  /** Its id was read before. */
  copy: 32,
  /** A user's message without results. */
  prompt: 64,
  /** Characters or numbers to be looked at. */
  risky: 128,
  /** Not only ASCII. */
  wide: 256,
  /** Numbers or keys that a parser gives back in another form or order. */
  inexact: 512,
  /** Put in by the agent, not typed. */
  meta: 1024,
} as const
