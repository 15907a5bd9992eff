import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { modelOf } from '../support/models.js'
import { waitOf } from '../support/reference.js'
import {
  anyPolicy,
  anySteps,
  ask,
  limiterOf,
  plain,
  play,
  policyNames,
  replay,
  runs,
  smallPolicy,
  starts
} from '../support/traces.js'

describe.each(policyNames)('%s', (name) => {
  const policies = fc.oneof(anyPolicy[name]!, smallPolicy(name))
  const traces = fc.tuple(policies, starts, anySteps)

  it('answers each step as its definition does', () => {
    fc.assert(
      fc.property(traces, ([policy, start, steps]) => {
        const limiter = limiterOf(policy)
        for (const { at, cost, expected } of play(policy, start, steps))
          expect(plain(ask(limiter.at(at), cost)), `${cost} at ${at}`).toEqual(expected)
      }),
      runs(250)
    )
  })

  it('admits the same request after exactly retryAfterMs, and not a millisecond before', () => {
    fc.assert(
      fc.property(traces, ([policy, start, steps]) => {
        const trace = play(policy, start, steps)
        for (const [i, { at, cost }] of trace.entries()) {
          const decision = ask(replay(policy, trace.slice(0, i)).at(at), cost)
          const { allowed, retryAfterMs: wait, limit } = decision
          expect(wait === 0).toBe(allowed)
          expect(wait === Number.POSITIVE_INFINITY).toBe(Math.max(cost, 1) > limit)
          if (allowed || !Number.isFinite(wait)) continue
          expect(Number.isSafeInteger(wait) && wait >= 1).toBe(true)
          const past = trace.slice(0, i + 1)
          expect(ask(replay(policy, past).at(at + wait), cost).allowed).toBe(true)
          expect(ask(replay(policy, past).at(at + wait - 1), cost).allowed).toBe(false)
        }
      }),
      runs(40)
    )
  })

  it('is full after exactly resetMs, and not a millisecond before', () => {
    fc.assert(
      fc.property(traces, ([policy, start, steps]) => {
        const trace = play(policy, start, steps)
        const limiter = replay(policy, trace)
        const { at } = trace.at(-1)!
        const { resetMs, limit } = limiter.peek('key')
        if (resetMs > 0) expect(limiter.at(at + resetMs - 1).peek('key').remaining).toBeLessThan(limit)
        expect(limiter.at(at + resetMs).peek('key')).toMatchObject({ remaining: limit, resetMs: 0 })
      }),
      runs(80)
    )
  })

  it('admits as much as remaining says, and no more', () => {
    fc.assert(
      fc.property(traces, ([policy, start, steps]) => {
        const trace = play(policy, start, steps)
        const { at } = trace.at(-1)!
        const { remaining } = replay(policy, trace).at(at).peek('key')
        if (remaining > 0) expect(ask(replay(policy, trace), remaining).allowed).toBe(true)
        if (remaining < Number.MAX_SAFE_INTEGER)
          expect(ask(replay(policy, trace), remaining + 1).allowed).toBe(false)
      }),
      runs(80)
    )
  })

  it('answers as if denied requests and looks had never been', () => {
    fc.assert(
      fc.property(traces, ([policy, start, steps]) => {
        const limiter = limiterOf(policy)
        for (const { at, cost, expected } of play(policy, start, steps))
          if (expected.allowed && cost > 0) expect(plain(ask(limiter.at(at), cost))).toEqual(expected)
      }),
      runs(80)
    )
  })

  it('treats a key as new once resetMs has passed', () => {
    fc.assert(
      fc.property(traces, anySteps, fc.nat(3), ([policy, start, steps], more, late) => {
        const trace = play(policy, start, steps)
        const limiter = replay(policy, trace)
        const { at } = trace.at(-1)!
        const then = at + limiter.peek('key').resetMs + late
        for (const next of play(policy, then, more))
          expect(plain(ask(limiter.at(next.at), next.cost))).toEqual(next.expected)
      }),
      runs(80)
    )
  })
})

describe('the reference', () => {
  it.each(policyNames)('%s waits as long as a search millisecond by millisecond finds', (name) => {
    fc.assert(
      fc.property(smallPolicy(name), starts, anySteps, (policy, start, steps) => {
        const model = modelOf(policy)
        const { at } = play(policy, start, steps, model).at(-1)!
        for (let cost = 1; cost <= model.capacity; cost++) {
          let wait = 0
          while (!model.admits(cost, at + wait)) wait++
          expect(waitOf(model, cost, at)).toBe(wait)
        }
      }),
      runs(20)
    )
  })
})
