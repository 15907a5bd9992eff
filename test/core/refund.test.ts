import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { WindowOptions } from '../../src/core/policy-options.js'
import { createLimiter } from '../../src/index.js'
import { modelOf } from '../support/models.js'
import { decide, type Model, remainingOf } from '../support/reference.js'
import {
  anyPolicy,
  anySteps,
  ask,
  costOf,
  gapOf,
  limiterOf,
  plain,
  play,
  policyNames,
  runs,
  smallPolicy,
  starts
} from '../support/traces.js'

interface Charged {
  readonly at: number
  readonly cost: number
}

const buckets = policyNames.filter((name) => /bucket|gcra/.test(name))
const traces = (name: string) =>
  fc.tuple(fc.oneof(smallPolicy(name), smallPolicy(name), anyPolicy[name]!), starts, anySteps)

const admittedOf = (...args: Parameters<typeof play>): Charged[] =>
  play(...args).filter(({ cost, expected }) => cost > 0 && expected.allowed)

/** What a key has if exactly these were charged, whether they would all have been admitted or not. */
function charged(policy: WindowOptions, log: readonly Charged[]): Model {
  const model = modelOf(policy)
  for (const { at, cost } of log) model.charge(cost, at)
  return model
}

/** True once nothing of a charge counts any more. */
function isOver(policy: WindowOptions, { at, cost }: Charged, now: number): boolean {
  const windowMs = policy.window as number
  const windows = Math.floor(now / windowMs) - Math.floor(at / windowMs)
  if (policy.strategy === undefined)
    return policy.align === 'first-request' ? now - at >= windowMs : windows >= 1
  if (policy.strategy === 'sliding-window') return windows >= 2
  if (policy.strategy === 'sliding-log') return now - at >= windowMs
  return BigInt(now - at) * BigInt(policy.limit) >= BigInt(cost) * BigInt(windowMs)
}

describe.each(policyNames)('%s', (name) => {
  it('answers as if a request refunded at once had never been', () => {
    fc.assert(
      fc.property(traces(name), fc.infiniteStream(fc.boolean()), ([policy, start, steps], coins) => {
        const limiter = limiterOf(policy)
        const model = modelOf(policy)
        let now = start
        let last = decide(model, 0, now)
        for (const step of steps) {
          now += gapOf(step, now, policy.window as number, last)
          const cost = costOf(step, last)
          last = decide(model, cost, now)
          expect(plain(ask(limiter.at(now), cost))).toEqual(last)
          if (cost === 0 || !last.allowed || coins.next().value !== true) continue
          limiter.refund('key', cost)
          model.undo()
          last = decide(model, 0, now)
          expect(plain(limiter.peek('key'))).toEqual(last)
        }
      }),
      runs(120)
    )
  })

  it('is never above full, however much is refunded', () => {
    fc.assert(
      fc.property(
        traces(name),
        fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }),
        ([policy, start, steps], n) => {
          const limiter = limiterOf(policy)
          for (const { at, cost } of play(policy, start, steps)) {
            const { remaining, limit } = ask(limiter.at(at), cost)
            limiter.refund('key', n)
            const after = limiter.peek('key')
            expect(after.remaining).toBeGreaterThanOrEqual(remaining)
            expect(after.remaining).toBeLessThanOrEqual(limit)
            if (after.remaining === limit) expect(after.resetMs).toBe(0)
          }
        }
      ),
      runs(60)
    )
  })

  it('ignores the refund of units that no longer count', () => {
    fc.assert(
      fc.property(traces(name), ([policy, start, steps]) => {
        const limiter = limiterOf(policy)
        const past: Charged[] = []
        for (const { at, cost, expected } of play(policy, start, steps)) {
          limiter.at(at)
          for (const charge of past.filter((one) => isOver(policy, one, at)))
            limiter.refund('key', charge.cost, charge.at)
          expect(plain(ask(limiter, cost))).toEqual(expected)
          if (cost > 0 && expected.allowed) past.push({ at, cost })
        }
      }),
      runs(80)
    )
  })

  it('takes a charge that is said to lie ahead as one of now', () => {
    fc.assert(
      fc.property(traces(name), fc.nat(10_000), ([policy, start, steps], ahead) => {
        const [one, other] = [limiterOf(policy), limiterOf(policy)]
        for (const { at, cost } of play(policy, start, steps)) {
          expect(plain(ask(one.at(at), cost))).toEqual(plain(ask(other.at(at), cost)))
          one.refund('key', 1)
          other.refund('key', 1, at + ahead)
        }
      }),
      runs(40)
    )
  })
})

