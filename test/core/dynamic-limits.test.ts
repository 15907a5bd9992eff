import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decisionOf } from '../../src/core/decision.js'
import type { WindowOptions } from '../../src/core/policy-options.js'
import { memoryStore } from '../../src/index.js'
import { buildLimiter } from '../../src/limiter/options.js'
import { dynamic } from '../support/dynamic.js'
import { modelOf } from '../support/models.js'
import { decide } from '../support/reference.js'
import { plain, runs } from '../support/traces.js'

const windowed: readonly [string, Partial<WindowOptions>][] = [
  ['fixed-window', {}],
  ['fixed-window from the first request', { align: 'first-request' }],
  ['sliding-window', { strategy: 'sliding-window' }],
  ['sliding-log', { strategy: 'sliding-log' }]
]
const buckets: readonly [string, Partial<WindowOptions>][] = [
  ['token-bucket', { strategy: 'token-bucket' }],
  ['gcra', { strategy: 'gcra' }]
]

const asked = fc.record({
  gap: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 20 }), fc.integer({ min: 0, max: 150 })),
  key: fc.integer({ min: 1, max: 6 }),
  cost: fc.integer({ min: 1, max: 5 }),
  limit: fc.oneof(
    fc.integer({ min: 1, max: 9 }),
    fc.integer({ min: 1, max: 60 }),
    fc.constantFrom(0, Infinity)
  )
})
const journeys = fc.record({
  base: fc.integer({ min: 1, max: 10 }),
  window: fc.integer({ min: 1, max: 100 }),
  start: fc.constantFrom(0, 1, 1_700_000_000_000),
  requests: fc.array(asked, { minLength: 1, maxLength: 40 })
})

describe.each(windowed)('%s with a limit of each request', (_, extra) => {
  it('counts what was admitted before against the limit of now', () => {
    fc.assert(
      fc.property(journeys, ({ base, window, start, requests }) => {
        const policy = { ...extra, limit: base, window }
        const { take } = dynamic(policy)
        const models = new Map<number, ReturnType<typeof modelOf>>()
        let now = start
        for (const { gap, key, cost, limit } of requests) {
          now += gap
          const decision = take(now, key, cost, limit)
          if (limit === 0 || limit === Infinity) {
            expect(decision).toMatchObject({ allowed: limit > 0, limit, remaining: limit })
            continue
          }
          const model = models.get(key) ?? modelOf(policy)
          models.set(key, model)
          model.limit = limit
          expect(plain(decision), `${cost} of ${limit} by ${key} at ${now}`).toEqual(decide(model, cost, now))
        }
      }),
      runs(300)
    )
  })
})

