import { describe, expect, it } from 'vitest'
import { LowestLimits } from '../../src/core/lowest-limits.js'
import { definePolicy, withLimit } from '../../src/core/policy.js'

describe('the lowest limits', () => {
  const opened = [definePolicy({ limit: 5, window: 1000 }), definePolicy({ limit: 9, window: 9000 })]
  const under = (...limits: readonly number[]) => opened.map((policy, i) => withLimit(policy, limits[i]))

  it('are those that something was charged under, however high', () => {
    const lowest = new LowestLimits(opened)
    expect([lowest.limitOf(0), lowest.policies]).toEqual([Number.POSITIVE_INFINITY, opened])
    expect(lowest.see(under(50, 90))).toBe(true)
    expect([lowest.limitOf(0), lowest.limitOf(1)]).toEqual([50, 90])
  })

  it('only ever go down, each tier for itself', () => {
    const lowest = new LowestLimits(opened)
    lowest.see(under(50, 90))
    expect(lowest.see(under(60, 80))).toBe(true)
    expect(lowest.see(under(60, 80))).toBe(false)
    expect(lowest.policies.map(({ limit }) => limit)).toEqual([50, 80])
  })

  it('are not those under which nobody is charged', () => {
    const lowest = new LowestLimits(opened)
    expect(lowest.see(under(0, Number.POSITIVE_INFINITY))).toBe(false)
    expect(lowest.policies).toEqual(opened)
    expect(lowest.see(under(0, 3))).toBe(true)
    expect([lowest.limitOf(0), lowest.limitOf(1)]).toEqual([Number.POSITIVE_INFINITY, 3])
  })
})
