import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { answerSize } from '../../src/core/decision.js'
import { createLimiter, memoryStore } from '../../src/index.js'
import { modelOf } from '../support/models.js'
import { type Model, remainingOf, waitOf } from '../support/reference.js'
import { limiterOf, plain, policyNames, runs, smallPolicy } from '../support/traces.js'

const request = fc.record({
  gap: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 3 }), fc.integer({ min: 0, max: 80 })),
  key: fc.nat(40),
  cost: fc.integer({ min: 1, max: 4 })
})
const crowds = fc.record({
  start: fc.constantFrom(0, 1, 1_700_000_000_000),
  maxKeys: fc.constantFrom(1, 2, 8, 100),
  keys: fc.constantFrom(2, 4, 16, 41),
  requests: fc.array(request, { minLength: 1, maxLength: 120 })
})

const T = 1_700_000_400_000

/** The strategies whose buckets can cover one another. */
const boundedNames = ['fixed-window', 'sliding-window', 'token-bucket', 'gcra', 'leaky-bucket'] as const

/** Models of as many keys as there are, without a bound. */
function unbounded(policy: Parameters<typeof modelOf>[0]) {
  const models = new Map<number, Model>()
  return (key: number) => {
    const model = models.get(key) ?? modelOf(policy)
    models.set(key, model)
    return model
  }
}

