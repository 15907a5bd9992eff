import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createLimiter, memoryStore } from '../../src/index.js'
import { buildLimiter } from '../../src/limiter/options.js'
import type { RedisStoreOptions } from '../../src/redis/options.js'
import { redisStoreOn } from '../../src/redis/store.js'
import { limiterIn, takeUnder } from '../store-suite/clocked-store.js'
import { naming } from '../support/errors.js'
import { runs } from '../support/traces.js'
import { ask, askText } from './support/ask.js'
import { connected, freshPrefix, servers } from './support/stores.js'

const connection = connected('ioredis 6', 'single')

function storeOn(clock: (() => number) | null, settings: RedisStoreOptions = {}) {
  return redisStoreOn(connection.client, { prefix: freshPrefix(), deadline: '10s', ...settings }, clock)
}

/** What the server itself spent on scripts while something was done, in µs. */
async function spent(work: () => Promise<unknown>): Promise<number> {
  const total = async () => {
    const stats = await askText(servers!.single, 'INFO', 'commandstats')
    return [...stats.matchAll(/cmdstat_(?:evalsha|eval):calls=\d+,usec=(\d+)/g)].reduce(
      (sum, [, usec]) => sum + Number(usec),
      0
    )
  }
  const before = await total()
  await work()
  return (await total()) - before
}

describe.skipIf(servers === null)('a sliding log in Redis', () => {
  it('answers as one in memory does where it takes many pages, and its limit varies', async () => {
    const draw = fc.record({
      gap: fc.oneof(fc.constantFrom(0, 1, 2, 3), fc.integer({ min: 0, max: 900 })),
      cost: fc.integer({ min: 1, max: 40 }),
      limit: fc.constantFrom(300, 300, 300, 40, 700),
      refund: fc.option(fc.nat(400), { nil: null, freq: 6 }),
      burst: fc.integer({ min: 1, max: 12 })
    })
    await fc.assert(
      fc.asyncProperty(fc.array(draw, { minLength: 30, maxLength: 80 }), async (draws) => {
        const clock = { time: 1_700_000_000_000 }
        const options = { limits: [{ strategy: 'sliding-log', limit: 300, window: 1000 }] }
        const memory = limiterIn({ store: memoryStore(), clock }, options)
        const redis = limiterIn({ store: storeOn(() => clock.time), clock }, options)
        for (const { gap, cost, limit, refund, burst } of draws) {
          clock.time += gap
          for (let i = 0; i < burst; i++) {
            clock.time++
            const expected = await takeUnder(memory, [limit], 'key', cost)
            expect(await takeUnder(redis, [limit], 'key', cost)).toEqual(expected)
          }
          if (refund === null) continue
          await memory.refund('key', cost, clock.time - refund)
          await redis.refund('key', cost, clock.time - refund)
        }
      }),
      runs(25)
    )
  })

  it('takes one step for a charge, whatever it costs', async () => {
    const each = async (limit: number, cost: number) => {
      const limiter = createLimiter({ strategy: 'sliding-log', limit, window: '1s', store: storeOn(null) })
      for (let i = 0; i < 100; i++)
        expect(await limiter.consume(`key${i}`, cost)).toMatchObject({ allowed: true, source: 'store' })
    }
    await each(10, 1)
    const one = await spent(() => each(10, 1))
    expect(await spent(() => each(1e6, 1e6))).toBeLessThan(3 * one)
    expect(await spent(() => each(1e12, 1e11))).toBeLessThan(3 * one)
  })

  it('keeps a burst in a few bytes, whatever its limit', async () => {
    const prefix = freshPrefix()
    const store = storeOn(null, { prefix })
    const limiter = createLimiter({ strategy: 'sliding-log', limit: 10_000, window: '1h', store })
    await limiter.consume('key', 9000)
    for (const key of (await ask(servers!.single, 'KEYS', `${prefix}*`)) as string[])
      expect(await ask(servers!.single, 'STRLEN', key)).toBeLessThan(128)
  })

  it('takes no longer when it is long than when it is short, but for the bisection', async () => {
    const limit = 30_000
    const clock = { time: 1_700_000_000_000 }
    const store = storeOn(() => clock.time)
    const limiter = createLimiter({ strategy: 'sliding-log', limit, window: '1h', store })
    const some = async (count: number) => {
      const all: unknown[] = []
      for (let i = 0; i < count; i++) {
        clock.time++
        all.push(limiter.consume('key'))
        if (i % 32 === 31) await Promise.all(all.splice(0))
      }
      await Promise.all(all)
    }
    await some(200)
    const short = await spent(() => some(400))
    await some(20_000)
    expect(await spent(() => some(400))).toBeLessThan(6 * short)
  })

  it('is refused by name where its keys could hold the server', async () => {
    const of = (limit: number) => () =>
      createLimiter({ strategy: 'sliding-log', limit, window: '1h', store: storeOn(null) })
    expect(of(30_000)).not.toThrow()
    expect(of(100_000)).toThrow(naming('HEADGATE_BAD_OPTION', '`limit`', "'sliding-log'", "'gcra'"))
    expect(of(1e12)).toThrow(naming('HEADGATE_BAD_OPTION', '`limit`', "'sliding-log'"))
  })

  it('is refused so under a limit that is computed, and the store goes on for others', async () => {
    const store = storeOn(null)
    const limiter = buildLimiter({ strategy: 'sliding-log', limit: 1, window: '1h', store }, memoryStore)
    for (let i = 0; i < 10; i++)
      await expect((async () => limiter.take('key', 1, limiter.withLimits([100_000])))()).rejects.toThrow(
        naming('HEADGATE_BAD_LIMIT', '100000', "'sliding-log'")
      )
    expect(await limiter.take('key', 1, limiter.withLimits([10]))).toMatchObject({
      isAllowed: true,
      source: 'store'
    })
  })
})
