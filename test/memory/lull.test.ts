import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createLimiter, memoryStore } from '../../src/index.js'
import { policyNames, runs, smallPolicy } from '../support/traces.js'

const step = fc.record({
  what: fc.constantFrom('come', 'come', 'come', 'come', 'return', 'refund', 'reset'),
  gap: fc.oneof(fc.constant(0), fc.constant(0), fc.integer({ min: -80, max: 80 }), fc.nat(3)),
  cost: fc.integer({ min: 1, max: 3 }),
  n: fc.nat(1000)
})
const tiers = fc
  .array(fc.constantFrom(...policyNames).chain(smallPolicy), { minLength: 1, maxLength: 3 })
  .map((policies) => policies.map((policy, i) => ({ ...policy, name: `tier-${i}` })))

describe('a full table', () => {
  it('gives a newcomer room as soon as any of its keys owes nothing', () => {
    // Few enough for a newcomer to look at all of them, unless it is known that none has ended.
    const sizes = fc.constantFrom(1, 2, 5, 20)
    fc.assert(
      fc.property(tiers, sizes, fc.array(step, { maxLength: 150 }), (limits, maxKeys, steps) => {
        let now = 1_700_000_400_000
        const limiter = createLimiter({ limits, store: memoryStore({ maxKeys }), now: () => now })
        const known: string[] = []
        for (const [i, { what, gap, cost, n }] of steps.entries()) {
          now += gap
          const old = known[n % known.length] ?? 'nobody'
          if (what === 'refund') limiter.refund(old, cost)
          else if (what === 'reset') limiter.reset(old)
          else if (what === 'return') limiter.consume(old, cost)
          else {
            const owing = limiter.size()
            known.push(`${i}`)
            const { allowed } = limiter.consume(`${i}`, cost)
            expect(limiter.size()).toBe(allowed ? Math.min(maxKeys, owing + 1) : owing)
          }
        }
      }),
      runs(2000)
    )
  })

  it('knows of a newcomer that it owes for less long than all the others', () => {
    const maxKeys = 20
    let now = 1_700_000_400_000
    const limiter = createLimiter({
      strategy: 'gcra',
      limit: 10,
      window: 100_000,
      store: memoryStore({ maxKeys }),
      now: () => now
    })
    for (let key = 1; key < maxKeys; key++) limiter.consume(`resident ${key}`, 10)
    for (let key = 0; key < 9; key++) {
      limiter.consume(`short ${key}`)
      expect(limiter.size()).toBe(maxKeys)
      limiter.consume('without room')
      now += 10_000
      expect(limiter.size()).toBe(maxKeys - 1)
    }
  })
})
