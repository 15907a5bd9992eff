import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { definePolicy } from '../../src/core/policy.js'
import type { WindowOptions } from '../../src/core/policy-options.js'

const rules: readonly (readonly [string, WindowOptions])[] = [
  ['token-bucket', { strategy: 'token-bucket', limit: 7, window: 100 }],
  ['token-bucket with burst', { strategy: 'token-bucket', limit: 3, window: 100, burst: 9 }],
  ['gcra', { strategy: 'gcra', limit: 7, window: 100 }],
  ['gcra with burst', { strategy: 'gcra', limit: 3, window: 100, burst: 9 }],
  ['leaky-bucket', { strategy: 'leaky-bucket', limit: 7, window: 100, burst: 5, delayAfter: 2 }]
]

const requests = fc.array(fc.record({ gap: fc.nat(60), cost: fc.integer({ min: 1, max: 6 }) }), {
  minLength: 1,
  maxLength: 30
})

describe.each(rules)('%s', (_, options) => {
  it('takes in one step what it checks and charges in two', () => {
    const policy = definePolicy(options)
    const { strategy, slots } = policy
    fc.assert(
      fc.property(requests, (asked) => {
        const [one, two] = [new Float64Array(slots), new Float64Array(slots)]
        const [outOfOne, outOfTwo] = [new Float64Array(4), new Float64Array(4)]
        let now = 1_700_000_000_000
        for (const { gap, cost } of asked) {
          now += gap
          const isTaken = strategy.take!(one, 0, policy, now, cost, outOfOne)
          const isAdmitted = strategy.check(two, 0, policy, now, cost, outOfTwo)
          if (isAdmitted) strategy.charge(two, 0, policy, now, cost, outOfTwo)
          expect([isTaken, one, outOfOne]).toEqual([isAdmitted, two, outOfTwo])
        }
      })
    )
  })
})