describe.each(['fixed-window', 'sliding-window', 'sliding-log'])('%s', (name) => {
  it('has after a late refund what it would have without the charge', () => {
    fc.assert(
      fc.property(traces(name), fc.nat(), fc.nat(), ([policy, start, steps], pick, later) => {
        const log = admittedOf(policy, start, steps)
        if (log.length === 0) return
        const index = pick % log.length
        const { at, cost } = log[index]!
        const now = log.at(-1)!.at + (later % (2 * (policy.window as number)))
        const limiter = limiterOf(policy)
        for (const one of log) limiter.at(one.at).consume('key', one.cost)
        limiter.at(now).refund('key', cost, at)
        const expected = charged(policy, log.toSpliced(index, 1))
        expect(plain(limiter.peek('key'))).toEqual(decide(expected, 0, now))
      }),
      runs(150)
    )
  })
})

describe.each(buckets)('%s', (name) => {
  it('gives back no more than exact bookkeeping would, then and later', () => {
    fc.assert(
      fc.property(traces(name), anySteps, fc.nat(), ([policy, start, steps], more, pick) => {
        const log = admittedOf(policy, start, steps)
        if (log.length === 0) return
        const index = pick % log.length
        const { at, cost } = log[index]!
        const limiter = limiterOf(policy)
        for (const one of log) limiter.at(one.at).consume('key', one.cost)
        let now = log.at(-1)!.at + (pick % 5)
        const exact = charged(policy, log.toSpliced(index, 1))
        limiter.at(now).refund('key', cost, at)
        expect(limiter.peek('key').remaining).toBeLessThanOrEqual(remainingOf(exact, now))
        let last = decide(exact, 0, now)
        for (const step of more) {
          now += gapOf(step, now, policy.window as number, last)
          const units = costOf(step, last)
          const { allowed } = ask(limiter.at(now), units)
          if (allowed && units > 0) {
            expect(exact.admits(units, now), `${units} at ${now}`).toBe(true)
            exact.charge(units, now)
          }
          last = decide(exact, 0, now)
        }
      }),
      runs(120)
    )
  })
})

describe('a refund', () => {
  it('leaves other keys and unknown keys alone', () => {
    const limiter = limiterOf({ limit: 2, window: 300 }).at(9000)
    limiter.consume('other')
    limiter.refund('unknown', 5)
    expect(limiter.size()).toBe(1)
    expect(limiter.peek('other').remaining).toBe(1)
    expect(['a', 'a', 'a'].map(() => limiter.consume('unknown').allowed)).toEqual([true, true, false])
  })

  it('gives back in every tier', () => {
    const limits = [
      { limit: 2, window: 1000 },
      { limit: 3, window: 5000, strategy: 'token-bucket' }
    ]
    const limiter = createLimiter({ limits, now: () => 20_000 })
    limiter.consume('key', 2)
    limiter.refund('key', 2)
    expect(limiter.peek('key').tiers.map((tier) => tier.remaining)).toEqual([2, 3])
  })

  it.each(policyNames)('%s gives nothing back for a chargedAt that is no time', (name) => {
    const [policy] = fc.sample(smallPolicy(name), { numRuns: 1, seed: 1 })
    const limiter = limiterOf(policy!).at(50_000)
    const { remaining } = limiter.consume('key')
    try {
      limiter.refund('key', 1, Number.NaN)
    } catch {}
    expect(limiter.peek('key').remaining).toBe(remaining)
  })

  it('opens a new window for a key whose first request was refunded', () => {
    const limiter = limiterOf({ limit: 1, window: 1000, align: 'first-request' })
    limiter.at(5000).consume('key')
    limiter.refund('key')
    expect(limiter.at(5600).consume('key').resetMs).toBe(1000)
    expect(limiter.at(6100).consume('key').allowed).toBe(false)
  })
})
