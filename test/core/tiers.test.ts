import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { WindowOptions } from '../../src/core/policy-options.js'
import { createLimiter, type Decision } from '../../src/index.js'
import { modelOf } from '../support/models.js'
import { decide, type Expected, type Model } from '../support/reference.js'
import {
  anySteps,
  costOf,
  gapOf,
  plain,
  policyNames,
  runs,
  type Step,
  smallPolicy,
  starts
} from '../support/traces.js'

const tier = fc.constantFrom(...policyNames).chain((name) => smallPolicy(name))
const anyTiers = fc
  .array(tier, { minLength: 2, maxLength: 4 })
  .map((tiers) => tiers.map((policy, i) => ({ ...policy, name: `tier-${i}` })))

function tiersOn(limits: readonly WindowOptions[]) {
  let time = 0
  const limiter = createLimiter({ limits, now: () => time })
  const ask = (at: number, cost: number) => {
    time = at
    return cost === 0 ? limiter.peek('key') : limiter.consume('key', cost)
  }
  return { ask }
}

/** Each tier's own answer after a decision that charges all of them or none. */
function jointly(models: readonly Model[], cost: number, at: number): { allowed: boolean; each: Expected[] } {
  const allowed = models.every((model) => model.admits(cost || 1, at))
  const each = models.map((model) => {
    const own = decide(model, cost, at)
    if (allowed || cost === 0 || !own.allowed) return own
    model.undo()
    const kept = { ...decide(model, 0, at), allowed: true, retryAfterMs: 0 }
    return own.delayMs === undefined ? kept : { ...kept, delayMs: 0 }
  })
  return { allowed, each }
}

/**
 * Rule H10: lowest remaining; ties: denied first, then the longest wait, then the order of configuration. The
 * wait is what a header names (H8): of a tier that denied its Retry-After, of another its reset.
 */
function reported(each: readonly Expected[]): number {
  const wait = (own: Expected) => (own.allowed ? own.resetMs : own.retryAfterMs)
  const order = each.map((_, i) => i)
  order.sort((i, j) => {
    const a = each[i]!
    const b = each[j]!
    if (a.remaining !== b.remaining) return a.remaining - b.remaining
    if (a.allowed !== b.allowed) return a.allowed ? 1 : -1
    return wait(a) === wait(b) ? i - j : wait(b) - wait(a)
  })
  return order[0]!
}

interface Asked {
  readonly at: number
  readonly cost: number
  readonly allowed: boolean
  readonly each: readonly Expected[]
}

/** A trace aimed now at one tier, now at another. */
function playTiers(tiers: readonly WindowOptions[], start: number, steps: readonly Step[]): Asked[] {
  const models = tiers.map(modelOf)
  let now = start
  let last = jointly(models, 0, now)
  return steps.map((step) => {
    const aim = step.n % tiers.length
    now += gapOf(step, now, tiers[aim]!.window as number, last.each[aim]!)
    const cost = costOf(step, last.each[aim]!)
    last = jointly(models, cost, now)
    return { at: now, cost, ...last }
  })
}

const joined = ({ allowed, each }: Asked) => {
  const shown = each[reported(each)]!
  return {
    allowed,
    limit: shown.limit,
    remaining: shown.remaining,
    resetMs: shown.resetMs,
    retryAfterMs: Math.max(...each.map((own) => own.retryAfterMs))
  }
}

const own = ({ allowed, limit, remaining, retryAfterMs, resetMs }: Decision) => ({
  allowed,
  limit,
  remaining,
  retryAfterMs,
  resetMs
})

