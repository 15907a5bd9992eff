import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { slidingLog } from '../../src/core/strategies/sliding-log.js'
import { createLimiter } from '../../src/index.js'
import { modelOf } from '../support/models.js'
import { remainingOf, resetOf } from '../support/reference.js'
import {
  anyPolicy,
  anySteps,
  ask,
  limiterOf,
  plain,
  play,
  policyNames,
  runs,
  smallPolicy,
  starts
} from '../support/traces.js'

const countDenied = true

/** What there is beside a log's own places after charges of more than its limit, so many ms apart; and what it says. */
function afterCharges(gap: number): [beside: number[], remaining: number] {
  const rule = { limit: 5, windowMs: 1000, capacity: 5 }
  const state = new Float64Array(64)
  const out = new Float64Array(4)
  for (const [i, cost] of [2, 10, 7, 1, 30, 1, 1, 1, 2, 1, 1].entries())
    slidingLog.charge(state, 16, rule, 5000 + i * gap, cost, out)
  return [[...state.slice(0, 16), ...state.slice(16 + slidingLog.slots(rule))], out[0]!]
}

const traces = (name: string) =>
  fc.tuple(fc.oneof(smallPolicy(name), smallPolicy(name), anyPolicy[name]!), starts, anySteps)

/** Where a window opens at a request that was denied, it also ends sooner: no answer-by-answer comparison there. */
const comparable = policyNames.filter((name) => name !== 'fixed-window from the first request')

describe.each(policyNames)('%s that counts denied requests', (name) => {
  it('admits nothing that the policy itself would not admit', () => {
    fc.assert(
      fc.property(traces(name), ([policy, start, steps]) => {
        const limiter = limiterOf(policy, { countDenied })
        const model = modelOf(policy)
        for (const { at, cost } of play(policy, start, steps)) {
          const decision = ask(limiter.at(at), cost)
          if (decision.allowed && cost > 0) {
            expect(model.admits(cost, at), `${cost} at ${at}`).toBe(true)
            model.charge(cost, at)
          }
          if (name !== 'fixed-window from the first request')
            expect(decision.remaining).toBeLessThanOrEqual(remainingOf(model, at))
        }
      }),
      runs(120)
    )
  })

  it('has nothing left after a denial', () => {
    fc.assert(
      fc.property(traces(name), ([policy, start, steps]) => {
        const limiter = limiterOf(policy, { countDenied })
        for (const { at, cost } of play(policy, start, steps)) {
          const { allowed, remaining } = ask(limiter.at(at), cost)
          if (!allowed) expect(remaining).toBe(0)
        }
      }),
      runs(80)
    )
  })

  it('waits exactly as long as it says', () => {
    fc.assert(
      fc.property(traces(name), ([policy, start, steps]) => {
        const trace = play(policy, start, steps)
        const after = (wait: number, count: number) => {
          const limiter = limiterOf(policy, { countDenied })
          for (const { at, cost } of trace.slice(0, count)) ask(limiter.at(at), cost)
          return limiter.at(trace[count - 1]!.at + wait)
        }
        trace.forEach(({ cost }, i) => {
          const before = i === 0 ? limiterOf(policy, { countDenied }) : after(0, i)
          const { allowed, limit, retryAfterMs: wait, resetMs } = ask(before.at(trace[i]!.at), cost)
          if (!allowed && cost > limit) expect(wait).toBe(Number.POSITIVE_INFINITY)
          else if (!allowed) {
            expect(ask(after(wait, i + 1), cost).allowed).toBe(true)
            expect(ask(after(wait - 1, i + 1), cost).allowed).toBe(false)
          }
          expect(after(resetMs, i + 1).peek('key').remaining).toBe(limit)
          if (resetMs > 0) expect(after(resetMs - 1, i + 1).peek('key').remaining).toBeLessThan(limit)
        })
      }),
      runs(25)
    )
  })

  it('never owes more than a full refill', () => {
    fc.assert(
      fc.property(traces(name), ([policy, start, steps]) => {
        const limiter = limiterOf(policy, { countDenied })
        for (const { at, cost } of play(policy, start, steps)) {
          const { limit, retryAfterMs, resetMs } = ask(limiter.at(at), cost)
          const model = modelOf(policy)
          model.charge(limit, at)
          const longest = name === 'sliding-window' ? 2 * (policy.window as number) : resetOf(model, at)
          if (Number.isFinite(retryAfterMs)) expect(retryAfterMs).toBeLessThanOrEqual(longest)
          expect(resetMs).toBeLessThanOrEqual(longest)
        }
      }),
      runs(60)
    )
  })
})

