import { describe, expect, it } from 'vitest'
import { createLimiter, type WindowOptions } from '../../src/index.js'
import { sharedStore } from '../../src/shared/index.js'

const T = 1_700_000_400_000

/** Two threads' limiters on clocks of their own. */
function pair(policy: WindowOptions) {
  const store = sharedStore({ maxKeys: 100 })
  const clocks = [T, T]
  const [a, b] = [store, sharedStore({ from: store.handle })].map((each, i) =>
    createLimiter({ ...policy, store: each, now: () => clocks[i]! })
  )
  return { a: a!, b: b!, clocks }
}

const policies: readonly WindowOptions[] = [
  { limit: 4, window: 10_000 },
  { limit: 4, window: 10_000, align: 'first-request' },
  { strategy: 'sliding-window', limit: 4, window: 10_000 },
  { strategy: 'sliding-log', limit: 4, window: 10_000 },
  { strategy: 'token-bucket', limit: 4, window: 10_000 },
  { strategy: 'gcra', limit: 4, window: 10_000 }
]

describe.each(policies)('threads whose clocks differ: %o', (policy) => {
  it('STO-18: gain nothing by it', () => {
    for (const aheadMs of [1, 999, 10_000, 3_600_000]) {
      const { a, b, clocks } = pair(policy)
      clocks[0]! += aheadMs
      const answers = [a, a, b, a, b, a, b, a].map((limiter) => limiter.consume('key').allowed)
      expect(answers, `${aheadMs}`).toEqual([true, true, true, true, false, false, false, false])
      const swapped = pair(policy)
      swapped.clocks[1]! += aheadMs
      const both = [swapped.a, swapped.b, swapped.a, swapped.b, swapped.a, swapped.b]
      const admitted = both.map((limiter) => limiter.consume('key', 2).allowed).filter((allowed) => allowed)
      // The first decision may be before the jump of a clock that is more than a window ahead.
      expect(admitted.length).toBeLessThanOrEqual(aheadMs >= 10_000 ? 3 : 2)
    }
  })

  it('get no time for free, however they take turns', () => {
    const { a, b, clocks } = pair(policy)
    clocks[0]! += 25_000
    let admitted = 0
    for (let ms = 0; ms < 50_000; ms += 50) {
      clocks[0]! += 50
      clocks[1]! += 50
      for (const limiter of [a, b]) if (limiter.consume('key').allowed) admitted++
    }
    expect(admitted).toBeLessThanOrEqual(4 * 5 + 4)
    expect(admitted).toBeGreaterThanOrEqual(4 * 4)
  })

  it('are locked out by one that was ahead and has ended for a window at most', () => {
    const { a, b, clocks } = pair(policy)
    clocks[0]! += 3_600_000
    a.consume('key', 4)
    const from = clocks[1]!
    while (!b.consume('key').allowed) clocks[1]! += 100
    expect(clocks[1]! - from).toBeLessThanOrEqual(20_100)
  })
})