describe.each(policyNames)('%s with more keys than the store keeps', (name) => {
  it('gives no key more than a store without a bound would', () => {
    fc.assert(
      fc.property(smallPolicy(name), crowds, (policy, { start, maxKeys, keys, requests }) => {
        const limiter = limiterOf(policy, { store: memoryStore({ maxKeys }) })
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
      runs(200)
    )
  })

  it('is exact as long as the keys fit', () => {
    fc.assert(
      fc.property(smallPolicy(name), crowds, (policy, { start, maxKeys, keys, requests }) => {
        const limiter = limiterOf(policy, { store: memoryStore({ maxKeys }) })
        const exact = limiterOf(policy)
        let now = start
        for (const { gap, key, cost } of requests) {
          now += gap
          const one = key % Math.min(keys, maxKeys)
          expect(plain(limiter.at(now).consume(one, cost))).toEqual(plain(exact.at(now).consume(one, cost)))
        }
      }),
      runs(60)
    )
  })

  it('answers a key that the overflow judges exactly, if strictly', () => {
    fc.assert(
      fc.property(smallPolicy(name), crowds, (policy, { start, keys, requests }) => {
        let now = start
        const trace = requests.map(({ gap, key, cost }) => {
          now += gap % 4
          return { at: now, key: key % keys, cost }
        })
        const after = (wait: number) => {
          const limiter = limiterOf(policy, { store: memoryStore({ maxKeys: 1 }) })
          for (const { at, key, cost } of trace) limiter.at(at).consume(key, cost)
          return limiter.at(now + wait)
        }
        const { key, cost } = trace.at(-1)!
        const { remaining, resetMs, limit } = after(0).peek(key)
        if (remaining > 0) expect(after(0).consume(key, remaining).allowed).toBe(true)
        expect(after(0).consume(key, remaining + 1).allowed).toBe(false)
        if (resetMs > 0) expect(after(resetMs - 1).peek(key).remaining).toBeLessThan(limit)
        expect(after(resetMs).peek(key).remaining).toBe(limit)
        const probe = after(0).consume(key, Math.min(cost, limit))
        if (probe.allowed) return
        expect(probe.remaining).toBe(remaining)
        expect(after(probe.retryAfterMs - 1).consume(key, Math.min(cost, limit)).allowed).toBe(false)
        expect(after(probe.retryAfterMs).consume(key, Math.min(cost, limit)).allowed).toBe(true)
      }),
      runs(150)
    )
  })

  it('never forgets a key that owes, whatever comes', () => {
    const [sample] = fc.sample(smallPolicy(name), { numRuns: 1, seed: 11 })
    const policy = { ...sample!, window: 60_000 }
    const limiter = limiterOf(policy, { store: memoryStore({ maxKeys: 2 }) }).at(T)
    const { limit } = limiter.peek('a')
    const keys = ['a', 'b', 'c', 'd']
    for (const key of keys) limiter.consume(key, limit)
    for (let i = 0; i < 3000; i++) limiter.consume(`flood ${i}`)
    for (const key of keys) expect(limiter.consume(key).allowed, key).toBe(false)
    expect(limiter.size()).toBe(2)
  })
})

describe('the overflow', () => {
  it('ends with what it holds, and then the keys are exact again', () => {
    const limiter = limiterOf({ limit: 3, window: 1000 }, { store: memoryStore({ maxKeys: 4 }) })
    for (let key = 0; key < 500; key++) limiter.at(T).consume(key, 3)
    expect(limiter.size()).toBe(4)
    for (let key = 1000; key < 1004; key++)
      expect(limiter.at(T + 1000).consume(key)).toMatchObject({ allowed: true, remaining: 2 })
  })

  it('denies in every tier or in none', () => {
    let now = T
    const limits = [
      { limit: 2, window: 1000, name: 'short' },
      { limit: 3, window: 60_000, name: 'long', strategy: 'gcra' }
    ]
    const limiter = createLimiter({ limits, store: memoryStore({ maxKeys: 1 }), now: () => now })
    limiter.consume('resident')
    const crowd = limiter.consume('crowd', 2)
    expect(crowd).toMatchObject({ allowed: true, remaining: 0 })
    expect(limiter.consume('crowd').tiers.map(({ remaining }) => remaining)).toEqual([0, 1])
    now = T + 1000
    expect(limiter.consume('crowd')).toMatchObject({ allowed: true, remaining: 0 })
    now = T + 2000
    expect(limiter.consume('crowd')).toMatchObject({ allowed: false, retryAfterMs: 18_000 })
  })

  it('is not left early by tiers whose clocks a step back set apart', () => {
    let now = T
    const limits = [
      { limit: 5, window: 1000, name: 'short' },
      { limit: 5, window: 3_600_000, name: 'long', strategy: 'sliding-log' }
    ]
    const limiter = createLimiter({ limits, store: memoryStore({ maxKeys: 1 }), now: () => now })
    limiter.consume('resident', 5)
    limiter.consume('crowd', 5)
    now -= 1_800_000
    expect(limiter.consume('crowd').allowed).toBe(false)
    now += 3_600_000
    expect(limiter.consume('crowd').allowed).toBe(false)
    now += 1_800_000
    expect(limiter.consume('crowd').allowed).toBe(true)
  })

  it('does not keep a key out that was kept and is reset', () => {
    const limiter = limiterOf({ limit: 2, window: 60_000 }, { store: memoryStore({ maxKeys: 1 }) }).at(T)
    limiter.consume('kept', 2)
    for (let key = 0; key < 1000; key++) limiter.consume(key, 2)
    expect(limiter.consume('kept').allowed).toBe(false)
    limiter.reset('kept')
    expect(limiter.consume('kept')).toMatchObject({ allowed: true, remaining: 1 })
  })

  it.each(policyNames.filter((name) => !name.includes('-window')))(
    '%s is never laxer on a clock that steps back',
    (name) => {
      const step = fc.tuple(request, fc.oneof(fc.constant(0), fc.constant(0), fc.nat(200)))
      fc.assert(
        fc.property(smallPolicy(name), fc.array(step, { maxLength: 80 }), (policy, steps) => {
          const limiter = limiterOf(policy, { store: memoryStore({ maxKeys: 1 }) })
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
        runs(100)
      )
    }
  )

  it('judges a batch as a key of its own would be judged', () => {
    const limiter = limiterOf({ limit: 10, window: 60_000 }, { store: memoryStore({ maxKeys: 1 }) }).at(T)
    limiter.consume('resident')
    expect([4, 4, 4, 2].map((cost) => limiter.consume('crowd', cost).remaining)).toEqual([6, 2, 2, 0])
  })

  it('lets no window of another key end the window of a key (align: first-request)', () => {
    const store = memoryStore({ maxKeys: 1 })
    const limiter = limiterOf({ limit: 1000, window: 1000, align: 'first-request' }, { store })
    for (let key = 0; key < 2000; key++) limiter.at(T).consume(key)
    expect(limiter.at(T + 900).consume('late', 700).allowed).toBe(true)
    expect(limiter.at(T + 1000).consume('late', 700).allowed).toBe(false)
    expect(limiter.at(T + 1899).consume('late', 700).allowed).toBe(false)
    expect(limiter.at(T + 1900).consume('late', 700).allowed).toBe(true)
  })

  it('lets no window that it lengthened end the own window of a key that it hands over', () => {
    const store = memoryStore({ maxKeys: 1 })
    const limiter = limiterOf({ limit: 3, window: 1000, align: 'first-request' }, { store })
    limiter.at(T).consume('resident')
    expect(limiter.at(T).consume('late').allowed).toBe(true)
    expect(limiter.at(T + 20).consume('late').allowed).toBe(true)
    expect(limiter.at(T + 1000).consume('late').allowed).toBe(true)
    expect(limiter.at(T + 1020).consume('late', 3).allowed).toBe(false)
    expect(limiter.at(T + 2000).consume('late', 3).allowed).toBe(true)
  })

  it('takes no more than a few times the room of the table', () => {
    const limit = 100_000
    const before = process.memoryUsage().arrayBuffers
    const store = memoryStore({ maxKeys: 4 })
    const limiter = limiterOf({ strategy: 'sliding-log', limit, window: 60_000 }, { store }).at(T)
    for (let key = 0; key < 8; key++) limiter.consume(key)
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(4 * 4 * limit * 8)
  })

  it.each(boundedNames)('takes no more from a newcomer than its width says (%s)', (strategy) => {
    const maxKeys = 4000
    const width = 1000
    const burst = strategy === 'leaky-bucket' ? { burst: 19 } : {}
    const limiterWith = (charges: readonly number[]) => {
      const limiter = limiterOf(
        { strategy, limit: 20, window: 60_000, ...burst },
        { store: memoryStore({ maxKeys }) }
      )
      limiter.at(T)
      for (let key = 0; key < maxKeys; key++) limiter.consume(`resident ${key}`)
      for (const [key, units] of charges.entries()) limiter.consume(`crowd ${key}`, units)
      return limiter
    }
    const crowds = { 'few at their limit': Array(300).fill(20), 'many a little': Array(5000).fill(2) }
    for (const [name, charges] of Object.entries(crowds)) {
      const limiter = limiterWith(charges)
      const units = charges.reduce((sum, one) => sum + one, 0)
      const probes = 20_000
      const takenFrom = new Float64Array(21)
      for (let key = 0; key < probes; key++) takenFrom[20 - limiter.peek(`newcomer ${key}`).remaining]!++
      for (let taken = 20, count = 0; taken > 0; taken--) {
        count += takenFrom[taken]!
        const bound = Math.min(1, (units / (taken * width)) ** 4)
        expect(count / probes, `${taken} units, ${name}`).toBeLessThanOrEqual(bound)
      }
    }
  })

  it.each(boundedNames)('drains while a flood goes on (%s)', (strategy) => {
    const burst = strategy === 'leaky-bucket' ? { burst: 4 } : {}
    const policy = { strategy, limit: 5, window: 1000, ...burst }
    const limiter = limiterOf(policy, { store: memoryStore({ maxKeys: 4000 }) })
    const deniedIn = (second: number) => {
      let denied = 0
      for (let ms = 0; ms < 1000; ms++)
        for (let i = 0; i < 8; i++)
          if (!limiter.at(T + second * 1000 + ms).consume(`${second} ${ms} ${i}`).allowed) denied++
      return denied
    }
    const denied = Array.from({ length: 12 }, (_, second) => deniedIn(second))
    // At most 4000 units a window come to 1000 cells a row; the sketch would be full at 5000 without draining.
    for (const count of denied) expect(count / 8000).toBeLessThanOrEqual((4000 / (5 * 1000)) ** 4)
  })
})

describe.each(policyNames)('%s: a bucket that covers another', (name) => {
  it('is no laxer than either, now and later', () => {
    const charges = fc.array(fc.tuple(fc.nat(60), fc.integer({ min: 1, max: 4 })), { maxLength: 12 })
    fc.assert(
      fc.property(smallPolicy(name), charges, charges, fc.nat(40), (options, one, other, later) => {
        const [policy] = createLimiter(options).policies
        const { strategy } = policy!
        if (strategy.cover === undefined) return
        const out = new Float64Array(answerSize)
        const bucketAfter = (trace: readonly (readonly [number, number])[]) => {
          const state = new Float64Array(policy!.slots)
          let now = T
          for (const [gap, cost] of trace) {
            now += gap
            strategy.charge(state, 0, policy!, now, cost, out)
          }
          return { state, now }
        }
        const a = bucketAfter(one)
        const b = bucketAfter(other)
        const now = Math.max(a.now, b.now) + later
        const covering = a.state.slice()
        strategy.cover(covering, 0, b.state, 0, policy!, now)
        for (let at = now; at < now + 200; at += 7) {
          const answers = [a.state, b.state, covering].map((state) => {
            strategy.check(state, 0, policy!, at, 1, out)
            return [...out]
          })
          for (const [remaining, wait, reset] of answers.slice(0, 2)) {
            expect(answers[2]![0]).toBeLessThanOrEqual(remaining!)
            expect(answers[2]![1]).toBeGreaterThanOrEqual(wait!)
            expect(answers[2]![2]).toBeGreaterThanOrEqual(reset!)
          }
        }
      }),
      runs(100)
    )
  })
})
