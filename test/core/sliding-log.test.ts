import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { definePolicy, withLimit } from '../../src/core/policy.js'
import { slidingLog } from '../../src/core/strategies/sliding-log.js'
import type { Rule } from '../../src/core/strategy.js'
import { createLimiter } from '../../src/index.js'
import { naming } from '../support/errors.js'
import { runs } from '../support/traces.js'
import { UnitLog } from '../support/unit-log.js'

const ruleOf = (limit: number, windowMs: number): Rule => ({ limit, windowMs, capacity: limit })
const largest = (windowMs: number) => Math.floor(2 ** 53 / windowMs) - 1

/** Rules, with another limit that some requests have. */
const rules = fc.oneof(
  fc.record({
    limit: fc.integer({ min: 1, max: 12 }),
    other: fc.integer({ min: 1, max: 12 }),
    windowMs: fc.integer({ min: 1, max: 50 })
  }),
  fc.record({
    limit: fc.integer({ min: 20, max: 100 }),
    other: fc.integer({ min: 1, max: 100 }),
    windowMs: fc.integer({ min: 20, max: 100 })
  }),
  fc.constantFrom(1, 2, 7, 1000, 60_000).map((windowMs) => {
    const limit = Math.min(largest(windowMs), 2 ** 52)
    return { limit, other: Math.ceil(limit / 3), windowMs }
  })
)

const steps = fc.array(
  fc.record({
    kind: fc.constantFrom('take', 'take', 'take', 'charge', 'refund', 'look'),
    gap: fc.oneof(
      fc.constantFrom(0, 1, 2, 3),
      fc.integer({ min: 0, max: 12 }),
      fc.integer({ min: 0, max: 2 ** 20 })
    ),
    part: fc.double({ min: 0, max: 1, noNaN: true }),
    ago: fc.nat(60),
    isOther: fc.boolean()
  }),
  { maxLength: 90 }
)

const margin = 3
const growth = slidingLog.growth!

/** A log in the middle of other numbers. */
function held(rule: Rule) {
  const slots = slidingLog.slots(rule)
  return new Float64Array(Math.min(slots, 4096) + 2 * margin)
}