describe.each(comparable)('%s', (name) => {
  it('is never laxer when it counts denied requests', () => {
    fc.assert(
      fc.property(traces(name), ([policy, start, steps]) => {
        const strict = limiterOf(policy, { countDenied })
        const usual = limiterOf(policy)
        for (const { at, cost } of play(policy, start, steps)) {
          const [a, b] = [ask(strict.at(at), cost), ask(usual.at(at), cost)]
          if (a.allowed) expect(b.allowed).toBe(true)
          expect(a.remaining).toBeLessThanOrEqual(b.remaining)
          expect(a.resetMs).toBeGreaterThanOrEqual(b.resetMs)
        }
      }),
      runs(100)
    )
  })
})

describe('counting denied requests', () => {
  it('admits in several tiers nothing that all of them would not admit', () => {
    const tier = fc.constantFrom(...comparable).chain((name) => smallPolicy(name))
    fc.assert(
      fc.property(tier, tier, starts, anySteps, (one, other, start, steps) => {
        let now = start
        const limits = [
          { ...one, name: 'one' },
          { ...other, name: 'other' }
        ]
        const limiter = createLimiter({ limits, countDenied, now: () => now })
        const models = limits.map(modelOf)
        for (const { at, cost } of play(one, start, steps)) {
          now = at
          const { allowed, tiers } = ask(limiter, cost)
          tiers.forEach(({ remaining }, i) => {
            if (cost > 0 && !allowed) expect(remaining).toBeLessThanOrEqual(remainingOf(models[i]!, at))
          })
          if (!allowed || cost === 0) continue
          for (const model of models) {
            expect(model.admits(cost, at)).toBe(true)
            model.charge(cost, at)
          }
        }
      }),
      runs(100)
    )
  })

  it('never lets a log write beyond its own places, whatever the cost', () => {
    for (const gap of [0, 1, 30]) {
      const [beside, remaining] = afterCharges(gap)
      expect(beside.every((value) => value === 0)).toBe(true)
      expect(remaining).toBe(0)
    }
  })

  it('keeps a client out that never pauses', () => {
    for (const strategy of ['sliding-window', 'sliding-log', 'token-bucket', 'gcra', 'leaky-bucket']) {
      const limiter = limiterOf({ strategy, limit: 2, window: 4000 }, { countDenied })
      const admitted = Array.from(
        { length: 40 },
        (_, i) => limiter.at(80_000 + i * 999).consume('key').allowed
      )
      expect(admitted.lastIndexOf(true), strategy).toBeLessThan(2)
    }
  })

  it.each(policyNames)('%s is untouched by a cost that no key may ever take', (name) => {
    const [policy] = fc.sample(smallPolicy(name), { numRuns: 1, seed: 7 })
    const limiter = limiterOf(policy!, { countDenied }).at(70_000)
    const { limit } = limiter.peek('key')
    limiter.consume('key')
    const denied = limiter.consume('key', 1_000_000)
    expect(plain(denied)).toMatchObject({ allowed: false, limit, remaining: 0, retryAfterMs: Infinity })
    const longest = 2 * (policy!.window as number) * Math.ceil(limit / policy!.limit)
    expect(denied.resetMs).toBeLessThanOrEqual(longest)
    expect(plain(limiter.at(70_000 + denied.resetMs).peek('key'))).toMatchObject({ remaining: limit })
  })
})
