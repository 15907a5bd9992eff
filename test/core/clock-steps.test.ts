import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { WindowOptions } from '../../src/core/policy-options.js'
import { createLimiter } from '../../src/index.js'
import { modelOf } from '../support/models.js'
import { resetOf } from '../support/reference.js'
import { ask, limiterOf, policyNames, runs, smallPolicy } from '../support/traces.js'

interface Move {
  readonly at: number
  readonly cost: number
}

interface Drawn {
  readonly kind: 'on' | 'stay' | 'little' | 'window' | 'far'
  readonly n: number
  readonly cost: number
}

const move: fc.Arbitrary<Drawn> = fc.record({
  kind: fc.constantFrom('on', 'on', 'stay', 'little', 'window', 'far'),
  n: fc.nat(1_000_000),
  cost: fc.integer({ min: 1, max: 4 })
})

/** Clock readings that go on, and now and then step back. */
const journey = (windowMs: number, start: number, moves: readonly Drawn[]): Move[] => {
  let at = start
  return moves.map(({ kind, n, cost }, i) => {
    const by = {
      on: n % (2 * windowMs),
      stay: 0,
      little: -(n % (windowMs + 1)),
      window: -windowMs - (n % 3) + 1,
      far: -windowMs * (2 + (n % 50)) - (n % windowMs)
    }
    if (i > 0) at += by[kind]
    return { at, cost }
  })
}

const today = [1_700_000_000_000, 1_700_000_000_001]

const journeys = (name: string, starts = [0, 1, ...today]) =>
  fc
    .tuple(smallPolicy(name), fc.constantFrom(...starts), fc.array(move, { minLength: 2, maxLength: 25 }))
    .map(([policy, start, moves]) => ({ policy, moves: journey(policy.window as number, start, moves) }))

/** The longest wait that the policy gives on a clock that never steps. */
function longestWait(policy: WindowOptions): number {
  if (policy.strategy === 'sliding-window') return 2 * (policy.window as number)
  const model = modelOf(policy)
  model.charge(model.capacity, 0)
  return resetOf(model, 0)
}

/** The most units that a policy admits in a window's length on a clock that never steps. */
function mostInAWindow(policy: WindowOptions): number {
  const { strategy, limit } = policy
  const windowMs = policy.window as number
  if (strategy === undefined) return 2 * limit
  if (strategy === 'sliding-log') return limit
  if (strategy === 'sliding-window') return limit + Math.floor((limit * Math.max(0, windowMs - 2)) / windowMs)
  return modelOf(policy).capacity + Math.floor((limit * (windowMs - 1)) / windowMs)
}

