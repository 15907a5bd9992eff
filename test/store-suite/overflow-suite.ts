import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { WindowOptions } from '../../src/core/policy-options.js'
import { createLimiter, type Store } from '../../src/index.js'
import { modelOf } from '../support/models.js'
import { decide, type Model, remainingOf, waitOf } from '../support/reference.js'
import { limiterOf, plain, policyNames, runs, smallPolicy } from '../support/traces.js'

/** Gives an empty store that keeps so many keys, each time. */
export type StoreOf = (maxKeys: number) => Store

const T = 1_700_000_400_000

/** A request of one of many keys, some time after the one before it. */
export const request = fc.record({
  gap: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 3 }), fc.integer({ min: 0, max: 80 })),
  key: fc.nat(400),
  cost: fc.integer({ min: 1, max: 4 })
})
const crowds = fc.record({
  start: fc.constantFrom(0, 1, 1_700_000_000_000),
  maxKeys: fc.constantFrom(1, 2, 8, 100),
  keys: fc.constantFrom(2, 4, 16, 41, 401),
  requests: fc.oneof(
    fc.array(request, { minLength: 1, maxLength: 120 }),
    fc.array(request, { minLength: 1, maxLength: 200 })
  )
})

/** The cases of more keys than a store in the process keeps, whatever judges those that have no room. */
export function crowdSuite(name: string, storeOf: StoreOf, numRuns: number): void {
  describe.each(policyNames)(`${name}, with more keys than it keeps: %s`, (policyName) =>
    strategyCases(policyName, storeOf, numRuns)
  )
  describe(`${name}: keys without room`, () => crowdCases(storeOf))
}

/** The same on a clock that steps back, for whoever sees every reading of it. */
export function crowdStepSuite(name: string, storeOf: StoreOf, numRuns: number): void {
  const names = policyNames.filter((policyName) => !policyName.includes('-window'))
  describe.each(names)(`${name}, with more keys than it keeps: %s`, (policyName) => {
    it('is never laxer on a clock that steps back', () => {
      const step = fc.tuple(request, fc.oneof(fc.constant(0), fc.constant(0), fc.nat(200)))
      fc.assert(
        fc.property(smallPolicy(policyName), fc.array(step, { maxLength: 80 }), (policy, steps) => {
          const limiter = limiterOf(policy, { store: storeOf(1) })
          const of = unbounded(policy)
          let now = T
          let passed = T
          for (const [{ gap, key, cost }, back] of steps) {
            now += gap - back
            passed += Math.max(0, gap - back)
            if (!limiter.at(now).consume(key % 16, cost).allowed) continue
            expect(of(key % 16).admits(cost, passed)).toBe(true)
            of(key % 16).charge(cost, passed)
          }
        }),
        runs(numRuns)
      )
    })
  })
}

/** Models of as many keys as there are, without a bound. */
function unbounded(policy: WindowOptions) {
  const models = new Map<number, Model>()
  return (key: number) => {
    const model = models.get(key) ?? modelOf(policy)
    models.set(key, model)
    return model
  }
}

