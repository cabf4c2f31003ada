export { type Change, check, type Healed, heal, type Left } from './heal.js'
export { type HealOptions, type OutgoingRequest, type RequestToHeal, TARGETS, type Target } from './request.js'
