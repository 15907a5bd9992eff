import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { createLimiter } from '../../../src/index.js'
import { redisStore } from '../../../src/redis/index.js'
import { freshPrefix } from '../support/stores.js'
import { until } from '../support/until.js'
import { limiterOn, noUnhandledRejections } from './outage.js'

noUnhandledRejections()
afterEach(() => vi.restoreAllMocks())

/** A client that is a function, whose server is here: it fails, or is silent, when it is told to. */
function fakeServer() {
  const server = { sent: 0, isDown: false, charged: [] as string[] }
  const send = async (command: readonly string[]): Promise<unknown> => {
    server.sent++
    if (server.isDown) throw new Error('the server is down')
    const tiers = 1
    return [1, Date.now(), 1, ...new Array(tiers).fill([5, 1000]).flat(), command.length]
  }
  return { server, send }
}

describe('the breaker', () => {
  it('opens after three failures in a row, tries once a cooldown, and closes by success', async () => {
    const { server, send } = fakeServer()
    const { ask, store, states } = limiterOn(send, { onStoreError: 'allow', breaker: { cooldown: 100 } })
    const sources = async (count: number) => {
      const list: string[] = []
      for (let i = 0; i < count; i++) list.push((await ask()).source)
      return list
    }
    expect(await sources(1)).toEqual(['store'])
    server.isDown = true
    expect(await sources(2)).toEqual(['allow', 'allow'])
    server.isDown = false
    expect(await sources(1)).toEqual(['store'])
    expect(states).toEqual([])
    server.isDown = true
    server.sent = 0
    await sources(3)
    expect([store.isAvailable, ...states]).toEqual([false, false])
    await Promise.all(Array.from({ length: 50 }, () => ask()))
    expect(server.sent).toBe(3)
    const end = performance.now() + 550
    while (performance.now() < end) await Promise.all([ask(), ask(), ask()])
    // One each 100 ms, or a little less often.
    expect(server.sent - 3).toBeGreaterThanOrEqual(3)
    expect(server.sent - 3).toBeLessThanOrEqual(5)
    server.isDown = false
    await until('it is tried', async () => (await ask()).source === 'store')
    expect([store.isAvailable, ...states]).toEqual([true, false, true])
  })

  it('lets a client wait no longer than until the next trial', async () => {
    const { server, send } = fakeServer()
    const { limiter } = limiterOn(send, { onStoreError: 'deny', breaker: { cooldown: '1s' } })
    server.isDown = true
    for (let i = 0; i < 4; i++) {
      const { retryAfterMs, remaining, allowed } = await limiter.consume('key')
      expect(allowed).toBe(false)
      expect(remaining).toBeNaN()
      expect(retryAfterMs).toBeGreaterThan(0)
      expect(retryAfterMs).toBeLessThanOrEqual(1000)
    }
  })

  it('warns once an outage where nobody listens', async () => {
    const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    const { server, send } = fakeServer()
    const store = redisStore(send as never, { prefix: freshPrefix(), breaker: { cooldown: 1 } })
    const limiter = createLimiter({ limit: 5, window: '1m', store })
    for (let outage = 1; outage <= 2; outage++) {
      server.isDown = true
      for (let i = 0; i < 20; i++) await limiter.consume('key')
      expect(warn).toHaveBeenCalledTimes(outage)
      server.isDown = false
      await until('it is back', async () => (await limiter.consume('key')).source === 'store')
    }
  })

  it('goes on deciding where a listener throws', async () => {
    const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    const { server, send } = fakeServer()
    const onStateChange = () => {
      throw new Error('of the listener')
    }
    const { ask } = limiterOn(send, { onStateChange, breaker: { failures: 1, cooldown: 1 } })
    server.isDown = true
    expect((await ask()).source).toBe('local')
    server.isDown = false
    await until('it is back', async () => (await ask()).source === 'store')
    expect(warn).toHaveBeenCalledTimes(2)
  })
})

describe('an outage', () => {
  it('takes no more memory the longer it lasts', { timeout: 60_000 }, async () => {
    setFlagsFromString('--expose-gc')
    const collect = runInNewContext('gc') as () => void
    const { server, send } = fakeServer()
    const { limiter } = limiterOn(send, { breaker: { failures: 1, cooldown: '10m' } })
    server.isDown = true
    const heapAfter = async (from: number, to: number) => {
      for (let i = from; i < to; i++) await limiter.consume(`client ${i % 200_000}`)
      collect()
      return process.memoryUsage().heapUsed / 2 ** 20
    }
    const empty = await heapAfter(0, 1)
    // The fallback holds 100000 keys at most: from then on there is no more of anything.
    const full = await heapAfter(1, 150_000)
    const later = await heapAfter(150_000, 300_000)
    // By its digest, and by its text, as that error might mean that the server lacks the script.
    expect(server.sent).toBe(2)
    expect(full - empty).toBeLessThan(60)
    expect(later - full).toBeLessThan(4)
  })
})
