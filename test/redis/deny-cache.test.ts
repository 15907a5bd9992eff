import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Verdict } from '../../src/core/verdict.js'
import { createLimiter, memoryStore, type Policy } from '../../src/index.js'
import type { LimiterOptions } from '../../src/limiter/options.js'
import { redisStoreOn } from '../../src/redis/store.js'
import { policyNames, runs, smallPolicy } from '../support/traces.js'
import { captured } from './support/captured.js'
import { manualTime } from './support/manual-time.js'
import { connected, freshPrefix, servers } from './support/stores.js'
import { until } from './support/until.js'

const connection = connected('ioredis 6', 'single')
const command = (...words: readonly string[]) =>
  (connection.client as { call(...words: readonly string[]): Promise<unknown> }).call(...words)

function counted(clock: (() => number) | null, limiter: object, denyCache = '5s', prefix = freshPrefix()) {
  const { client, calls } = captured(() => ({ command }))
  const store = redisStoreOn(client, { prefix, deadline: '10s', denyCache }, clock)
  return { calls, prefix, limiter: createLimiter({ ...limiter, store } as never) }
}

describe.skipIf(servers === null)('a denial that is remembered', () => {
  const start = 1_700_000_040_000
  const time = manualTime(start)
  const policy = { name: 'api', strategy: 'sliding-log', limit: 2, window: 1000 }

  /** A limiter whose key is spent. */
  async function spent(options: object = policy, denyCache?: string) {
    const made = counted(time.clock, options, denyCache)
    await made.limiter.consume('key', 2)
    await made.limiter.consume('key')
    made.calls.length = 0
    return made
  }

  it('spares the store the question until the request is admitted', async () => {
    const { limiter, calls } = await spent()
    time.ms = 400
    const cached = await limiter.consume('key')
    expect(cached).toMatchObject({ allowed: false, remaining: 0, retryAfterMs: 600, resetMs: 600 })
    expect(cached.source).toBe('cache')
    time.ms = 998.9
    expect(await limiter.consume('key')).toMatchObject({ source: 'cache', retryAfterMs: 2 })
    expect(calls.length).toBe(0)
    time.ms = 1000
    expect(await limiter.consume('key')).toMatchObject({ allowed: true, source: 'store' })
  })

  it('ends with the whole millisecond in which the request is admitted', async () => {
    const { limiter } = counted(time.clock, policy)
    time.ms = 0.9
    await limiter.consume('key', 2)
    await limiter.consume('key')
    time.ms = 1000.1
    expect((await limiter.consume('key')).allowed).toBe(true)
  })

  it('is no answer to another cost, another key, a peek, or after the time that was given', async () => {
    const { limiter, calls } = await spent(policy, '300ms')
    for (const ask of [
      () => limiter.consume('key', 2),
      () => limiter.consume('other'),
      () => limiter.peek('key')
    ])
      expect((await ask()).source).toBe('store')
    expect(calls.length).toBe(3)
    expect((await limiter.consume('key')).source).toBe('store')
    time.ms = 299
    expect((await limiter.consume('key')).source).toBe('cache')
    time.ms = 300
    expect(await limiter.consume('key')).toMatchObject({ allowed: false, source: 'store' })
  })

  it.each(['reset', 'refund', 'block'] as const)(
    'is forgotten at a %s, even one asked in the same turn',
    async (deed) => {
      const { limiter } = await spent()
      const act = () => (deed === 'block' ? limiter.block('key', '1m') : limiter[deed]('key'))
      await act()
      const after = await limiter.consume('key')
      expect([after.source, after.allowed]).toEqual(['store', deed !== 'block'])
      await limiter.reset('key')
      await limiter.consume('key', 2)
      // Denied before the deed, answered together with it.
      await Promise.all([limiter.consume('key'), act()])
      const last = await limiter.consume('key')
      expect([last.source, last.allowed]).toEqual(['store', deed !== 'block'])
    }
  )

  it('holds for a blocked key no longer than the time that was given', async () => {
    const { limiter } = counted(time.clock, policy)
    await limiter.block('key', Infinity)
    await limiter.consume('key')
    time.ms = 4999
    expect(await limiter.consume('key')).toMatchObject({ source: 'cache', retryAfterMs: Infinity })
    time.ms = 5000
    expect((await limiter.consume('key')).source).toBe('store')
  })

  it('is not kept where denied requests are charged', async () => {
    const { limiter } = await spent({ ...policy, countDenied: true })
    expect((await limiter.consume('key')).source).toBe('store')
  })

  it('is remembered under computed limits, of one policy or several', async () => {
    for (const count of [1, 2]) {
      const limits = Array.from({ length: count }, (_, i) => ({ name: `limit-${i}`, limit: 9, window: '1h' }))
      const { limiter, calls } = counted(time.clock, { limits })
      const computing = limiter as unknown as {
        withLimits(limits: readonly unknown[]): readonly Policy[]
        take(key: string, cost: number, policies: readonly Policy[]): Verdict | Promise<Verdict>
      }
      const take = async (limit: number) => {
        const { source, isAllowed } = await computing.take(
          'key',
          1,
          computing.withLimits(Array(count).fill(limit))
        )
        return [source, isAllowed]
      }
      expect(await take(1)).toEqual(['store', true])
      expect(await take(1)).toEqual(['store', false])
      calls.length = 0
      expect(await take(1)).toEqual(['cache', false])
      expect(calls.length).toBe(0)
      expect(await take(2)).toEqual(['store', true])
    }
  })

  it('is kept of 10 000 keys at most, the last', async () => {
    const { limiter, calls } = counted(time.clock, { limit: 1, window: '1h' })
    const keys = Array.from({ length: 10_001 }, (_, i) => `key${i}`)
    await Promise.all(keys.map((key) => limiter.consume(key)))
    await Promise.all(keys.map((key) => limiter.consume(key)))
    calls.length = 0
    const decisions = await Promise.all(keys.toReversed().map((key) => limiter.consume(key)))
    expect(decisions.filter(({ source }) => source === 'cache').length).toBe(10_000)
    expect(decisions.at(-1)!.source).toBe('store')
  })

  it.each(policyNames)(
    'never denies what the store admits, at no part of a millisecond: %s',
    async (name) => {
      const moves = fc.array(
        fc.tuple(fc.double({ min: 0, max: 40, noNaN: true }), fc.integer({ min: 1, max: 2 })),
        { minLength: 1, maxLength: 30 }
      )
      await fc.assert(
        fc.asyncProperty(smallPolicy(name), moves, async (drawn, steps) => {
          time.ms = 0
          const { limiter } = counted(time.clock, drawn)
          const plain = { ...drawn, store: memoryStore(), now: time.clock } as LimiterOptions
          const memory = createLimiter(plain as never)
          for (const [by, cost] of steps) {
            time.ms += by
            const decision = await limiter.consume('key', cost)
            const expected = memory.consume('key', cost)
            expect(decision.allowed, `${cost} at ${time.ms}: ${decision.source}`).toBe(expected.allowed)
            if (decision.retryAfterMs === Infinity) continue
            expect(decision.retryAfterMs).toBeGreaterThanOrEqual(expected.retryAfterMs - 1)
            expect(decision.retryAfterMs).toBeLessThanOrEqual(expected.retryAfterMs + 1)
          }
        }),
        runs(25)
      )
    }
  )
})

describe.skipIf(servers === null)('a denial that is remembered on the server’s own clock', () => {
  it('is asked for again when the window ends', async () => {
    const { limiter, calls } = counted(null, { strategy: 'sliding-log', limit: 1, window: 50 })
    await until('a denial is remembered', async () => (await limiter.consume('key')).source === 'cache')
    calls.length = 0
    const begun = performance.now()
    await until('the key is admitted', async () => (await limiter.consume('key')).allowed)
    expect(performance.now() - begun).toBeLessThan(1000)
    expect(calls.length).toBeLessThan(10)
  })
})
