import { describe, expect, it } from 'vitest'
import { decisionOf } from '../../src/core/decision.js'
import { memoryStore } from '../../src/index.js'
import { buildLimiter } from '../../src/limiter/options.js'
import { limiterOf, plain } from '../support/traces.js'

const T = 1_700_000_400_000
const coded = (code: string) => expect.objectContaining({ name: 'HeadgateError', code })

describe('a key', () => {
  it.each(
    [
      ['', undefined, null, Number.NaN, Infinity, -Infinity, true, {}, [], Symbol('key'), 10n, () => 'key']
    ].flat()
  )('%o is refused by every method', (key) => {
    const limiter = limiterOf({ limit: 1, window: 1000 }).at(T)
    const bad = key as string
    for (const call of [
      () => limiter.consume(bad),
      () => limiter.peek(bad),
      () => limiter.refund(bad),
      () => limiter.reset(bad),
      () => limiter.block(bad, 1000)
    ])
      expect(call).toThrow(coded('HEADGATE_BAD_KEY'))
  })

  it('is refused with the value, shortened', () => {
    const limiter = limiterOf({ limit: 1, window: 1000 })
    expect(() => limiter.consume('')).toThrow('""')
    expect(() => limiter.consume(Number.NaN)).toThrow('NaN')
  })

  it('may be any finite number', () => {
    const limiter = limiterOf({ limit: 1, window: 1000 }).at(T)
    for (const key of [0, -1, 1.5, 2 ** 60, 1e300]) {
      expect(limiter.consume(key).allowed).toBe(true)
      expect(limiter.consume(String(key)).allowed).toBe(false)
    }
  })
})

describe('a cost', () => {
  it.each([-1, 1.5, Number.NaN, Infinity, -Infinity, 2 ** 53, '1', null, true, {}, 1n])(
    'of %o is refused and nothing is charged',
    (cost) => {
      const limiter = limiterOf({ limit: 5, window: 1000 }).at(T)
      const bad = cost as number
      expect(() => limiter.consume('key', bad)).toThrow(coded('HEADGATE_BAD_COST'))
      expect(() => limiter.refund('key', bad)).toThrow(coded('HEADGATE_BAD_COST'))
      expect(limiter.peek('key').remaining).toBe(5)
    }
  )

  it('left out, or undefined, is 1', () => {
    const limiter = limiterOf({ limit: 5, window: 1000 }).at(T)
    expect([limiter.consume('key').remaining, limiter.consume('key', undefined).remaining]).toEqual([4, 3])
    limiter.refund('key', undefined)
    expect(limiter.peek('key').remaining).toBe(4)
  })
})

describe('a decision', () => {
  it('of one policy has five own fields, and its policy and tiers beside them', () => {
    const limiter = limiterOf({ limit: 2, window: 1000, name: 'api' }).at(T)
    const decision = limiter.consume('key')
    expect(Object.keys(decision)).toEqual(['allowed', 'limit', 'remaining', 'retryAfterMs', 'resetMs'])
    expect(decision.policy).toBe(limiter.policies[0])
    expect(decision.tiers).toEqual([decision])
    expect(JSON.parse(JSON.stringify(decision))).toEqual(plain(decision))
  })

  it('is not changed by the next one', () => {
    const limiter = limiterOf({ limit: 2, window: 1000 }).at(T)
    const first = limiter.consume('key')
    const kept = plain(first)
    limiter.consume('key', 2)
    limiter.block('key', 1000)
    limiter.consume('key')
    expect(plain(first)).toEqual(kept)
  })
})

describe('units that are spent already', () => {
  it('are charged as far as anything is left, and the answer is no denial', () => {
    const limiter = buildLimiter({ limit: 5, window: 1000, now: () => T }, memoryStore)
    const charge = (cost: number) => {
      const verdict = limiter.charge('key', cost, limiter.policies)
      return { decision: decisionOf(verdict, false), charged: verdict.charged, at: verdict.at }
    }
    expect(charge(3)).toMatchObject({ decision: { allowed: true, remaining: 2 }, charged: 3, at: T })
    expect(charge(3)).toMatchObject({ decision: { allowed: true, remaining: 0 }, charged: 2, at: T })
    expect(charge(9)).toMatchObject({ decision: { allowed: true, remaining: 0 }, charged: 0, at: T })
    expect(limiter.consume('key').allowed).toBe(false)
  })
})
