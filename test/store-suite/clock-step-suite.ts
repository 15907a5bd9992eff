import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { WindowOptions } from '../../src/core/policy-options.js'
import { buildLimiter } from '../../src/limiter/options.js'
import { modelOf } from '../support/models.js'
import { resetOf } from '../support/reference.js'
import { policyNames, runs, smallPolicy } from '../support/traces.js'
import { twoSpeedRules } from '../support/two-speed.js'
import { clockedStore, limiterIn, type MakeStore } from './clocked-store.js'
import { admitted, inTurn } from './suite/limiter-on.js'

/** An instant in the middle of windows, so that a step back by one stays clear of the epoch. */
const start = 1_700_000_040_123

interface Move {
  readonly by: number
  readonly cost: number
}

const moves = (windowMs: number): fc.Arbitrary<Move[]> =>
  fc.array(
    fc.record({
      by: fc.oneof(
        fc.integer({ min: 0, max: windowMs }),
        fc.constant(0),
        fc.integer({ min: -windowMs, max: 0 }),
        fc.integer({ min: -50 * windowMs, max: -windowMs - 1 })
      ),
      cost: fc.integer({ min: 1, max: 4 })
    }),
    { minLength: 2, maxLength: 20 }
  )

const journeys = (name: string) =>
  smallPolicy(name).chain((policy) =>
    fc.record({ policy: fc.constant(policy), steps: moves(policy.window as number) })
  )

/** The longest wait that the policy gives on a clock that never steps. */
function longestWait(policy: WindowOptions): number {
  if (policy.strategy === 'sliding-window') return 2 * (policy.window as number)
  const model = modelOf(policy)
  model.charge(model.capacity, 0)
  return resetOf(model, 0)
}

