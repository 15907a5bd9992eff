import { describe, expect, it } from 'vitest'
import { redisStoreOn } from '../../src/redis/store.js'
import { limiterIn, type Suited } from '../store-suite/clocked-store.js'
import { block } from '../support/readme.js'
import { ask } from './support/ask.js'
import { connected, freshPrefix, servers } from './support/stores.js'

/** The second cells of the table of docs/redis.md. */
const documented = block('table: bytes')
  .trim()
  .split('\n')
  .slice(2)
  .map((row) => Number(row.split(' | ')[1]!.replace(/\D+/g, '')))

describe.skipIf(servers === null)('the keys of a limiter take what docs/redis.md says', () => {
  const connection = connected('ioredis 6', 'single')
  const rule = { name: 'api', limit: 1000, window: '1h' } as const

  /** The bytes of the keys of a limiter that was asked in so many different ms. */
  async function bytes(options: object, times = 1, permits = 0): Promise<number> {
    // As long as the default one.
    const prefix = freshPrefix().padStart('headgate:'.length, 't')
    const clock = { time: 1_700_000_000_000 }
    const store = redisStoreOn(connection.client, { prefix, deadline: '10s' }, () => clock.time)
    const limiter = limiterIn({ store, clock }, options as Suited)
    for (let i = 0; i < times; i++, clock.time++) await limiter.consume('203.0.113.7')
    // Permits that stay out.
    for (let i = 0; i < permits; i++) await limiter.acquire('203.0.113.7')
    const keys = (await ask(servers!.single, 'KEYS', `${prefix}*`)) as string[]
    let sum = 0
    for (const key of keys) sum += Number(await ask(servers!.single, 'MEMORY', 'USAGE', key))
    await store.clear()
    return sum
  }

  it.each([
    ['fixed-window', 0, { ...rule }, 1],
    ['sliding-window', 0, { ...rule, strategy: 'sliding-window' }, 1],
    ['token-bucket', 0, { ...rule, strategy: 'token-bucket' }, 1],
    ['gcra', 0, { ...rule, strategy: 'gcra' }, 1],
    ['leaky-bucket', 0, { ...rule, strategy: 'leaky-bucket', burst: 10 }, 1],
    ['two limits', 1, { limits: [rule, { ...rule, name: 'burst', strategy: 'gcra' }] }, 1],
    ['sliding-log, 10 ms', 2, { ...rule, strategy: 'sliding-log' }, 10],
    ['sliding-log, 100 ms', 3, { ...rule, strategy: 'sliding-log' }, 100],
    ['sliding-log, 1000 ms', 4, { ...rule, strategy: 'sliding-log' }, 1000]
  ])('%s', async (_, row, options, times) => {
    const measured = await bytes(options, times)
    // Versions and allocators differ by that much.
    expect(measured / documented[row]!).toBeGreaterThan(0.7)
    expect(measured / documented[row]!).toBeLessThan(1.3)
  })

  it.each([
    ['one', 5, 1],
    ['ten', 6, 10],
    ['1000', 7, 1000]
  ])('%s permits that are out', async (_, row, permits) => {
    const measured = await bytes({ name: 'api', concurrency: 1000 }, 0, permits)
    expect(measured / documented[row]!).toBeGreaterThan(0.7)
    expect(measured / documented[row]!).toBeLessThan(1.3)
  })
})
