import type { Relation } from '../relation.js'

export const seqsDense: Relation = {
  name: 'seqs-dense',
  description: 'An event’s seq is its index in the log: 0, 1, 2 … without gaps.',
  judgeLog: () => {
    let next = 0
    return ({ seq }) => {
      const expected = next
      next = seq + 1
      return seq === expected ? undefined : { seqs: [seq], message: `expected seq ${expected} next, found ${seq}` }
    }
  },
}
