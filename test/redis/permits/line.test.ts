import { describe, expect, it } from 'vitest'
import { createLimiter, type Permit } from '../../../src/index.js'
import { redisStoreOn } from '../../../src/redis/store.js'
import { connected, freshPrefix, servers } from '../support/stores.js'

describe.skipIf(servers === null)('a line over Redis', () => {
  const direct = connected('ioredis 6', 'single')

  it('lets in all for whom there is room in a few round trips, in the order of their arrival', async () => {
    let trips = 0
    const send = (words: readonly string[]) => {
      trips++
      return (direct.client as { call(...words: readonly string[]): Promise<unknown> }).call(...words)
    }
    const store = redisStoreOn(send, { prefix: freshPrefix(), deadline: '10s' }, null)
    const limiter = createLimiter({ concurrency: 40, queue: 100, maxWait: '10s', store })
    const held = await Promise.all(Array.from({ length: 40 }, () => limiter.acquire('k')))
    const order: number[] = []
    const waiting = Array.from({ length: 80 }, async (_, at) => {
      const permit = await limiter.acquire('k')
      if (permit.allowed) order.push(at)
      return permit
    })
    // All of them have been denied once.
    await limiter.peek('k')
    trips = 0
    for (const permit of held) permit.release()
    const first: Permit[] = await Promise.all(waiting.slice(0, 40))
    expect(first.every(({ allowed }) => allowed)).toBe(true)
    // One for each would be forty.
    expect(trips).toBeLessThan(20)
    for (const permit of first) permit.release()
    const second = await Promise.all(waiting.slice(40))
    expect(second.every(({ allowed }) => allowed)).toBe(true)
    expect(order).toEqual(Array.from({ length: 80 }, (_, at) => at))
    for (const permit of second) permit.release()
    await store.close()
  })
})
