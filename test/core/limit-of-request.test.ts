import { describe, expect, it } from 'vitest'
import { decisionOf } from '../../src/core/decision.js'
import { memoryStore } from '../../src/index.js'
import { buildLimiter } from '../../src/limiter/options.js'
import { dynamic } from '../support/dynamic.js'
import { limiterOf, plain } from '../support/traces.js'

describe('a limit of each request', () => {
  it('of 0 denies without a promise and charges nothing (CFG-01)', () => {
    const { take } = dynamic({ limit: 2, window: 1000 })
    expect(plain(take(5000, 'key', 1, 0))).toEqual({
      allowed: false,
      limit: 0,
      remaining: 0,
      retryAfterMs: Infinity,
      resetMs: 0
    })
    expect(take(5000, 'key', 1, undefined)).toMatchObject({ allowed: true, remaining: 1 })
    expect(take(5000, 'other', 1, 2).remaining).toBe(1)
  })

  it('of Infinity admits any cost and counts nothing', () => {
    const { limiter, take } = dynamic({ limit: 1, window: 1000 })
    for (let i = 0; i < 5; i++)
      expect(take(5000, 'key', 7, Infinity)).toMatchObject({
        allowed: true,
        limit: Infinity,
        remaining: Infinity
      })
    expect(limiter.size()).toBe(0)
    expect(take(5000, 'key', 1, undefined)).toMatchObject({ allowed: true, remaining: 0 })
  })

  it.each([-1, 1.5, Number.NaN, '5', null, {}, 2 ** 53])('of %s is refused', (limit) => {
    const { take } = dynamic({ limit: 2, window: 1000 })
    expect(() => take(5000, 'key', 1, limit)).toThrow(expect.objectContaining({ code: 'HEADGATE_BAD_LIMIT' }))
  })

  it('past what the arithmetic holds is refused as a limit, not as an option', () => {
    const { take } = dynamic({ strategy: 'token-bucket', limit: 2, window: 1000 })
    expect(() => take(5000, 'key', 1, Number.MAX_SAFE_INTEGER)).toThrow(
      expect.objectContaining({ code: 'HEADGATE_BAD_LIMIT' })
    )
  })

  it('widens the logs of a thousand keys, and each keeps what it has', () => {
    const { limiter, take } = dynamic({ strategy: 'sliding-log', limit: 3, window: 10_000 })
    const keys = Array.from({ length: 1000 }, (_, i) => ({ key: `key ${i}`, used: i % 4 }))
    for (let i = 0; i < 3; i++)
      for (const { key, used } of keys) if (used > i) take(50_000 + i, key, 1, undefined)
    for (const limit of [20, 7, 300]) expect(take(50_010, 'wide', 1, limit).allowed).toBe(true)
    expect(limiter.size()).toBe(751)
    for (const { key, used } of keys) expect(take(50_020, key, 1, 3).allowed).toBe(used < 3)
    for (const { key, used } of keys) {
      const remaining = 4 - Math.min(3, used + 1)
      expect(take(50_030, key, 296, 300)).toMatchObject({ allowed: true, remaining })
    }
    for (const { key } of keys)
      expect(take(50_040, key, 5, 300)).toMatchObject({ allowed: false, retryAfterMs: 9990 })
  })

  it('keeps the default store within its bytes when it widens a log, or is refused', () => {
    const before = process.memoryUsage().arrayBuffers
    const { limiter, take, at } = dynamic({ strategy: 'sliding-log', limit: 2, window: 10_000 })
    for (let key = 0; key < 20_000; key++) take(50_000, key, 1, undefined)
    at(50_001)
    const wide = limiter.withLimits([5000])
    for (let i = 0; i < 3; i++)
      try {
        limiter.take('wide', 5000, wide)
      } catch (error) {
        expect(error).toMatchObject({ code: 'HEADGATE_BAD_LIMIT' })
      }
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(1.5 * 256 * 2 ** 20)
    for (let key = 0; key < 20_000; key++) expect(limiter.peek(key).remaining).toBe(1)
  })

  it('is charged in every tier or in none', () => {
    const limits = [
      { limit: 5, window: 1000, name: 'a' },
      { limit: 5, window: 9000, name: 'b', strategy: 'sliding-log' }
    ]
    const limiter = buildLimiter({ limits, now: () => 9000 }, memoryStore)
    const take = (...own: unknown[]) => decisionOf(limiter.take('key', 1, limiter.withLimits(own)), true)
    expect(take(1, undefined)).toMatchObject({ allowed: true, remaining: 0 })
    expect(take(1, 20).tiers.map((tier) => tier.remaining)).toEqual([0, 19])
    expect(take(0, 20)).toMatchObject({ allowed: false, limit: 0, retryAfterMs: Infinity })
    expect(take(Infinity, 20)).toMatchObject({ allowed: true, limit: 20, remaining: 18 })
    expect(take(2, 20).tiers.map((tier) => tier.remaining)).toEqual([0, 17])
  })

  it('is as exact as a policy of that limit', () => {
    const policy = { strategy: 'token-bucket', limit: 7, window: 1000 }
    const { take } = dynamic({ ...policy, limit: 3 })
    const plainLimiter = limiterOf(policy)
    for (let at = 5000; at < 8000; at += 37)
      expect(plain(take(at, 'key', 1 + (at % 3), 7))).toEqual(
        plain(plainLimiter.at(at).consume('key', 1 + (at % 3)))
      )
  })
})
