import { afterEach, describe, expect, it, vi } from 'vitest'
import { createLimiter, type Decision } from '../../../src/index.js'
import { redisStore } from '../../../src/redis/index.js'
import { failingServer } from '../support/failing.js'
import { servers } from '../support/stores.js'
import { until } from '../support/until.js'

const failing = failingServer()

afterEach(() => vi.restoreAllMocks())

describe.skipIf(servers === null)('memory in an outage', () => {
  const quiet = async () => {
    throw new Error('down')
  }
  const options = { breaker: { failures: 1, cooldown: '1h' }, onStateChange: () => {} } as const

  it.each([
    ['a long log', { strategy: 'sliding-log', limit: 5000 }, (i: number) => `key${i}`],
    ['long keys', { limit: 100 }, (i: number) => `${i}${'x'.repeat(8000)}`]
  ])('is bounded by bytes: %s', async (_, rule, keyOf) => {
    const limiter = createLimiter({
      window: '1d',
      ...rule,
      store: redisStore(quiet, options)
    } as never) as never as {
      consume(key: string, cost?: number): Promise<Decision>
    }
    await limiter.consume('first', 1)
    const before = memory()
    for (let i = 0; i < 20_000; i++) await limiter.consume(keyOf(i), 1)
    expect((memory() - before) / 2 ** 20).toBeLessThan(80)
    // Those that are kept are as exact as ever.
    expect((await limiter.consume('first', 1)).remaining).toBe(rule.limit - 2)
  })

  it('tells two long keys apart', async () => {
    const limiter = createLimiter({ limit: 1, window: '1d', store: redisStore(quiet, options) })
    const long = 'x'.repeat(300)
    expect((await limiter.consume(`${long}1`)).allowed).toBe(true)
    expect((await limiter.consume(`${long}2`)).allowed).toBe(true)
    expect((await limiter.consume(`${long}1`)).allowed).toBe(false)
  })

  it('says how many keys the store is not charged for', async () => {
    const { limiter, down, back, used } = failing({ strategy: 'sliding-log', limit: 32_000, window: '1d' })
    const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    await down()
    for (let i = 0; i < 400; i++) expect((await limiter.consume(`key${i}`)).allowed).toBe(true)
    await back()
    await until('it is said', () => warned.mock.calls.length > 0)
    const [message, { code }] = warned.mock.calls[0] as unknown as [string, { code: string }]
    expect(code).toBe('HEADGATE_KEYS_LOST')
    const lost = Number(/about (\d+) of them/.exec(message)![1])
    await until('the first is charged', async () => (await used('key0')) === 1)
    const charged = async () => {
      let count = 0
      for (let i = 0; i < 400; i++) count += await used(`key${i}`)
      return count
    }
    await until('the others are', async () => (await charged()) === 400 - lost)
    expect(lost).toBeGreaterThan(0)
    expect(warned).toHaveBeenCalledTimes(1)
  })
})

function memory(): number {
  globalThis.gc?.()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}
