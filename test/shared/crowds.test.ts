import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { sharedStore } from '../../src/shared/index.js'
import { modelOf } from '../support/models.js'
import { type Model, remainingOf, waitOf } from '../support/reference.js'
import { limiterOf, plain, policyNames, runs, smallPolicy } from '../support/traces.js'
import { alternating } from './support/alternating.js'

const T = 1_700_000_400_000
const request = fc.record({
  gap: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 3 }), fc.integer({ min: 0, max: 80 })),
  key: fc.nat(400),
  cost: fc.integer({ min: 1, max: 4 })
})
const crowds = fc.record({
  maxKeys: fc.constantFrom(1, 2, 8),
  keys: fc.constantFrom(2, 16, 401),
  requests: fc.array(request, { minLength: 1, maxLength: 200 })
})

describe.each(policyNames)('%s with more keys than a shared store keeps', (name) => {
  it('gives no key more than a store without a bound would', () => {
    fc.assert(
      fc.property(smallPolicy(name), crowds, (policy, { maxKeys, keys, requests }) => {
        const limiter = limiterOf(policy, { store: alternating(sharedStore({ maxKeys, maxBytes: 2 ** 25 })) })
        const models = new Map<number, Model>()
        let now = T
        for (const { gap, key: drawn, cost } of requests) {
          now += gap
          const key = drawn % keys
          const model = models.get(key) ?? modelOf(policy)
          models.set(key, model)
          const { allowed, remaining, retryAfterMs } = limiter.at(now).consume(key, cost)
          if (!allowed) expect(retryAfterMs).toBeGreaterThanOrEqual(waitOf(model, cost, now))
          if (allowed) {
            expect(model.admits(cost, now), `${cost} of ${key} at ${now}`).toBe(true)
            model.charge(cost, now)
          }
          expect(remaining).toBeLessThanOrEqual(remainingOf(model, now))
          expect(limiter.size()).toBeLessThanOrEqual(maxKeys)
        }
      }),
      runs(40)
    )
  })

  it('is exact as long as they fit', () => {
    fc.assert(
      fc.property(smallPolicy(name), crowds, (policy, { maxKeys, requests }) => {
        const limiter = limiterOf(policy, { store: sharedStore({ maxKeys, maxBytes: 2 ** 25 }) })
        const exact = limiterOf(policy)
        let now = T
        for (const { gap, key, cost } of requests) {
          now += gap
          const one = key % maxKeys
          expect(plain(limiter.at(now).consume(one, cost))).toEqual(plain(exact.at(now).consume(one, cost)))
        }
      }),
      runs(20)
    )
  })
})

describe('a full shared store', () => {
  it('never forgets a key that owes', () => {
    const limiter = limiterOf({ limit: 3, window: '1h' }, { store: sharedStore({ maxKeys: 2 }) }).at(T)
    const keys = ['a', 'b', 'c', 'd']
    for (const key of keys) limiter.consume(key, 3)
    for (let i = 0; i < 3000; i++) limiter.consume(`flood ${i}`)
    for (const key of keys) expect(limiter.consume(key).allowed, key).toBe(false)
    expect(limiter.size()).toBe(2)
  })

  it('denies others falsely no more often than their buckets are shared', () => {
    const maxKeys = 1024
    const limiter = limiterOf({ limit: 1, window: '1h' }, { store: sharedStore({ maxKeys }) }).at(T)
    for (let key = 0; key < maxKeys; key++) limiter.consume(`resident ${key}`)
    const crowd = 256
    let denied = 0
    for (let key = 0; key < crowd; key++) if (!limiter.consume(`crowd ${key}`).allowed) denied++
    // Each meets one of those before it with a chance of at most crowd / buckets, a half of it on the average: 32.
    expect(denied).toBeLessThan(64)
    expect(denied).toBeGreaterThan(8)
  })

  it('MEM-01: gives the room of expired keys to others, and drains by itself', () => {
    const limiter = limiterOf({ limit: 1, window: 200 }, { store: sharedStore({ maxKeys: 20_001 }) })
    for (let key = 0; key < 20_000; key++) limiter.at(T).consume(`first ${key}`)
    expect(limiter.size()).toBe(20_000)
    limiter.at(T + 1000).consume('unrelated')
    expect(limiter.size()).toBe(1)
    const hits = (prefix: string) =>
      Array.from({ length: 20_000 }, (_, key) => limiter.consume(`${prefix} ${key}`).allowed)
    expect(hits('second').every((allowed) => allowed)).toBe(true)
    expect(limiter.size()).toBe(20_001)
    expect(hits('second').some((allowed) => allowed)).toBe(false)
    hits('third')
    limiter.at(T + 2000)
    expect(hits('fourth').every((allowed) => allowed)).toBe(true)
  })

  it('MEM-07: stays in its bound', () => {
    const maxKeys = 10_000
    const limiter = limiterOf({ limit: 5, window: '1h' }, { store: sharedStore({ maxKeys }) }).at(T)
    const heap = process.memoryUsage().heapUsed
    for (let key = 0; key < 200_000; key++) limiter.consume(`client ${key}`)
    expect(limiter.size()).toBe(maxKeys)
    expect(limiter.consume('client 0').remaining).toBe(3)
    expect(process.memoryUsage().heapUsed - heap).toBeLessThan(64 * 2 ** 20)
  })
})
