import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createLimiter, type Limiter, memoryStore } from '../../src/index.js'
import { buildLimiter, type LimiterOptions } from '../../src/limiter/options.js'
import { keyOf } from '../../src/redis/keys.js'
import { redisStoreOn } from '../../src/redis/store.js'
import { takeUnder } from '../store-suite/clocked-store.js'
import { captured } from './support/captured.js'
import { connected, freshPrefix, servers } from './support/stores.js'

/*
 * Most calls are takes of the same cost by one rule, and are decided by a few steps of the script. What is not so is left
 * to the rest of it, in the midst of a batch, too.
 */

const connection = connected('ioredis 6', 'single')
const command = (...words: readonly string[]) =>
  (connection.client as { call(...words: readonly string[]): Promise<unknown> }).call(...words)

const hour = 3_600_000
const start = Math.floor(1_700_000_000_000 / hour) * hour

function counted(policy: object) {
  const time = { now: start }
  const { client, calls } = captured(() => ({ command }))
  const prefix = freshPrefix()
  const store = redisStoreOn(client, { prefix, deadline: '10s' }, () => time.now)
  const limiter = buildLimiter({ ...policy, store } as unknown as LimiterOptions, () => store as never)
  const settings = { ...policy, store: memoryStore(), now: () => time.now } as unknown as LimiterOptions
  const memory = createLimiter(settings) as Limiter
  const nameOf = () => calls.at(-1)!.keys[0]!.split('}')[1]!
  return { time, calls, prefix, limiter, memory, keyInRedis: (key: string) => keyOf(prefix, key) + nameOf() }
}

const strategies = ['fixed-window', 'sliding-window', 'token-bucket', 'gcra', 'leaky-bucket', 'sliding-log']

describe.skipIf(servers === null)('a batch of plain takes', () => {
  it.each(strategies)('is decided as one after the other would be: %s', async (strategy) => {
    const run = fc.array(
      fc.tuple(
        fc.array(fc.constantFrom('a', 'b', 'c'), { minLength: 1, maxLength: 8 }),
        fc.integer({ min: 1, max: 4 }),
        fc.constantFrom(0, 1, 7, 400, 1000, hour)
      ),
      { minLength: 1, maxLength: 8 }
    )
    await fc.assert(
      fc.asyncProperty(run, async (rounds) => {
        const tiers = { limits: [1000, 5000].map((window) => ({ strategy, limit: 6, window })) }
        for (const policy of [{ strategy, limit: 5, window: 1000, name: 'one' }, tiers]) {
          const { time, limiter, memory } = counted(policy)
          for (const [keys, cost, ms] of rounds) {
            time.now += ms
            const decisions = await Promise.all(keys.map((key) => limiter.consume(key, cost)))
            const expected = keys.map((key) => memory.consume(key, cost))
            expect(decisions.map(stripped)).toEqual(expected.map(stripped))
          }
        }
      }),
      { numRuns: 12 }
    )
  })

  it('goes on behind a key that is blocked, or that others have written to', async () => {
    const { limiter, calls, keyInRedis } = counted({ limit: 3, window: '1h' })
    await limiter.consume('warm')
    await limiter.block('blocked', '1m')
    await command('LPUSH', keyInRedis('list'), 'x')
    await command('SET', keyInRedis('short'), 'x')
    await command('SET', keyInRedis('odd'), 'x'.repeat(32))
    calls.length = 0
    const keys = ['a', 'blocked', 'b', 'list', 'a', 'short', 'odd', 'list', 'b', 'blocked', 'a']
    const decisions = await Promise.all(keys.map((key) => limiter.consume(key)))
    expect(calls.length).toBe(1)
    expect(decisions.map(({ allowed, remaining }) => [allowed, remaining])).toEqual([
      [true, 2],
      [false, 0],
      [true, 2],
      [true, 2],
      [true, 1],
      [true, 2],
      [true, 2],
      [true, 1],
      [true, 1],
      [false, 0],
      [true, 0]
    ])
    expect((await limiter.consume('a')).allowed).toBe(false)
  })

  it('keeps what a clock that steps back must not give back', async () => {
    const { time, limiter } = counted({ limit: 3, window: '1h' })
    await Promise.all(['a', 'b', 'a'].map((key) => limiter.consume(key)))
    time.now -= 1000
    const decisions = await Promise.all(['c', 'a', 'b', 'c'].map((key) => limiter.consume(key)))
    expect(decisions.map(({ remaining }) => remaining)).toEqual([2, 0, 1, 1])
  })

  it('keeps a key for as long as its window is open', async () => {
    const { client, calls } = captured(() => ({ command }))
    const prefix = freshPrefix()
    const store = redisStoreOn(client, { prefix, deadline: '10s' }, null)
    const limiter = createLimiter({ limit: 30, window: '1d', align: 'first-request', store })
    await limiter.consume('a')
    const key = calls.at(-1)!.keys[0]!
    const left = async () => Number(await command('PTTL', key))
    expect(await left()).toBeGreaterThan(86_300_000)
    for (let i = 0; i < 5; i++) await limiter.consume('a')
    const { resetMs } = await limiter.peek('a')
    expect(Math.abs((await left()) - resetMs)).toBeLessThan(2000)
    // What was given no life of its own by a window gets one by the next.
    await command('PEXPIRE', key, '1')
    await limiter.reset('a')
    await limiter.consume('a')
    expect(await left()).toBeGreaterThan(86_300_000)
  })
})

describe.skipIf(servers === null)('scripts', () => {
  it('are few for however many computed limits, and decide by all of them', async () => {
    const { limiter, calls } = counted({ limit: 5, window: '1h' })
    for (let limit = 1; limit <= 60; limit++) {
      const { decision } = await takeUnder(limiter, [limit], `key ${limit}`, 1)
      expect(decision).toMatchObject({ allowed: true, limit, remaining: limit - 1 })
      const { decision: next } = await takeUnder(limiter, [limit], `key ${limit}`, limit)
      expect(next.allowed).toBe(false)
    }
    expect(new Set(calls.map(({ command }) => command[1])).size).toBeLessThanOrEqual(40)
  })

  it.each([1, 2, 8, 9, 20])('decide by %d tiers', async (count) => {
    const limits = Array.from({ length: count }, (_, i) => ({
      name: `t${i}`,
      limit: 3 + i,
      window: hour * (1 + i)
    }))
    const { limiter } = counted({ limits })
    const decisions = await Promise.all(['a', 'a', 'b', 'a', 'a'].map((key) => limiter.consume(key)))
    expect(decisions.map(({ allowed, remaining }) => [allowed, remaining])).toEqual([
      [true, 2],
      [true, 1],
      [true, 2],
      [true, 0],
      [false, 0]
    ])
  })

  it.each(['fixed-window', 'sliding-log'])(
    'answer exactly near the largest numbers: %s',
    async (strategy) => {
      const limit = strategy === 'fixed-window' ? Number.MAX_SAFE_INTEGER : 2 ** 40
      const { limiter, memory } = counted({ strategy, limit, window: 1000 })
      for (const cost of [1, 2, limit - 4, 1, 1]) {
        const decision = await limiter.consume('a', cost)
        expect(stripped(decision)).toEqual(stripped(memory.consume('a', cost)))
      }
    }
  )
})

function stripped({ tiers: _, ...decision }: { readonly tiers?: unknown }): object {
  return { ...decision, source: undefined }
}
