import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createLimiter, type Permit } from '../../../src/index.js'
import { naming } from '../../support/errors.js'

beforeEach(() => void vi.useFakeTimers({ now: 1_700_000_000_000 }))
afterEach(() => void vi.useRealTimers())

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms)

describe('a limit that finds itself', () => {
  it('is of all keys together, and a decision says what it is now', () => {
    const limiter = createLimiter({ concurrency: { adaptive: 'aimd', initial: 3, max: 50 } })
    const held = ['a', 'b', 'c'].map((key) => limiter.acquire(key))
    expect(held.map(({ allowed, limit, remaining }) => [allowed, limit, remaining])).toEqual([
      [true, 3, 2],
      [true, 3, 1],
      [true, 3, 0]
    ])
    expect(limiter.acquire('d')).toMatchObject({ allowed: false, limit: 3, remaining: 0 })
    held[0]!.release('ignored')
    expect(limiter.acquire('d')).toMatchObject({ allowed: true, limit: 3 })
    expect(limiter.policies[0]).toMatchObject({ limit: 50, unit: 'concurrent-requests' })
  })

  it('grows while it is used and all goes well, and gives way to failures; what says nothing moves nothing', async () => {
    const limiter = createLimiter({ concurrency: { adaptive: 'aimd', initial: 4, max: 50 } })
    const round = async (result: 'success' | 'failure' | 'ignored' | 'aborted') => {
      const held: Permit[] = []
      for (;;) {
        const permit = limiter.acquire('k')
        if (!permit.allowed) break
        held.push(permit)
      }
      await pass(20)
      for (const permit of held) permit.release(result)
      return limiter.peek('k').limit
    }
    for (let i = 0; i < 30; i++) await round('ignored')
    expect(await round('ignored')).toBe(4)
    for (let i = 0; i < 30; i++) await round('success')
    const grown = await round('success')
    expect(grown).toBeGreaterThan(8)
    for (let i = 0; i < 5; i++) await round('failure')
    expect(await round('failure')).toBeLessThan(grown / 2)
  })

  it('stands beside windows, and has one line for all', async () => {
    const limiter = createLimiter({
      limits: [
        { limit: 2, window: '1h' },
        { concurrency: { adaptive: 'gradient', initial: 1 }, queue: 1, maxWait: '1m' }
      ]
    })
    const first = await limiter.acquire('a')
    const second = limiter.acquire('b')
    expect(await limiter.acquire('c')).toMatchObject({ allowed: false })
    first.release()
    expect(await second).toMatchObject({ allowed: true })
    expect(limiter.peek('a').tiers[0]).toMatchObject({ remaining: 1 })
    expect(limiter.peek('c').tiers[0]).toMatchObject({ remaining: 2 })
  })

  it('by `run`: an error is a failure, unless its status says that the request was wrong', async () => {
    const limiter = createLimiter({ concurrency: { adaptive: 'aimd', initial: 10, max: 50 } })
    const fail = (error: object) =>
      limiter.run('k', async () => {
        await pass(5)
        throw Object.assign(new Error('no'), error)
      })
    for (let i = 0; i < 10; i++) await expect(fail({ status: 404 })).rejects.toThrow('no')
    expect(limiter.peek('k')).toMatchObject({ limit: 10, remaining: 10 })
    for (let i = 0; i < 10; i++) await expect(fail({ statusCode: 503 })).rejects.toThrow('no')
    expect(limiter.peek('k').limit).toBeLessThan(10)
  })

  it.each<[object, string]>([
    [{ adaptive: 'gradiant' }, "did you mean 'gradient'?"],
    [{ adaptive: 'gradient', min: 0 }, '`concurrency.min` is 0'],
    [{ adaptive: 'gradient', min: 5, max: 4 }, '`concurrency.max` is 4'],
    [{ adaptive: 'aimd', tolerance: 2 }, '`concurrency.tolerance` is 2']
  ])('%j is refused', (concurrency, part) => {
    expect(() => createLimiter({ concurrency } as never)).toThrow(naming('HEADGATE_BAD_OPTION', part))
  })

  it('and a line whose looks would be charged are refused with a store outside the process', async () => {
    const { redisStore } = await import('../../../src/redis/index.js')
    const store = redisStore(async () => null)
    expect(() => createLimiter({ concurrency: 1, queue: 3, countDenied: true, store })).toThrow(
      naming('HEADGATE_BAD_OPTION', '`queue` is 3', '`countDenied`')
    )
  })

  it('is of one process', async () => {
    const { redisStore } = await import('../../../src/redis/index.js')
    const store = redisStore(async () => null)
    expect(() => createLimiter({ concurrency: { adaptive: 'gradient' }, store })).toThrow(
      naming('HEADGATE_BAD_OPTION', '`store`', 'memoryStore()')
    )
  })
})
