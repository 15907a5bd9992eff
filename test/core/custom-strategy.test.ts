import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createLimiter, defineStrategy, memoryStore, type Rule, type Strategy } from '../../src/index.js'
import { decide, type Model } from '../support/reference.js'
import { anySteps, ask, limiterOf, plain, play, runs, starts } from '../support/traces.js'
import { twoSpeedRules } from '../support/two-speed.js'

const twoSpeed = defineStrategy(twoSpeedRules)
const coded = (code: string, text = '') =>
  expect.objectContaining({ code, message: expect.stringContaining(text) })

/** The same bucket, paid back millisecond by millisecond. */
class TwoSpeed implements Model {
  readonly capacity: number
  #debt = 0n
  #at = 0
  #before: [bigint, number] = [0n, 0]

  constructor(
    public limit: number,
    private readonly windowMs: number
  ) {
    this.capacity = limit
  }

  admits(cost: number, at: number): boolean {
    return this.#debtAt(at) + BigInt(cost * this.windowMs) <= BigInt(this.capacity * this.windowMs)
  }

  charge(cost: number, at: number): void {
    this.#before = [this.#debt, this.#at]
    this.#debt = this.#debtAt(at) + BigInt(cost * this.windowMs)
    this.#at = at
  }

  undo(): void {
    ;[this.#debt, this.#at] = this.#before
  }

  #debtAt(at: number): bigint {
    const half = BigInt(Math.floor(this.capacity / 2) * this.windowMs)
    let debt = this.#debt
    for (let now = this.#at; now < at && debt > 0n; now++) {
      const slow = debt > half ? debt - half : 0n
      const rate = BigInt(this.limit)
      debt -= slow >= rate ? rate : slow + 2n * (rate - slow)
    }
    return debt > 0n ? debt : 0n
  }
}

const rules = fc.record({ limit: fc.integer({ min: 1, max: 8 }), window: fc.integer({ min: 1, max: 60 }) })

