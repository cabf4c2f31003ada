import { added, isClientCall } from '../draft.js'
import { TARGETS } from '../request.js'
import type { Rule } from '../rule.js'
import { CONTINUE, EARLIER_REMOVED } from '../texts.js'

export const historyBeginsWithTheUser: Rule = {
  name: 'history-begins-with-the-user',
  targets: TARGETS,
  codes: ['turn.starts-with-call', 'turn.starts-with-assistant', 'turn.nothing-left'],
  source: 'lobehub/lobehub#1601 (first message must use the "user" role), google-gemini/gemini-cli#11814',
  healing: 'a short user turn is put in front; also where nothing is left to send',
  heal(draft) {
    const [first] = draft.entries
    const origin = first?.origin ?? { message: 0 }
    if (first === undefined) draft.report('turn.nothing-left', 'info', origin)
    else if (first.role === 'user' || (draft.target !== 'anthropic' && draft.target !== 'gemini')) return
    else if (first.pieces.some(isClientCall)) draft.report('turn.starts-with-call', 'error', origin)
    else draft.report('turn.starts-with-assistant', 'info', origin)
    draft.entries.unshift(added('user', { type: 'text', text: EARLIER_REMOVED }, origin))
  },
}

export const historyEndsWithTheUser: Rule = {
  name: 'history-ends-with-the-user',
  targets: ['anthropic', 'deepseek'],
  codes: ['turn.ends-with-assistant'],
  source: 'aaif-goose/goose#7425, HKUDS/nanobot#3297, BerriAI/litellm#8090 (no prefill)',
  healing: 'a short user turn asks to go on',
  heal(draft) {
    const last = draft.entries.at(-1)
    if (last?.role !== 'assistant') return
    draft.report('turn.ends-with-assistant', 'info', last.origin)
    draft.entries.push(added('user', { type: 'text', text: CONTINUE }, last.origin))
  },
}

/** The joining itself is how a body is written. */
export const rolesAlternate: Rule = {
  name: 'roles-alternate',
  targets: ['anthropic', 'deepseek'],
  codes: ['turn.same-role'],
  source: 'microsoft/semantic-kernel#10281, FlowiseAI/Flowise#2006, Aider-AI/aider#2960',
  healing: 'neighbours of one role go out as one message',
  heal(draft) {
    if (draft.target === 'deepseek' && draft.thinking !== 'enabled') return
    draft.entries.forEach((entry, i) => {
      const before = draft.entries[i - 1]
      if (entry.role !== 'tool' && before?.role === entry.role) draft.report('turn.same-role', 'info', entry.origin)
    })
  },
}