function strategyCases(name: string, storeOf: StoreOf, numRuns: number): void {
  it('gives no key more than a store without a bound would', () => {
    fc.assert(
      fc.property(smallPolicy(name), crowds, (policy, { start, maxKeys, keys, requests }) => {
        const limiter = limiterOf(policy, { store: storeOf(maxKeys) })
        const of = unbounded(policy)
        let now = start
        for (const { gap, key: drawn, cost } of requests) {
          now += gap
          const key = drawn % keys
          const model = of(key)
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
      runs(numRuns)
    )
  })

  it('is exact as long as the keys fit', () => {
    fc.assert(
      fc.property(smallPolicy(name), crowds, (policy, { start, maxKeys, keys, requests }) => {
        const limiter = limiterOf(policy, { store: storeOf(maxKeys) })
        const exact = limiterOf(policy)
        let now = start
        for (const { gap, key, cost } of requests) {
          now += gap
          const one = key % Math.min(keys, maxKeys)
          expect(plain(limiter.at(now).consume(one, cost))).toEqual(plain(exact.at(now).consume(one, cost)))
        }
      }),
      runs(Math.ceil(numRuns / 2))
    )
  })

  it('never forgets a key that owes, whatever comes', () => {
    const [sample] = fc.sample(smallPolicy(name), { numRuns: 1, seed: 11 })
    const policy = { ...sample!, window: 60_000 }
    const limiter = limiterOf(policy, { store: storeOf(2) }).at(T)
    const { limit } = limiter.peek('a')
    const keys = ['a', 'b', 'c', 'd']
    for (const key of keys) limiter.consume(key, limit)
    for (let i = 0; i < 3000; i++) limiter.consume(`flood ${i}`)
    for (const key of keys) expect(limiter.consume(key).allowed, key).toBe(false)
    expect(limiter.size()).toBe(2)
  })
}

/** What becomes of keys that a full store judges together. */
function crowdCases(storeOf: StoreOf): void {
  it('are exact again once what they owe together has ended', () => {
    const limiter = limiterOf({ limit: 3, window: 1000 }, { store: storeOf(4) })
    for (let key = 0; key < 500; key++) limiter.at(T).consume(key, 3)
    expect(limiter.size()).toBe(4)
    for (let key = 1000; key < 1004; key++)
      expect(limiter.at(T + 1000).consume(key)).toMatchObject({ allowed: true, remaining: 2 })
  })

  it('are denied in every tier or in none', () => {
    let now = T
    const limits = [
      { limit: 2, window: 1000, name: 'short' },
      { limit: 3, window: 60_000, name: 'long', strategy: 'gcra' }
    ]
    const limiter = createLimiter({ limits, store: storeOf(1), now: () => now })
    limiter.consume('resident')
    const crowd = limiter.consume('crowd', 2)
    expect(crowd).toMatchObject({ allowed: true, remaining: 0 })
    expect(limiter.consume('crowd').tiers.map(({ remaining }) => remaining)).toEqual([0, 1])
    now = T + 1000
    expect(limiter.consume('crowd')).toMatchObject({ allowed: true, remaining: 0 })
    now = T + 2000
    expect(limiter.consume('crowd')).toMatchObject({ allowed: false, retryAfterMs: 18_000 })
  })

  it('are not let go early by tiers whose clocks a step back set apart', () => {
    let now = T
    const limits = [
      { limit: 5, window: 1000, name: 'short' },
      { limit: 5, window: 3_600_000, name: 'long', strategy: 'sliding-log' }
    ]
    const limiter = createLimiter({ limits, store: storeOf(1), now: () => now })
    limiter.consume('resident', 5)
    limiter.consume('crowd', 5)
    now -= 1_800_000
    expect(limiter.consume('crowd').allowed).toBe(false)
    now += 3_600_000
    expect(limiter.consume('crowd').allowed).toBe(false)
    now += 1_800_000
    expect(limiter.consume('crowd').allowed).toBe(true)
  })

  it('do not keep a key out that had room and is reset', () => {
    const limiter = limiterOf({ limit: 2, window: 60_000 }, { store: storeOf(1) }).at(T)
    limiter.consume('kept', 2)
    for (let key = 0; key < 1000; key++) limiter.consume(key, 2)
    expect(limiter.consume('kept').allowed).toBe(false)
    limiter.reset('kept')
    expect(limiter.consume('kept')).toMatchObject({ allowed: true, remaining: 1 })
  })

  it('are judged in a batch as a key of its own would be', () => {
    const limiter = limiterOf({ limit: 10, window: 60_000 }, { store: storeOf(1) }).at(T)
    limiter.consume('resident')
    expect([4, 4, 4, 2].map((cost) => limiter.consume('crowd', cost).remaining)).toEqual([6, 2, 2, 0])
  })

  it('end no window of one another (align: first-request)', () => {
    const limiter = limiterOf({ limit: 1000, window: 1000, align: 'first-request' }, { store: storeOf(1) })
    for (let key = 0; key < 2000; key++) limiter.at(T).consume(key)
    expect(limiter.at(T + 900).consume('late', 700).allowed).toBe(true)
    expect(limiter.at(T + 1000).consume('late', 700).allowed).toBe(false)
    expect(limiter.at(T + 1899).consume('late', 700).allowed).toBe(false)
    expect(limiter.at(T + 1900).consume('late', 700).allowed).toBe(true)
  })

  it('have windows of their own again where they find room (align: first-request)', () => {
    const limiter = limiterOf({ limit: 3, window: 1000, align: 'first-request' }, { store: storeOf(1) })
    limiter.at(T).consume('resident')
    expect(limiter.at(T).consume('late').allowed).toBe(true)
    expect(limiter.at(T + 20).consume('late').allowed).toBe(true)
    expect(limiter.at(T + 1000).consume('late').allowed).toBe(true)
    expect(limiter.at(T + 1020).consume('late', 3).allowed).toBe(false)
    expect(limiter.at(T + 2000).consume('late', 3).allowed).toBe(true)
  })
}

/** How a store in the process, in one thread, keeps to its number of keys and uses all of it. */
export function boundSuite(name: string, storeOf: StoreOf): void {
  describe(`${name}, with more keys than it keeps`, () => boundCases(storeOf))
}

function boundCases(storeOf: StoreOf): void {
  it('MEM-01: gives the room of expired keys to others, without traffic for them, and drains by itself', () => {
    const limiter = limiterOf({ limit: 1, window: 200 }, { store: storeOf(20_001) })
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
    const held = () => process.memoryUsage().heapUsed + process.memoryUsage().arrayBuffers
    const before = held()
    const limiter = limiterOf({ limit: 5, window: '1h' }, { store: storeOf(maxKeys) }).at(T)
    for (let key = 0; key < 200_000; key++) limiter.consume(`client ${key}`)
    expect(limiter.size()).toBe(maxKeys)
    expect(limiter.consume('client 0').remaining).toBe(3)
    expect(held() - before).toBeLessThan(64 * 2 ** 20)
  })

  it.each([1, 2])('MEM-10: repeated keys never throw at capacity %i, and kept keys are exact', (maxKeys) => {
    const policy = { limit: 7, window: 60_000 }
    const limiter = limiterOf(policy, { store: storeOf(maxKeys) })
    const random = lottery()
    const models: Record<string, Model> = {}
    const kept = ['a', 'b'].slice(0, maxKeys)
    const keys = ['a', 'a', 'b', 'c', 'a', 'c', 'b']
    for (let hit = 0; hit < 1000; hit++) {
      const key = keys[hit] ?? ['a', 'b', 'c', 'd'][Math.floor(random.next().value! * 4)]!
      models[key] ??= modelOf(policy)
      const decision = limiter.at(T + hit).consume(key)
      const expected = decide(models[key], 1, T + hit)
      if (kept.includes(key)) expect(plain(decision)).toEqual(expected)
      else if (decision.allowed) expect(expected.allowed).toBe(true)
      expect(limiter.size()).toBeLessThanOrEqual(maxKeys)
    }
  })
}

/** Numbers that look random and are the same each time. */
function* lottery(seed = 1) {
  let state = seed
  for (;;) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    yield state / 2 ** 32
  }
}