describe('a sliding log', () => {
  it('is what its definition says, whatever is charged, taken back, and however its limit varies', () => {
    fc.assert(
      fc.property(
        rules,
        fc.constantFrom(0, 1, 1_700_000_000_000),
        steps,
        ({ limit, other, windowMs }, start, journey) => {
          const state = held(ruleOf(Math.max(limit, other), windowMs))
          const log = new UnitLog(windowMs)
          const out = new Float64Array(4)
          let now = start
          for (const { kind, gap, part, ago, isOther } of journey) {
            const rule = ruleOf(isOther ? other : limit, windowMs)
            now += gap <= 12 ? gap : gap % (2 * windowMs)
            const cost = Math.max(1, Math.round(part ** 3 * rule.limit))
            const expected = log.check(rule.limit, now, cost)
            const allowed = slidingLog.check(state, margin, rule, now, cost, out)
            expect([...out.slice(0, 3)]).toEqual(expected)
            expect(allowed).toBe(expected[1] === 0)
            if (kind === 'refund') {
              log.refund(now, cost, now - ago)
              slidingLog.refund!(state, margin, rule, now, cost, now - ago)
            } else if (kind === 'charge' || (kind === 'take' && allowed)) {
              log.charge(rule.limit, now, cost)
              if (kind === 'take') expect(slidingLog.take!(state, margin, rule, now, cost, out)).toBe(true)
              else slidingLog.charge(state, margin, rule, now, cost, out)
              const [remaining, , resetMs] = log.check(rule.limit, now, 1)
              expect([out[0], out[2]]).toEqual([remaining, resetMs])
            }
            // What is not needed may be anything.
            const needs = growth.needs(state, margin, ruleOf(Math.max(limit, other), windowMs))
            state.fill(-7, margin + needs, state.length - margin)
            expect([...state.slice(0, margin), ...state.slice(-margin)]).toEqual(Array(2 * margin).fill(0))
          }
        }
      ),
      runs(2000)
    )
  })

  it('takes one step for a charge, whatever it costs', () => {
    const rule = ruleOf(1e12, 1000)
    const state = held(rule)
    const out = new Float64Array(4)
    for (let i = 0; i < 10; i++) slidingLog.charge(state, 0, rule, 5000, 1e11, out)
    expect(out[0]).toBe(0)
    expect(growth.needs(state, 0, rule)).toBeLessThanOrEqual(8)
    expect(slidingLog.check(state, 0, rule, 5999, 1, out)).toBe(false)
    expect(slidingLog.check(state, 0, rule, 6000, 1e12, out)).toBe(true)
  })

  it('needs as little again once most of it has left the window', () => {
    const rule = ruleOf(1000, 1000)
    const state = held(rule)
    const out = new Float64Array(4)
    for (let i = 0; i < 1000; i++) slidingLog.charge(state, 0, rule, 10_000 + i, 1, out)
    expect(growth.needs(state, 0, rule)).toBeGreaterThan(1000)
    for (let i = 0; i < 40; i++) slidingLog.charge(state, 0, rule, 11_000 + 100 * i, 1, out)
    expect(growth.needs(state, 0, rule)).toBeLessThanOrEqual(64)
    expect([out[0], out[2]]).toEqual([990, 1000])
  })

  it('is never laxer for having been thinned, and never denies for longer than a window', () => {
    const draw = fc.record({
      gap: fc.integer({ min: 0, max: 60 }),
      cost: fc.integer({ min: 1, max: 5 }),
      room: fc.constantFrom(0, 0, 7, 8, 16, 30)
    })
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 200 }), fc.array(draw, { maxLength: 80 }), (limit, draws) => {
        const rule = ruleOf(limit, 1000)
        const state = held(rule)
        const log = new UnitLog(1000)
        const out = new Float64Array(4)
        let now = 1_700_000_000_000
        for (const { gap, cost, room } of draws) {
          now += gap
          const [remaining, wait] = log.check(limit, now, Math.min(limit, cost))
          const allowed = slidingLog.check(state, margin, rule, now, Math.min(limit, cost), out)
          expect(out[0]).toBeLessThanOrEqual(remaining!)
          expect(out[1]).toBeGreaterThanOrEqual(wait!)
          expect(out[2]).toBeLessThanOrEqual(1000)
          if (!allowed) continue
          log.charge(limit, now, Math.min(limit, cost))
          slidingLog.charge(state, margin, rule, now, Math.min(limit, cost), out)
          const least = growth.needs(new Float64Array(8), 0, rule)
          if (room < least || room > slidingLog.slots(rule)) continue
          growth.thin(state, margin, rule, room)
          expect(growth.needs(state, margin, rule)).toBeLessThanOrEqual(room)
        }
      }),
      runs(300)
    )
  })

  it('gives back what was charged long ago: as many units, none of which is counted for less long', () => {
    const rule = ruleOf(20_000, 20_000)
    const state = held(rule)
    const big = new Float64Array(slidingLog.slots(rule))
    big.set(state.subarray(0, 16))
    const out = new Float64Array(4)
    for (let i = 0; i < 3000; i++) slidingLog.charge(big, 0, rule, 100_000 + i, 2, out)
    slidingLog.refund!(big, 0, rule, 103_000, 3, 100_500)
    slidingLog.check(big, 0, rule, 103_000, 1, out)
    expect(out[0]).toBe(20_000 - 6000 + 3)
    for (const [after, live] of [
      [20_000, 5997],
      [20_001, 5996],
      [20_500, 4998],
      [22_999, 0]
    ] as const) {
      slidingLog.check(big, 0, rule, 100_000 + after, 1, out)
      expect(20_000 - out[0]!).toBeGreaterThanOrEqual(live - 3)
      expect(20_000 - out[0]!).toBeLessThanOrEqual(live)
    }
  })

  it('is refused where it cannot count exactly, or may become too long, with what to take', () => {
    const of = (limit: number, window: number | string) => () =>
      createLimiter({ strategy: 'sliding-log', limit, window } as never)
    expect(of(largest(60_000) + 1, '1m')).toThrow(
      naming('HEADGATE_BAD_OPTION', '`limit`', "'sliding-log'", "'fixed-window'")
    )
    expect(of(largest(60_000), '1m')).not.toThrow()
    expect(of(2 ** 20, '1h')).not.toThrow()
    expect(of(2 ** 20 + 1, '1h')).toThrow(naming('HEADGATE_BAD_OPTION', '`limit`', "'gcra'"))
    const policy = definePolicy({ strategy: 'sliding-log', limit: 1, window: '1h' })
    expect(() => withLimit(policy, 2 ** 20 + 1)).toThrow(
      naming('HEADGATE_BAD_LIMIT', '`limit`', "'sliding-log'")
    )
  })
})
