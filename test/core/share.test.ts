import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { definePolicy, withShare } from '../../src/core/policy.js'
import { anyPolicy, policyNames, runs } from '../support/traces.js'

describe('a share of a policy', () => {
  it.each(policyNames)(
    'of %s: N of them admit no more than the whole, unless that is less than N',
    (name) => {
      fc.assert(
        fc.property(anyPolicy[name]!, fc.integer({ min: 1, max: 64 }), (options, processes) => {
          const whole = definePolicy(options)
          const part = withShare(whole, 1 / processes)
          expect(part.limit * processes).toBeLessThanOrEqual(Math.max(whole.limit, processes))
          expect(part.capacity * processes).toBeLessThanOrEqual(Math.max(whole.capacity, processes))
          expect([part.name, part.windowMs, part.strategy]).toEqual([
            whole.name,
            whole.windowMs,
            whole.strategy
          ])
        }),
        runs(200)
      )
    }
  )
})
