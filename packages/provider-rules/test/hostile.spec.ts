import { existsSync } from 'node:fs'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { check, type HealOptions, heal, RULES, TARGETS, type Target } from '@palimpsest/provider-rules'
import type { ModelRequest } from '@palimpsest/session'
import { stringifyRaw, writeRequest } from '@palimpsest/transcripts'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { frozen } from './frozen.js'
import { hostileRequests } from './hostile.js'

const numRuns = Number(process.env.PALIMPSEST_HEAL_RUNS ?? 300)
const path = fileURLToPath(new URL('../../../../shared/cases/oracle.mjs', import.meta.url))
const oracle = existsSync(path) ? await import(pathToFileURL(path).href) : undefined
if (oracle === undefined) console.warn('shared/cases/oracle.mjs is not there: healed requests are not held against it')

const options: fc.Arbitrary<HealOptions> = fc.record(
  { thinking: fc.constantFrom('on', 'off', 'keep'), purpose: fc.constantFrom('next', 'summary') },
  { requiredKeys: [] },
)

describe.each(TARGETS)('whatever a session holds, %s', target => {
  it('takes what healing makes of it, and healing that changes nothing', { timeout: 3_600_000 }, () => {
    fc.assert(
      fc.property(hostileRequests, options, (request, chosen) => {
        const healed = heal(frozen(request), target, chosen)
        expect(violations(target, request, healed.request)).toEqual([])
        if (healed.fallback) expect(violations(target, request, healed.fallback)).toEqual([])
        const again = heal({ ...healed.request, model: request.model }, target, chosen)
        expect(JSON.stringify(again.request.messages)).toBe(JSON.stringify(healed.request.messages))
        const off = healed.request.thinking === 'disabled' && chosen.thinking !== 'off'
        const left = again.changes.filter(({ severity }) => severity !== 'info')
        // Thinking that cannot go on cannot go on the second time either.
        expect(left.filter(({ code }) => !off || code !== 'reasoning.missing-lead')).toEqual([])
      }),
      { numRuns },
    )
  })

  const known = RULES.filter(({ targets }) => targets.includes(target)).flatMap(({ codes }) => codes)

  it('is healed the same way each time, and checked with the same words', { timeout: 3_600_000 }, () => {
    fc.assert(
      fc.property(hostileRequests, options, (request, chosen) => {
        const healed = heal(request, target, chosen)
        expect(heal(frozen(structuredClone(request)), target, chosen)).toEqual(healed)
        expect(check(request, target, chosen)).toEqual(healed.changes)
        for (const { code, message, part } of healed.changes) {
          expect(known).toContain(code)
          expect(request.messages[message]).toBeDefined()
          if (part !== undefined) expect(request.messages[message]!.content[part]).toBeDefined()
        }
        expect(healed.origins).toHaveLength(healed.request.messages.length)
      }),
      { numRuns: Math.ceil(numRuns / 3) },
    )
  })
})

// --- internal ---

function violations(target: Target, { model }: ModelRequest, request: Parameters<typeof writeRequest>[1]): unknown[] {
  const body = JSON.parse(stringifyRaw(writeRequest(target, request)))
  if (oracle === undefined) return []
  const undeclared = oracle
    .calledTools(target, body)
    .filter((name: string) => !oracle.declaredTools(target, body).includes(name))
  return [...oracle.check(target, { model, ...body }), ...undeclared]
}
