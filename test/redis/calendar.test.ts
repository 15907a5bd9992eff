import { describe, expect, it } from 'vitest'
import { Calendar } from '../../src/core/calendar/calendar.js'
import { createLimiter } from '../../src/index.js'
import { redisStore } from '../../src/redis/index.js'
import { clockedStore, limiterIn } from '../store-suite/clocked-store.js'
import { manualTime } from './support/manual-time.js'
import { processes } from './support/processes.js'
import { connected, freshPrefix, makeStores, servers } from './support/stores.js'

const start = Date.parse('2026-12-31T14:59:50Z')
/** The end of the year in Tokyo. */
const end = Date.parse('2026-12-31T15:00:00Z')
const monthly = { name: 'plan', limit: 12, window: 'month', timeZone: 'Asia/Tokyo' } as const

const processOn = processes()

describe.skipIf(servers === null)('windows of the calendar on Redis', () => {
  const connection = connected('ioredis 6', 'single')
  const makeStore = makeStores(connection)
  const time = manualTime(start)

  it('end by the clock of the server', async () => {
    const store = redisStore(connection.client, { prefix: freshPrefix(), deadline: '10s' })
    const limiter = createLimiter({ ...monthly, store })
    const { end: month } = new Calendar({ unit: 'month', timeZone: 'Asia/Tokyo', startsOn: null }).windowAt(
      Date.now()
    )
    const asked = Date.now()
    const { resetMs } = await limiter.consume('a')
    expect(resetMs).toBeLessThanOrEqual(month - asked + 1000)
    expect(resetMs).toBeGreaterThanOrEqual(month - Date.now() - 1000)
    await store.close()
  })

  it('stand beside what is in flight', async () => {
    const options = {
      limits: [
        { name: 'flights', concurrency: 2 },
        { ...monthly, limit: 3 }
      ]
    }
    const store = clockedStore(makeStore, start)
    const limiter = limiterIn(store, options)
    const take = async () => (await limiter.acquire('a', 1)) as { allowed: boolean; release(): void }
    const first = await take()
    await take()
    expect((await take()).allowed).toBe(false)
    first.release()
    store.clock.time = end - 1
    expect((await limiter.peek('a')).tiers[1]).toMatchObject({ remaining: 1, resetMs: 1 })
    store.clock.time = end
    expect((await limiter.peek('a')).tiers[1]).toMatchObject({ remaining: 3 })
  })

  it('hold over processes that lease, and no lease outlives its month', async () => {
    const prefix = freshPrefix()
    time.ms = 0
    const two = [0, 1].map(() => processOn(time.clock, { ...monthly, lease: 4 }, prefix))
    const admitted = async () => {
      let count = 0
      for (let i = 0; i < 20; i++) if ((await two[i % 2]!.limiter.consume('a')).allowed) count++
      return count
    }
    expect(await admitted()).toBe(12)
    time.ms = end - start
    expect(await admitted()).toBe(12)
  })
})