describe('several limits', () => {
  it('answer as independent models that charge all or none', () => {
    fc.assert(
      fc.property(anyTiers, starts, anySteps, (tiers, start, steps) => {
        const { ask } = tiersOn(tiers)
        for (const asked of playTiers(tiers, start, steps)) {
          const decision = ask(asked.at, asked.cost)
          expect(decision.tiers.map(plain), `${asked.cost} at ${asked.at}`).toEqual(asked.each)
          expect(own(decision)).toEqual(joined(asked))
        }
      }),
      runs(300)
    )
  })

  it('report the tier with the least remaining, by the order of rule H10', () => {
    fc.assert(
      fc.property(anyTiers, starts, anySteps, (tiers, start, steps) => {
        const { ask } = tiersOn(tiers)
        for (const asked of playTiers(tiers, start, steps))
          expect(ask(asked.at, asked.cost).policy.name).toBe(`tier-${reported(asked.each)}`)
      }),
      runs(150)
    )
  })

  it('decide the same in any order', () => {
    fc.assert(
      fc.property(anyTiers, starts, anySteps, (tiers, start, steps) => {
        const one = tiersOn(tiers)
        const other = tiersOn(tiers.toReversed())
        for (const { at, cost } of playTiers(tiers, start, steps)) {
          const decision = other.ask(at, cost)
          const expected = one.ask(at, cost)
          expect(decision.tiers.toReversed().map(plain)).toEqual(expected.tiers.map(plain))
          expect([decision.allowed, decision.remaining, decision.retryAfterMs]).toEqual([
            expected.allowed,
            expected.remaining,
            expected.retryAfterMs
          ])
        }
      }),
      runs(100)
    )
  })

  it('admit the same request after exactly the longest wait, and not a millisecond before', () => {
    fc.assert(
      fc.property(anyTiers, starts, anySteps, (tiers, start, steps) => {
        const trace = playTiers(tiers, start, steps)
        const after = (wait: number, cost: number, i: number) => {
          const { ask } = tiersOn(tiers)
          for (const past of trace.slice(0, i + 1)) ask(past.at, past.cost)
          return ask(trace[i]!.at + wait, cost).allowed
        }
        const { ask } = tiersOn(tiers)
        for (const [i, { at, cost }] of trace.entries()) {
          const { allowed, retryAfterMs: wait, tiers: each } = ask(at, cost)
          const least = Math.min(...each.map((tier) => tier.limit))
          expect(wait === 0).toBe(allowed)
          expect(wait === Number.POSITIVE_INFINITY).toBe(Math.max(cost, 1) > least)
          if (allowed || !Number.isFinite(wait)) continue
          expect(after(wait, cost, i)).toBe(true)
          expect(after(wait - 1, cost, i)).toBe(false)
        }
      }),
      runs(60)
    )
  })

  it('admit as much as remaining says, and no more', () => {
    fc.assert(
      fc.property(anyTiers, starts, anySteps, (tiers, start, steps) => {
        const trace = playTiers(tiers, start, steps)
        const { at } = trace.at(-1)!
        const replayed = () => {
          const { ask } = tiersOn(tiers)
          for (const past of trace) ask(past.at, past.cost)
          return ask
        }
        const { remaining } = replayed()(at, 0)
        if (remaining > 0) expect(replayed()(at, remaining).allowed).toBe(true)
        expect(replayed()(at, remaining + 1).allowed).toBe(false)
      }),
      runs(80)
    )
  })

  it('add up the longest delay of those that hold requests back', () => {
    let time = 0
    const shaped = { strategy: 'leaky-bucket', window: 1000, burst: 9 }
    const limiter = createLimiter({
      limits: [
        { ...shaped, limit: 1, name: 'slow' },
        { ...shaped, limit: 4, name: 'quick' },
        { limit: 3, window: 10_000, name: 'plain' }
      ],
      now: () => time
    })
    time = 10_000
    expect(limiter.consume('key').delayMs).toBe(0)
    expect(limiter.consume('key').delayMs).toBe(1000)
    expect(limiter.consume('key')).toMatchObject({ allowed: true, remaining: 0, delayMs: 2000 })
    const denied = limiter.consume('key')
    expect(denied).toMatchObject({ allowed: false, delayMs: 0, retryAfterMs: 10_000 })
    expect(denied.policy.name).toBe('plain')
    expect(limiter.peek('key').delayMs).toBeUndefined()
  })

  it('have names of their own where none is given', () => {
    const { policies } = createLimiter({
      limits: [
        { limit: 10, window: '1s' },
        { limit: 1000, window: '1h' },
        { limit: 3, window: 1500 }
      ]
    })
    expect(policies.map((policy) => policy.name)).toEqual(['10-per-1s', '1000-per-1h', '3-per-1500ms'])
  })

  it('keep the policy of a decision out of its own properties', () => {
    const now = () => 0
    const one = createLimiter({ limit: 1, window: 1000, now }).consume('key')
    const several = createLimiter({
      limits: [
        { limit: 1, window: 1000 },
        { limit: 2, window: 2000 }
      ],
      now
    })
    expect(Object.keys(one)).not.toContain('policy')
    expect(Object.keys(several.consume('key'))).not.toContain('policy')
  })
})
