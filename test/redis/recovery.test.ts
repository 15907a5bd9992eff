import { afterEach, describe, expect, it, vi } from 'vitest'
import { createLimiter } from '../../src/index.js'
import type { LimiterOptions } from '../../src/limiter/options.js'
import { type RedisStore, type RedisStoreOptions, redisStore } from '../../src/redis/index.js'
import { twoSpeedRules } from '../support/two-speed.js'
import { connected, freshPrefix, servers } from './support/stores.js'
import { until } from './support/until.js'

const connection = connected('ioredis 6', 'single')
const direct = (words: readonly string[]) =>
  (connection.client as { call(...words: readonly string[]): Promise<unknown> }).call(...words)

/** How a server fails: it is not reached, or it does what it is asked and its reply is lost; null if it works. */
type Fault = 'unreached' | 'lossy' | null

/** A limiter whose server fails as a test says, and another that sees what is charged there. */
function failing(policy: object, settings: RedisStoreOptions = {}) {
  const prefix = freshPrefix()
  const faults: { now: Fault; ofPayments: Fault } = { now: null, ofPayments: null }
  const payments: string[][] = []
  const client = async (words: readonly string[]) => {
    // Where this process decides, a payment shows by its mark.
    const isPayment = words.some((word) => word === 'repay' || /;[\w-]{16,} \d+$/.test(word))
    const fault = isPayment ? (faults.ofPayments ?? faults.now) : faults.now
    if (fault === 'unreached') throw new Error('not reached')
    const reply = await direct(words)
    if (isPayment) payments.push([...words])
    if (fault === 'lossy') throw new Error('the connection was lost')
    return reply
  }
  const options = {
    breaker: { failures: 1, cooldown: 20 },
    onStateChange: () => {},
    deadline: '5s',
    ...settings
  }
  const rule = { name: 'api', limit: 100, window: '1h', ...policy }
  const limiterOf = (store: RedisStore) =>
    createLimiter({ ...rule, store } as LimiterOptions & { store: RedisStore })
  const store = redisStore(client, { prefix, ...options })
  const limiter = limiterOf(store)
  const other = limiterOf(redisStore(direct, { prefix, deadline: '5s' }))
  const used = async (key = 'key') => {
    const { limit, remaining, source } = await other.peek(key)
    expect(source).toBe('store')
    return limit - remaining
  }
  /** The server works again, and a decision has found it so. */
  const back = async () => {
    faults.now = null
    await until('the store decides', async () => (await limiter.peek('another')).source === 'store')
  }
  const down = async (fault: Fault = 'unreached') => {
    faults.now = fault
    await limiter.peek('another')
  }
  return { store, prefix, limiter, other, faults, payments, used, back, down }
}

const strategies = [
  'fixed-window',
  'sliding-window',
  'sliding-log',
  'token-bucket',
  'gcra',
  twoSpeedRules
] as const
const named = strategies.map(
  (strategy) => [typeof strategy === 'string' ? strategy : strategy.name, strategy] as const
)

afterEach(() => vi.restoreAllMocks())

describe.skipIf(servers === null)('what was counted here', () => {
  it.each(named)('is charged once, though the reply to it was lost: %s', async (_, strategy) => {
    const { limiter, faults, used, back, down, payments } = failing({ strategy, limit: 1000, window: '365d' })
    await down()
    expect(await limiter.consume('key', 50)).toMatchObject({ allowed: true, source: 'local' })
    faults.ofPayments = 'lossy'
    await back()
    await until('it was charged', async () => (await used()) >= 50)
    // A second outage, in which the key is used more, and a third without.
    for (const more of [7, 0]) {
      await down()
      if (more > 0) expect((await limiter.consume('key', more)).source).toBe('local')
      await back()
    }
    faults.ofPayments = null
    await until('all was charged', async () => (await used()) >= 57)
    const count = payments.length
    await down()
    await back()
    await limiter.peek('key')
    expect(await used()).toBe(57)
    expect(count).toBeGreaterThan(1)
  })

  it('is held against the limit while nobody knows whether it was charged', async () => {
    const { limiter, faults, back, down, used } = failing({ limit: 100 })
    await down()
    await limiter.consume('key', 60)
    faults.ofPayments = 'lossy'
    await back()
    await until('it was charged', async () => (await used()) === 60)
    await down()
    expect(await limiter.consume('key', 41)).toMatchObject({ allowed: false, source: 'local', remaining: 40 })
    expect(await limiter.consume('key', 40)).toMatchObject({ allowed: true, source: 'local' })
    faults.ofPayments = null
    await back()
    await until('all was charged', async () => (await used()) === 100)
  })

  it('is charged when a payment failed, without another outage, and opens no breaker', async () => {
    const { limiter, faults, store, back, down, used } = failing({})
    await down()
    await limiter.consume('key', 5)
    faults.ofPayments = 'unreached'
    await back()
    for (let i = 0; i < 20; i++) {
      expect((await limiter.consume('other')).source).toBe('store')
      expect(store.isAvailable).toBe(true)
    }
    expect(await used()).toBe(0)
    faults.ofPayments = null
    await until('it is charged', async () => (await used()) === 5)
  })
})
