import type { Rule } from './rule.js'
import { argumentsAreObjects } from './rules/arguments.js'
import { messagesHoldSomething, textsAreNotBlank } from './rules/content.js'
import { callsAreSigned, signaturesAreBase64 } from './rules/gemini.js'
import { hostedCallsStayHome } from './rules/hosted.js'
import { callIdsAreLegal, callIdsAreUnique } from './rules/ids.js'
import { itemIdsAreUnique, itemIdsStandBesideReasoning } from './rules/items.js'
import { imagesAreDecodable, imagesFit, mediaHaveAPlace } from './rules/media.js'
import { toolNamesAreLegal } from './rules/names.js'
import { callsAndResultsPair } from './rules/pairing.js'
import {
  attemptsAreWhole,
  reasoningHasAPlace,
  reasoningHasNoReadableContent,
  reasoningIsOwn,
  reasoningIsSigned,
  thoughtsAreSigned,
} from './rules/reasoning.js'
import { reasoningItemsAreWhole } from './rules/reasoning-items.js'
import { resultsAreOutputs, resultsAreText, resultsHaveContent } from './rules/results.js'
import { stringsAreUnicode } from './rules/strings.js'
import { callsAreToldInWords, summariesCallNothing } from './rules/summaries.js'
import { reasoningGoesBack, thinkingCanGoOn, thinkingIsFollowed, thinkingLeads } from './rules/thinking.js'
import { calledToolsAreDeclared, toolsAreLegal } from './rules/tools.js'
import { historyBeginsWithTheUser, historyEndsWithTheUser, rolesAlternate } from './rules/turns.js'

/**
 * In the order in which they change the draft: what is left out first, so that nothing that goes stands between a call
 * and its result; then pairs; then what is true of whole messages; then names, ids, media, the request around them.
 */
export const RULES: readonly Rule[] = [
  attemptsAreWhole,
  reasoningItemsAreWhole,
  reasoningHasAPlace,
  reasoningHasNoReadableContent,
  reasoningIsOwn,
  reasoningIsSigned,
  signaturesAreBase64,
  thoughtsAreSigned,
  hostedCallsStayHome,
  mediaHaveAPlace,
  textsAreNotBlank,
  argumentsAreObjects,
  callsAndResultsPair,
  // Once more: what stood beside a text or behind an attempt may be gone.
  textsAreNotBlank,
  attemptsAreWhole,
  thinkingLeads,
  thinkingIsFollowed,
  messagesHoldSomething,
  resultsAreOutputs,
  resultsAreText,
  imagesAreDecodable,
  imagesFit,
  resultsHaveContent,
  callsAreToldInWords,
  toolNamesAreLegal,
  callIdsAreLegal,
  callIdsAreUnique,
  itemIdsAreUnique,
  itemIdsStandBesideReasoning,
  callsAreSigned,
  calledToolsAreDeclared,
  toolsAreLegal,
  summariesCallNothing,
  thinkingCanGoOn,
  reasoningGoesBack,
  historyBeginsWithTheUser,
  historyEndsWithTheUser,
  rolesAlternate,
  stringsAreUnicode,
]
