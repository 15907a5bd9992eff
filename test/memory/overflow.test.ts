import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { outSize } from '../../src/core/verdict.js'
import { createLimiter, memoryStore } from '../../src/index.js'
import { boundSuite, crowdStepSuite, crowdSuite, request } from '../store-suite/overflow-suite.js'
import { limiterOf, policyNames, runs, smallPolicy } from '../support/traces.js'

const T = 1_700_000_400_000

/** The strategies whose buckets can cover one another. */
const boundedNames = ['fixed-window', 'sliding-window', 'token-bucket', 'gcra', 'leaky-bucket'] as const

const storeOf = (maxKeys: number) => memoryStore({ maxKeys })

crowdSuite('memory', storeOf, 200)
crowdStepSuite('memory', storeOf, 100)
boundSuite('memory', storeOf)

const traces = fc.record({
  start: fc.constantFrom(0, 1, T),
  keys: fc.constantFrom(2, 4, 16, 41),
  requests: fc.array(request, { minLength: 1, maxLength: 120 })
})

// A process has one seed, so that keys meet the same others in each store.
describe.each(policyNames)('the overflow: %s', (name) => {
  it('answers a key exactly, if strictly', () => {
    fc.assert(
      fc.property(smallPolicy(name), traces, (policy, { start, keys, requests }) => {
        let now = start
        const trace = requests.map(({ gap, key, cost }) => {
          now += gap % 4
          return { at: now, key: key % keys, cost }
        })
        const after = (wait: number) => {
          const limiter = limiterOf(policy, { store: storeOf(1) })
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
})

describe('the overflow', () => {
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
        const out = new Float64Array(outSize)
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