describe.each(buckets)('%s with a limit of each request', (_, extra) => {
  it('admits nothing that the largest of the limits would not admit', () => {
    fc.assert(
      fc.property(journeys, ({ base, window, start, requests }) => {
        const limits = requests.map(({ limit }) => limit).filter(Number.isFinite)
        const policy = { ...extra, limit: base, window }
        const { take } = dynamic(policy)
        const models = new Map<number, ReturnType<typeof modelOf>>()
        let now = start
        for (const { gap, key, cost, limit } of requests) {
          now += gap
          const { allowed } = take(now, key, cost, limit)
          if (!allowed || limit === Infinity) continue
          const model = models.get(key) ?? modelOf({ ...policy, limit: Math.max(...limits) })
          models.set(key, model)
          expect(model.admits(cost, now), `${cost} of ${limit} by ${key} at ${now}`).toBe(true)
          model.charge(cost, now)
        }
      }),
      runs(300)
    )
  })

  it('waits exactly as long as it says, by the limit of the request', () => {
    fc.assert(
      fc.property(journeys, ({ base, window, start, requests }) => {
        const policy = { ...extra, limit: base, window }
        const after = (count: number, wait: number, of = requests[count - 1]!) => {
          const { take } = dynamic(policy)
          let now = start
          for (const { gap, key, cost, limit } of requests.slice(0, count)) {
            now += gap
            take(now, key, cost, limit)
          }
          return take(now + wait, of.key, of.cost, of.limit)
        }
        for (const [i, of] of requests.entries()) {
          const { allowed, retryAfterMs: wait, limit } = after(i, of.gap, of)
          if (allowed) continue
          if (Number.isFinite(wait)) {
            expect(after(i + 1, wait).allowed).toBe(true)
            expect(after(i + 1, wait - 1).allowed).toBe(false)
          } else expect(of.cost).toBeGreaterThan(limit)
        }
      }),
      runs(60)
    )
  })

  it('keeps a key of a low limit out whatever other keys do meanwhile', () => {
    const { take } = dynamic({ ...extra, limit: 1000, window: 60_000 })
    expect(take(10_000, 'slow', 1, 1).allowed).toBe(true)
    for (let i = 0; i < 500; i++) take(10_100, `other ${i}`, 1, undefined)
    expect(take(10_100, 'slow', 1, 1)).toMatchObject({ allowed: false, retryAfterMs: 59_900 })
  })

  it('keeps a key of a low limit out that the overflow judges', () => {
    const { take } = dynamic({ ...extra, limit: 1000, window: 60_000 }, { maxKeys: 1 })
    take(10_000, 'resident', 1000, undefined)
    expect(take(10_000, 'slow', 1, 1).allowed).toBe(true)
    expect(take(10_100, 'slow', 1, 1).allowed).toBe(false)
  })

  it('keeps keys of a low limit out that share the overflow with quick ones', () => {
    const { take } = dynamic({ ...extra, limit: 1000, window: 60_000 }, { maxKeys: 1 })
    take(10_000, 'resident', 1000, undefined)
    const slow = Array.from({ length: 20 }, (_, i) => `slow ${i}`)
    const used = slow.filter((key) => take(10_000, key, 5, 5).allowed)
    for (let key = 0; key < 100; key++) take(10_700, key, 1, undefined)
    expect(used.filter((key) => take(10_700, key, 5, 5).allowed)).toEqual([])
    expect(used.filter((key) => take(12_000, key, 1, 5).allowed)).toEqual([])
  })

  it('refunds no more than was charged under a low limit', () => {
    const { limiter, take, at } = dynamic({ ...extra, limit: 1000, window: 60_000 })
    expect(take(10_000, 'key', 2, 2).remaining).toBe(0)
    at(10_100)
    limiter.giveBack('key', 1, limiter.withLimits([2]), { at: 10_100 })
    expect(take(10_100, 'key', 1, 2)).toMatchObject({ allowed: true, remaining: 0 })
  })
})

describe('gcra', () => {
  it('keeps the time that is owed when the limit changes, where a token bucket keeps the units', () => {
    const [bucket, gcra] = ['token-bucket', 'gcra'].map((strategy) =>
      dynamic({ strategy, limit: 5, window: 60_000 })
    )
    expect(gcra!.take(10_000, 'key', 1, 1)).toMatchObject({ allowed: true, resetMs: 60_000 })
    expect(gcra!.take(10_000, 'key', 1, 1000)).toMatchObject({
      allowed: false,
      resetMs: 60_000,
      retryAfterMs: 60
    })
    expect(bucket!.take(10_000, 'key', 1, 1)).toMatchObject({ allowed: true, resetMs: 60_000 })
    expect(bucket!.take(10_000, 'key', 1, 1000)).toMatchObject({
      allowed: true,
      remaining: 998,
      resetMs: 120
    })
  })
})

describe('limits of which one needs more room for every key', () => {
  it('forget no key that owes under the limit to come', () => {
    let time = 0
    const tiers = [
      { name: 'bucket', strategy: 'token-bucket', limit: 1, window: 3, burst: 3 },
      { name: 'log', strategy: 'sliding-log', limit: 1, window: 1 }
    ]
    const limiter = buildLimiter({ limits: tiers, now: () => time }, memoryStore)
    const take = (limits: readonly unknown[]) =>
      decisionOf(limiter.take('key', 1, limiter.withLimits(limits)), true)
    take([8, undefined])
    time = 1
    // Of the unit that was charged a third has come back at the rate of the limit of now, and one more is charged.
    expect(take([undefined, 8]).tiers[0]).toMatchObject({ allowed: true, remaining: 1, resetMs: 5 })
  })
})

describe('a log that is empty again', () => {
  it('is as one that was never used, whatever limit it had', () => {
    const [used, fresh] = [0, 1].map(() => dynamic({ strategy: 'sliding-log', limit: 1, window: 10 }))
    used!.take(1000, 'key', 9, 9)
    for (const { limiter, take } of [used!, fresh!]) {
      take(2000, 'key', 2, 2)
      limiter.charge('key', 2, limiter.withLimits([2]))
    }
    expect(plain(used!.take(2000, 'key', 1, 9))).toEqual(plain(fresh!.take(2000, 'key', 1, 9)))
  })
})