/** What holds on a clock that steps back, whether a store keeps the time for all its keys or for each. */
export function clockStepSuite(name: string, makeStore: MakeStore): void {
  function on(policy: WindowOptions | object) {
    const store = clockedStore(makeStore, start)
    const limiter = limiterIn(store, policy as never)
    return { limiter, clock: store.clock }
  }

  describe.each(policyNames)(`${name}: %s on a clock that steps back`, (policyName) => {
    it('gives no quota back', async () => {
      await fc.assert(
        fc.asyncProperty(journeys(policyName), async ({ policy, steps }) => {
          const { limiter, clock } = on(policy)
          let left = Number.POSITIVE_INFINITY
          for (const { by, cost } of steps) {
            clock.time += by
            if (by < 0) expect((await limiter.peek('key')).remaining).toBeLessThanOrEqual(left)
            left = (await limiter.consume('key', cost)).remaining
          }
        }),
        runs(25)
      )
    })

    it('locks nobody out for more than a window beyond the usual wait', async () => {
      await fc.assert(
        fc.asyncProperty(journeys(policyName), async ({ policy, steps }) => {
          const { limiter, clock } = on(policy)
          const most = longestWait(policy) + (policy.window as number)
          for (const { by, cost } of steps) {
            clock.time += by
            const { retryAfterMs, resetMs } = await limiter.consume('key', cost)
            if (Number.isFinite(retryAfterMs)) expect(retryAfterMs).toBeLessThanOrEqual(most)
            expect(resetMs).toBeLessThanOrEqual(most)
          }
        }),
        runs(25)
      )
    })

    it('admits after the wait that it gave, though it was asked meanwhile', async () => {
      await fc.assert(
        fc.asyncProperty(journeys(policyName), async ({ policy, steps }) => {
          const { limiter, clock } = on(policy)
          for (const { by, cost } of steps) {
            clock.time += by
            await limiter.consume('key', cost)
          }
          const { allowed, retryAfterMs } = await limiter.consume('key', 1)
          if (allowed) return
          const end = clock.time + retryAfterMs
          // Whoever is denied is noted nowhere; that the clock has stepped is.
          for (; clock.time < end; clock.time += Math.max(1, Math.floor(retryAfterMs / 3)))
            expect((await limiter.consume('key', 1)).allowed, `${end - clock.time} ms early`).toBe(false)
          clock.time = end
          expect((await limiter.consume('key', 1)).allowed).toBe(true)
        }),
        runs(25)
      )
    })

    it('WIN-15: recovers from an hour back, spent or not', async () => {
      const [sample] = fc.sample(smallPolicy(policyName), { numRuns: 1, seed: 3 })
      const burst = sample!.strategy === 'leaky-bucket' ? 4 : 5
      const policy = {
        ...sample!,
        limit: 5,
        window: 60_000,
        ...(sample!.burst === undefined ? {} : { burst })
      }
      for (const spent of [1, 5]) {
        const { limiter, clock } = on(policy)
        await limiter.consume('key', spent)
        clock.time -= 3_600_000
        const back = clock.time
        const decisions = await inTurn([1, 2, 3, 4, 5], async () => limiter.consume('key'))
        expect(admitted(decisions)).toEqual([...Array(5 - spent).fill(200), ...Array(spent).fill(429)])
        const { retryAfterMs } = decisions[4]!
        expect(retryAfterMs).toBeGreaterThanOrEqual(1)
        expect(retryAfterMs).toBeLessThanOrEqual(policyName === 'sliding-window' ? 72_000 : 60_000)
        clock.time = back + retryAfterMs
        expect((await limiter.consume('key')).allowed).toBe(true)
        clock.time = back + retryAfterMs + 180_000
        expect((await limiter.peek('key')).remaining).toBe(5)
      }
    })
  })

  describe(`${name}: a clock that steps back`, () => {
    const strategies: readonly [string, object][] = [
      ['by a built-in strategy', { strategy: 'gcra' }],
      ['by a strategy of the user', { strategy: twoSpeedRules }]
    ]

    const windows = [1000, 86_400_000]

    it.each(
      strategies.flatMap(([how, strategy]) => windows.map((window) => [how, window, strategy] as const))
    )('neither ends nor lengthens a block: %s, %i ms', async (_, window, strategy) => {
      const { limiter, clock } = on({ ...strategy, limit: 5, window })
      await limiter.block('key', 10_000)
      clock.time -= 3_600_000
      expect((await limiter.consume('key')).retryAfterMs).toBe(10_000)
      clock.time += 9_999
      expect((await limiter.consume('key')).retryAfterMs).toBe(1)
      clock.time += 1
      expect((await limiter.consume('key')).allowed).toBe(true)
    })

    it.each(strategies)(
      'keeps nobody out who was asked about or denied meanwhile: %s',
      async (_, strategy) => {
        const { limiter, clock } = on({ ...strategy, limit: 5, window: 1000 })
        await limiter.consume('key', 5)
        clock.time -= 3_600_000
        await limiter.peek('key')
        clock.time += 100
        const { allowed, retryAfterMs } = await limiter.consume('key')
        expect([allowed, retryAfterMs]).toEqual([false, 100])
        clock.time += 100
        expect((await limiter.consume('key')).allowed).toBe(true)
      }
    )

    it('is noted for each tier by its own window', async () => {
      const limits = [
        { name: 'short', limit: 1, window: 1000 },
        { name: 'long', strategy: 'sliding-log', limit: 2, window: 7_200_000 }
      ]
      const store = clockedStore(makeStore, start)
      const limiter = buildLimiter({ limits, store: store.store } as never, () => store.store as never)
      await limiter.consume('key')
      store.clock.time -= 3_600_000
      // For the long tier an hour is a small step: time stands still.
      expect((await limiter.consume('key')).allowed).toBe(false)
      store.clock.time += 1000
      expect((await limiter.consume('key')).allowed).toBe(true)
      store.clock.time += 1000
      const { retryAfterMs } = await limiter.consume('key')
      expect(retryAfterMs).toBe(7_200_000 + 3_600_000 - 2000)
    })
  })
}
