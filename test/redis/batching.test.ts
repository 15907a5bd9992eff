import { describe, expect, it } from 'vitest'
import { createLimiter } from '../../src/index.js'
import { buildLimiter, type LimiterOptions } from '../../src/limiter/options.js'
import type { RedisStoreOptions } from '../../src/redis/options.js'
import { redisStoreOn } from '../../src/redis/store.js'
import { takeUnder } from '../store-suite/clocked-store.js'
import { admitted } from '../store-suite/suite/limiter-on.js'
import { captured } from './support/captured.js'
import { connected, freshPrefix, servers } from './support/stores.js'

const connection = connected('ioredis 6', 'single')
const command = (...words: readonly string[]) =>
  (connection.client as { call(...words: readonly string[]): Promise<unknown> }).call(...words)

/** A store on a clock that stands still, and the calls that it makes. */
function counted(settings: RedisStoreOptions = {}) {
  const { client, calls } = captured(() => ({ command }))
  const options = { prefix: freshPrefix(), deadline: '10s', ...settings }
  const store = redisStoreOn(client, options, () => 1_700_000_000_000)
  const on = (limiter: object) => createLimiter({ ...limiter, store } as never)
  return { store, calls, on }
}

/** Asks once, so that the server knows the script, and forgets the calls. */
async function warm(calls: unknown[], ...limiters: { peek(key: string): unknown }[]): Promise<void> {
  for (const limiter of limiters) await limiter.peek('warm')
  calls.length = 0
}

describe.skipIf(servers === null)('what is asked in one turn', () => {
  it('travels in one call, and everybody gets an own answer', async () => {
    const { on, calls } = counted()
    const limiter = on({ limit: 3, window: '1h' })
    await warm(calls, limiter)
    const asked = ['a', 'b', 'a', 'a', 'c', 'a', 'b'].map((key) => limiter.consume(key))
    const decisions = await Promise.all(asked)
    expect(calls.length).toBe(1)
    expect(decisions.map(({ remaining }) => remaining)).toEqual([2, 2, 1, 0, 2, 0, 1])
    expect(admitted(decisions)).toEqual([200, 200, 200, 200, 200, 429, 200])
  })

  it('is done in the order of asking, whatever it is', async () => {
    const { on, calls } = counted()
    const limiter = on({ limit: 5, window: '1h' })
    await warm(calls, limiter)
    const [first, , second, peeked, , blocked, , fresh] = await Promise.all([
      limiter.consume('key', 4),
      limiter.refund('key', 2),
      limiter.consume('key', 3),
      limiter.peek('key'),
      limiter.block('key', '1m'),
      limiter.consume('key'),
      limiter.reset('key'),
      limiter.consume('key')
    ])
    expect(calls.length).toBe(1)
    expect([first, second, peeked, blocked, fresh].map(({ remaining }) => remaining)).toEqual([1, 0, 0, 0, 4])
    expect(blocked).toMatchObject({
      allowed: false,
      retryAfterMs: 3_600_000 - (1_700_000_000_000 % 3_600_000)
    })
  })

  it('is one call for limiters of one strategy, each by its own rule', async () => {
    const { on, calls } = counted()
    const limits = [
      { name: 'two', limit: 2, window: '1h' },
      { name: 'nine', limit: 9, window: '2h' }
    ]
    const limiters = [
      on({ limit: 5, window: '1h' }),
      on({ limits }),
      on({ limit: 7, window: '1m', countDenied: true })
    ]
    await warm(calls, ...limiters)
    const decisions = await Promise.all(
      [0, 1, 2, 1, 1, 0, 2].map((i) => limiters[i]!.consume('key', i === 2 ? 4 : 1))
    )
    expect(calls.length).toBe(1)
    expect(decisions.map(({ allowed, remaining }) => [allowed, remaining])).toEqual([
      [true, 4],
      [true, 1],
      [true, 3],
      [true, 0],
      [false, 0],
      [true, 3],
      [false, 0]
    ])
  })

  it('keeps its order where limits are computed, too', async () => {
    const { store } = counted()
    const limiter = buildLimiter({ limit: 5, window: '1h', store } as LimiterOptions, () => store as never)
    const decisions = await Promise.all([
      limiter.consume('key', 2),
      takeUnder(limiter, [9], 'key', 6).then(({ decision }) => decision),
      limiter.consume('key', 1),
      takeUnder(limiter, [9], 'key', 1).then(({ decision }) => decision)
    ])
    expect(decisions.map(({ allowed, remaining }) => [allowed, remaining])).toEqual([
      [true, 3],
      [true, 1],
      [false, 0],
      [true, 0]
    ])
  })

  it.each([0, Number.POSITIVE_INFINITY])('forgets nothing for a computed limit of %d', async (limit) => {
    const { store } = counted()
    const policy = { strategy: 'gcra', limit: 5, window: '1h', store }
    const limiter = buildLimiter(policy as LimiterOptions, () => store as never)
    await Promise.all([
      limiter.consume('key', 2),
      takeUnder(limiter, [limit], 'key', 6),
      limiter.consume('key')
    ])
    expect((await limiter.peek('key')).remaining).toBe(2)
  })

  it('is cut where it is too much for one call', async () => {
    const { on, calls } = counted()
    const limiter = on({ limit: 600, window: '1h' })
    await warm(calls, limiter)
    const decisions = await Promise.all(Array.from({ length: 1000 }, () => limiter.consume('key')))
    const sizes = calls.map(({ keys }) => keys.length)
    expect(Math.max(...sizes)).toBeLessThanOrEqual(256)
    expect(sizes.length).toBe(Math.ceil(1000 / sizes[0]!))
    expect(sizes.slice(0, -1)).toEqual(Array(sizes.length - 1).fill(sizes[0]))
    expect(decisions.map(({ remaining }) => remaining)).toEqual(
      Array.from({ length: 1000 }, (_, i) => Math.max(0, 599 - i))
    )
  })

  it('is a call for each slot of a cluster', async () => {
    const { on, calls } = counted({ cluster: true })
    const limiter = on({ limit: 2, window: '1h' })
    await warm(calls, limiter)
    const decisions = await Promise.all(['a', 'b', 'a', 'c', 'b', 'a'].map((key) => limiter.consume(key)))
    expect(calls.map(({ keys }) => keys.length)).toEqual([3, 2, 1])
    expect(admitted(decisions)).toEqual([200, 200, 200, 200, 200, 429])
  })

  it('is another call than what is asked a turn later', async () => {
    const { on, calls } = counted()
    const limiter = on({ limit: 5, window: '1h' })
    await warm(calls, limiter)
    await limiter.consume('key')
    await limiter.consume('key')
    expect(calls.length).toBe(2)
  })
})
