import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createLimiter, memoryStore } from '../../src/index.js'
import { modelOf } from '../support/models.js'
import { anySteps, limiterOf, play, policyNames, runs, smallPolicy, starts } from '../support/traces.js'

const T = 1_700_000_400_000
const coded = (code: string) => expect.objectContaining({ name: 'HeadgateError', code })

describe('a block', () => {
  it.each([0, -1, 1.5, Number.NaN, -Infinity, '5', 'soon', null, undefined])(
    'of %o is refused',
    (duration) => {
      const limiter = limiterOf({ limit: 1, window: 1000 })
      expect(() => limiter.block('key', duration as number)).toThrow(coded('HEADGATE_BAD_OPTION'))
      expect(limiter.peek('key').allowed).toBe(true)
    }
  )

  it('denies one key for its time, in every tier, while what it owes is paid back', () => {
    let now = T
    const limits = [
      { limit: 2, window: '1s' },
      { limit: 3, window: '1h', strategy: 'leaky-bucket', burst: 2 }
    ]
    const limiter = createLimiter({ limits, now: () => now })
    limiter.consume('key', 2)
    limiter.block('key', '10s')
    const denied = limiter.consume('key')
    expect(denied).toMatchObject({ allowed: false, remaining: 0, retryAfterMs: 10_000 })
    for (const tier of denied.tiers)
      expect(tier).toMatchObject({ allowed: false, remaining: 0, retryAfterMs: 10_000 })
    expect(denied.tiers.map(({ resetMs }) => resetMs)).toEqual([10_000, 2_400_000])
    expect(limiter.consume('other').allowed).toBe(true)
    now = T + 9999
    expect(limiter.peek('key').retryAfterMs).toBe(1)
    now = T + 10_000
    expect(limiter.peek('key').tiers.map(({ remaining }) => remaining)).toEqual([2, 1])
  })

  it('is replaced by a later one and lifted by a reset', () => {
    const limiter = limiterOf({ limit: 1, window: 1000 }).at(T)
    limiter.block('key', '10s')
    limiter.block('key', '1s')
    expect(limiter.peek('key').retryAfterMs).toBe(1000)
    limiter.reset('key')
    expect(limiter.consume('key').allowed).toBe(true)
  })

  it('promises nothing to a cost that no key may ever take', () => {
    const limiter = limiterOf({ limit: 2, window: 1000 }).at(T)
    limiter.block('key', '10s')
    expect(limiter.consume('key', 3).retryAfterMs).toBe(Infinity)
    expect(limiter.consume('key', 2).retryAfterMs).toBe(10_000)
  })

  it('is refused once as many keys are blocked as the store keeps', () => {
    const limiter = limiterOf({ limit: 1, window: 1000 }, { store: memoryStore({ maxKeys: 2 }) }).at(T)
    limiter.block('a', '10s')
    limiter.block('b', '20s')
    limiter.block('b', '30s')
    expect(() => limiter.block('c', '10s')).toThrow(coded('HEADGATE_STORE_FULL'))
    expect(limiter.peek('c').allowed).toBe(true)
    limiter.at(T + 10_000).block('c', '10s')
    expect(['a', 'b', 'c'].map((key) => limiter.peek(key).allowed)).toEqual([true, false, false])
  })

  it('waits exactly as long as it says on a clock that steps back', () => {
    const steps = fc.array(fc.integer({ min: -3000, max: 3000 }), { minLength: 1, maxLength: 6 })
    fc.assert(
      fc.property(
        fc.constantFrom(...policyNames),
        steps,
        fc.integer({ min: 1, max: 5000 }),
        (name, moves, length) => {
          const [policy] = fc.sample(smallPolicy(name), { numRuns: 1, seed: 5 })
          const after = () => {
            const limiter = limiterOf({ ...policy!, window: 1000 })
            let now = T
            limiter.at(now).peek('key')
            for (const move of moves) {
              now += move
              limiter.at(now).peek('key')
            }
            limiter.block('key', length)
            return { limiter, now }
          }
          const { limiter, now } = after()
          const wait = limiter.consume('key').retryAfterMs
          expect(wait).toBe(length)
          expect(limiter.at(now + wait - 1).consume('key').allowed).toBe(false)
          expect(
            after()
              .limiter.at(now + wait)
              .consume('key').allowed
          ).toBe(true)
        }
      ),
      runs(60)
    )
  })
})

describe('the option block', () => {
  it.each(policyNames)('%s never admits sooner than the policy itself would', (name) => {
    fc.assert(
      fc.property(smallPolicy(name), fc.integer({ min: 1, max: 100 }), (policy, block) => {
        const usual = limiterOf(policy).at(T)
        const strict = limiterOf(policy, { block }).at(T)
        const { limit } = usual.peek('key')
        for (const limiter of [usual, strict]) limiter.consume('key', limit)
        const [a, b] = [usual.consume('key'), strict.consume('key')]
        expect([a.allowed, b.allowed]).toEqual([false, false])
        expect(b.retryAfterMs).toBeGreaterThanOrEqual(Math.max(a.retryAfterMs, block))
        expect(strict.at(T + b.retryAfterMs - 1).peek('key').allowed).toBe(false)
        expect(strict.at(T + b.retryAfterMs).peek('key').allowed).toBe(true)
      }),
      runs(60)
    )
  })

  it.each(policyNames)('%s admits nothing that the policy itself would not admit', (name) => {
    fc.assert(
      fc.property(
        smallPolicy(name),
        starts,
        anySteps,
        fc.integer({ min: 1, max: 100 }),
        (policy, start, steps, block) => {
          const limiter = limiterOf(policy, { block })
          const model = modelOf(policy)
          for (const { at, cost } of play(policy, start, steps)) {
            if (cost === 0 || !limiter.at(at).consume('key', cost).allowed) continue
            expect(model.admits(cost, at), `${cost} at ${at}`).toBe(true)
            model.charge(cost, at)
          }
        }
      ),
      runs(60)
    )
  })

  it('does not punish a key for a cost that no key may ever take', () => {
    const limiter = limiterOf({ limit: 2, window: 1000 }, { block: '1h' }).at(T)
    expect(limiter.consume('key', 3)).toMatchObject({ allowed: false, retryAfterMs: Infinity, remaining: 2 })
    expect(limiter.consume('key', 2).allowed).toBe(true)
  })

  it('blocks for as long whether denied requests count or not', () => {
    for (const countDenied of [false, true]) {
      const limiter = limiterOf({ limit: 1, window: '20s' }, { block: '2m', countDenied }).at(T)
      limiter.consume('key')
      expect(limiter.consume('key').retryAfterMs).toBe(120_000)
      expect(limiter.at(T + 60_000).consume('key').retryAfterMs).toBe(60_000)
      expect(limiter.at(T + 120_000).consume('key').allowed).toBe(true)
    }
  })
})