describe('a strategy of the user', () => {
  it.each<[string, string | Strategy]>([
    ['by its name', 'two-speed'],
    ['as an object', twoSpeed],
    ['as an object that was never defined', { ...twoSpeedRules, name: 'never defined' }]
  ])('works %s', (_, strategy) => {
    fc.assert(
      fc.property(rules, starts, anySteps, (rule, start, steps) => {
        const policy = { ...rule, strategy }
        const limiter = limiterOf(policy)
        for (const { at, cost, expected } of play(
          policy,
          start,
          steps,
          new TwoSpeed(rule.limit, rule.window)
        ))
          expect(plain(ask(limiter.at(at), cost)), `${cost} at ${at}`).toEqual(expected)
      }),
      runs(100)
    )
  })

  it('works as a tier beside others', () => {
    fc.assert(
      fc.property(rules, fc.integer({ min: 1, max: 8 }), starts, anySteps, (rule, limit, start, steps) => {
        let now = start
        const limits = [
          { ...rule, strategy: 'two-speed', name: 'own' },
          { limit, window: 50, name: 'log', strategy: 'sliding-log' }
        ]
        const limiter = createLimiter({ limits, now: () => now })
        const own = new TwoSpeed(rule.limit, rule.window)
        const log: { at: number; cost: number }[] = []
        for (const { at, cost } of play(limits[0]!, start, steps, new TwoSpeed(rule.limit, rule.window))) {
          now = at
          if (cost === 0) continue
          const used = log.reduce((sum, one) => sum + (one.at > at - 50 ? one.cost : 0), 0)
          const allowed = own.admits(cost, at) && used + cost <= limit
          const decision = limiter.consume('key', cost)
          expect(decision.allowed).toBe(allowed)
          if (!allowed) continue
          log.push({ at, cost })
          expect(plain(decision.tiers[0]!)).toEqual(decide(own, cost, at))
        }
      }),
      runs(60)
    )
  })

  it('may be an instance of a class', () => {
    class OneAtATime implements Strategy {
      readonly name = 'one-at-a-time'
      readonly #gapMs = 100
      slots() {
        return 1
      }
      check(state: Float64Array, at: number, _rule: Rule, now: number, _cost: number, out: Float64Array) {
        const wait = Math.max(0, state[at]! - now)
        out.set([wait > 0 ? 0 : 1, wait, wait])
        return wait === 0
      }
      charge(state: Float64Array, at: number, _rule: Rule, now: number, _cost: number, out: Float64Array) {
        state[at] = now + this.#gapMs
        out.set([0, 0, this.#gapMs])
      }
    }
    for (const strategy of [new OneAtATime(), defineStrategy(new OneAtATime()), 'one-at-a-time']) {
      const limiter = limiterOf({ strategy, limit: 1, window: 100 }).at(5000)
      expect(limiter.consume('key').allowed).toBe(true)
      expect(limiter.at(5040).consume('key')).toMatchObject({ allowed: false, retryAfterMs: 60 })
    }
  })

  it.each([-1, 1.5, Number.NaN, Infinity, '2', undefined])('is refused if it asks for %o slots', (slots) => {
    const strategy = { ...twoSpeedRules, slots: () => slots as number }
    expect(() => limiterOf({ strategy, limit: 1, window: 1000 })).toThrow(
      coded('HEADGATE_BAD_OPTION', 'slots')
    )
  })

  it('without a refund charges for good', () => {
    const limiter = limiterOf({ strategy: twoSpeed, limit: 3, window: 60_000 }).at(50_000)
    limiter.consume('key', 2)
    expect(() => limiter.refund('key', 2)).not.toThrow()
    expect(limiter.peek('key').remaining).toBe(1)
  })

  it('is bounded by the store, and never laxer for it', () => {
    fc.assert(
      fc.property(
        rules,
        fc.array(fc.tuple(fc.nat(20), fc.nat(30), fc.integer({ min: 1, max: 3 }))),
        (rule, hits) => {
          const limiter = limiterOf(
            { ...rule, strategy: 'two-speed' },
            { store: memoryStore({ maxKeys: 2 }) }
          )
          const models = new Map<number, TwoSpeed>()
          let now = 1_700_000_000_000
          for (const [gap, key, cost] of hits) {
            now += gap
            const model = models.get(key) ?? new TwoSpeed(rule.limit, rule.window)
            models.set(key, model)
            const { allowed } = limiter.at(now).consume(key, cost)
            expect(limiter.size()).toBeLessThanOrEqual(2)
            if (!allowed) continue
            expect(model.admits(cost, now)).toBe(true)
            model.charge(cost, now)
          }
        }
      ),
      runs(100)
    )
  })

  it('may count denied requests, block, and stand a clock that steps back', () => {
    const policy = { strategy: twoSpeed, limit: 2, window: 60_000 }
    const strict = limiterOf(policy, { countDenied: true }).at(100_000)
    expect(strict.consume('key').allowed).toBe(true)
    expect(strict.consume('key', 2)).toMatchObject({ allowed: false, remaining: 0 })
    const blocking = limiterOf(policy, { block: '10m' }).at(100_000)
    blocking.consume('key', 2)
    expect(blocking.consume('key').retryAfterMs).toBe(600_000)
    const stepping = limiterOf(policy).at(10_000_000)
    stepping.consume('key', 2)
    expect(stepping.at(5_000_000).consume('key')).toMatchObject({ allowed: false, retryAfterMs: 30_000 })
  })
})

describe('defineStrategy', () => {
  it('freezes what it gives', () => {
    expect(Object.isFrozen(twoSpeed)).toBe(true)
    expect(twoSpeed).toEqual(twoSpeedRules)
  })

  it.each(['two-speed', 'fixed-window', 'gcra', 'leaky-bucket'])('refuses the taken name %s', (name) => {
    expect(() => defineStrategy({ ...twoSpeedRules, name })).toThrow(coded('HEADGATE_STRATEGY_EXISTS', name))
  })

  it.each(['name', 'slots', 'check', 'charge'])('refuses a strategy without %s', (part) => {
    const { [part as 'name']: _, ...rest } = { ...twoSpeedRules, name: 'incomplete' }
    expect(() => defineStrategy(rest as Strategy)).toThrow(coded('HEADGATE_BAD_OPTION', part))
    expect(() => defineStrategy({ ...twoSpeedRules, name: 'odd', [part]: 5 } as Strategy)).toThrow(
      coded('HEADGATE_BAD_OPTION', part)
    )
  })

  it('refuses optional parts that are no functions', () => {
    for (const part of ['capacity', 'validate', 'aligned', 'refund'])
      expect(
        () => defineStrategy({ ...twoSpeedRules, name: `odd ${part}`, [part]: 5 } as Strategy),
        part
      ).toThrow(coded('HEADGATE_BAD_OPTION', part))
  })

  it('refuses unknown parts with the near name', () => {
    expect(() => defineStrategy({ ...twoSpeedRules, name: 'misspelt', refnd: () => 0 } as Strategy)).toThrow(
      coded('HEADGATE_UNKNOWN_OPTION', '`refund`')
    )
  })

  it('does not take the name of a strategy that it refused', () => {
    expect(() => defineStrategy({ ...twoSpeedRules, name: 'second try', charge: 5 } as never)).toThrow()
    expect(() => defineStrategy({ ...twoSpeedRules, name: 'second try' })).not.toThrow()
  })

  it('has its options checked against what the strategy accepts', () => {
    expect(() => limiterOf({ strategy: 'two-speed', limit: 1, window: 1000, burst: 5 })).toThrow(
      coded('HEADGATE_BAD_OPTION', 'two-speed')
    )
    const accepting = defineStrategy({
      ...twoSpeedRules,
      name: 'two-speed with burst',
      accepts: ['burst'],
      capacity: (rule) => rule.burst ?? rule.limit
    })
    expect(limiterOf({ strategy: accepting, limit: 1, window: 1000, burst: 5 }).peek('key').limit).toBe(5)
  })
})