describe.each(policyNames)('%s on a clock that steps back', (name) => {
  it.each([
    ['today', today],
    ['near the epoch', [0, 1]]
  ])('gives no quota back at a step %s', (_, starts) => {
    fc.assert(
      fc.property(journeys(name, starts), ({ policy, moves }) => {
        const limiter = limiterOf(policy)
        let last = Number.NEGATIVE_INFINITY
        let left = 0
        for (const { at, cost } of moves) {
          if (at < last) expect(limiter.at(at).peek('key').remaining).toBeLessThanOrEqual(left)
          left = limiter.at(at).consume('key', cost).remaining
          last = at
        }
      }),
      runs(200)
    )
  })

  it('waits exactly as long as it says', () => {
    fc.assert(
      fc.property(journeys(name), ({ policy, moves }) => {
        const after = (count: number) => {
          const limiter = limiterOf(policy)
          for (const { at, cost } of moves.slice(0, count)) limiter.at(at).consume('key', cost)
          return limiter
        }
        moves.forEach(({ at, cost }, i) => {
          const { allowed, retryAfterMs: wait, resetMs, limit } = after(i).at(at).consume('key', cost)
          if (!allowed && Number.isFinite(wait)) {
            expect(ask(after(i + 1).at(at + wait), cost).allowed).toBe(true)
            expect(ask(after(i + 1).at(at + wait - 1), cost).allowed).toBe(false)
          }
          expect(
            after(i + 1)
              .at(at + resetMs)
              .peek('key').remaining
          ).toBe(limit)
          if (resetMs > 0)
            expect(
              after(i + 1)
                .at(at + resetMs - 1)
                .peek('key').remaining
            ).toBeLessThan(limit)
        })
      }),
      runs(60)
    )
  })

  it('locks nobody out for more than a window beyond the usual wait', () => {
    fc.assert(
      fc.property(journeys(name), ({ policy, moves }) => {
        const limiter = limiterOf(policy)
        const windowMs = policy.window as number
        const longest = longestWait(policy)
        let latest = Number.NEGATIVE_INFINITY
        for (const { at, cost } of moves) {
          const step = latest - at
          const { retryAfterMs, resetMs } = limiter.at(at).consume('key', cost)
          const most = step > windowMs ? longest : longest + Math.max(0, step)
          if (Number.isFinite(retryAfterMs)) expect(retryAfterMs).toBeLessThanOrEqual(most)
          expect(resetMs).toBeLessThanOrEqual(most)
          latest = step > windowMs ? at : Math.max(latest, at)
        }
      }),
      runs(150)
    )
  })

  it('admits no more than usual in the time that really passed, and a window of the clock more a step', () => {
    fc.assert(
      fc.property(journeys(name), ({ policy, moves }) => {
        const limiter = limiterOf(policy)
        const windowMs = policy.window as number
        const log: Move[] = []
        let passed = 0
        let steps = 0
        moves.forEach(({ at, cost }, i) => {
          const by = i === 0 ? 0 : at - moves[i - 1]!.at
          if (by < 0) steps++
          passed += Math.max(0, by)
          if (limiter.at(at).consume('key', cost).allowed) log.push({ at: passed, cost })
        })
        const most = mostInAWindow(policy) + (name === 'fixed-window' ? steps * policy.limit : 0)
        for (const { at: from } of log) {
          const units = log.filter(({ at }) => at >= from && at < from + windowMs)
          expect(units.reduce((total, { cost }) => total + cost, 0)).toBeLessThanOrEqual(most)
        }
      }),
      runs(150)
    )
  })

  it('WIN-15: after an hour back admits the rest, then recovers within the usual wait', () => {
    for (const start of [0, 1, 1_700_000_040_000, 1_700_000_097_123]) {
      const policy = {
        ...fc.sample(smallPolicy(name), { numRuns: 1, seed: 3 })[0]!,
        limit: 5,
        window: 60_000
      }
      if (policy.burst !== undefined) policy.burst = policy.strategy === 'leaky-bucket' ? 4 : 5
      const limiter = limiterOf(policy)
      limiter.at(start).consume('key')
      const back = start - 3_600_000
      const answers = Array.from({ length: 5 }, () => limiter.at(back).consume('key'))
      expect(answers.map(({ allowed }) => allowed)).toEqual([true, true, true, true, false])
      const { retryAfterMs } = answers[4]!
      expect(retryAfterMs).toBeGreaterThanOrEqual(1)
      expect(retryAfterMs).toBeLessThanOrEqual(name === 'sliding-window' ? 72_000 : 60_000)
      expect(limiter.at(back + retryAfterMs).peek('key').allowed).toBe(true)
      expect(limiter.at(back + 120_000).peek('key').remaining).toBe(5)
    }
  })
})

/** Those that know no windows: their steady time never runs faster than the clock. */
const windowless = policyNames.filter((name) => !name.includes('-window'))

describe.each(windowless)('%s', (name) => {
  it('admits on any clock only what its definition admits in the time that really passed', () => {
    fc.assert(
      fc.property(journeys(name), ({ policy, moves }) => {
        const limiter = limiterOf(policy)
        const model = modelOf(policy)
        let passed = 1_000_000
        moves.forEach(({ at, cost }, i) => {
          if (i > 0) passed += Math.max(0, at - moves[i - 1]!.at)
          if (!limiter.at(at).consume('key', cost).allowed) return
          expect(model.admits(cost, passed)).toBe(true)
          model.charge(cost, passed)
        })
      }),
      runs(200)
    )
  })
})

describe('several limits on a clock that steps back', () => {
  const tier = fc.constantFrom(...policyNames).chain((name) => smallPolicy(name))
  const moves = fc.array(move, { minLength: 2, maxLength: 20 })

  it('wait exactly as long as they say, each by its own window', () => {
    fc.assert(
      fc.property(tier, tier, fc.integer({ min: 1, max: 60 }), moves, (one, other, windowMs, drawn) => {
        const limits = [
          { ...one, name: 'one' },
          { ...other, name: 'other' }
        ]
        const steps = journey(windowMs, 1_700_000_000_000, drawn)
        const after = (count: number) => {
          let now = 0
          const limiter = createLimiter({ limits, now: () => now })
          const consume = (at: number, cost: number) => {
            now = at
            return limiter.consume('key', cost)
          }
          for (const { at, cost } of steps.slice(0, count)) consume(at, cost)
          return consume
        }
        for (const [i, { at, cost }] of steps.entries()) {
          const { allowed, retryAfterMs: wait } = after(i)(at, cost)
          if (allowed || !Number.isFinite(wait)) continue
          expect(after(i + 1)(at + wait, cost).allowed).toBe(true)
          expect(after(i + 1)(at + wait - 1, cost).allowed).toBe(false)
        }
      }),
      runs(80)
    )
  })
})
