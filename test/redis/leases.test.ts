import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { RedisStoreOptions } from '../../src/redis/options.js'
import { runs } from '../support/traces.js'
import { manualTime } from './support/manual-time.js'
import { processes } from './support/processes.js'
import { freshPrefix, servers } from './support/stores.js'
import { until } from './support/until.js'

const processOn = processes()
const start = 1_700_000_040_000

describe.skipIf(servers === null)('a lease', () => {
  const time = manualTime(start)
  const policy = { limit: 100, window: '1h', lease: 10 }

  function one(options: object = policy, settings: RedisStoreOptions = {}) {
    const prefix = freshPrefix()
    const mine = processOn(time.clock, options, prefix, settings)
    const { lease, ...bare } = { lease: 0, ...options }
    const other = processOn(time.clock, bare, prefix)
    /** How much is left, as a process that leases nothing sees it. */
    const left = async () => (await other.limiter.peek('key')).remaining
    return { ...mine, other, left, lease }
  }

  it('is taken for a key that is asked for again, and spent here', async () => {
    const { limiter, calls, left } = one()
    const decisions = []
    for (let i = 0; i < 13; i++) decisions.push(await limiter.consume('key'))
    expect(decisions.map(({ source }) => source)).toEqual([
      'store',
      'store',
      ...Array(10).fill('lease'),
      'store'
    ])
    expect(decisions.map(({ remaining }) => remaining)).toEqual(Array.from({ length: 13 }, (_, i) => 99 - i))
    expect(calls.length).toBe(3)
    // Charged: what was admitted, and what is held.
    expect(await left()).toBe(100 - 13 - 10)
    expect((await limiter.peek('key')).remaining).toBe(100 - 13)
  })

  it('needs about a hundredth of the calls at a hundred', async () => {
    const { limiter, calls } = one({ limit: 1_000_000, window: '1h', lease: 100 })
    for (let i = 0; i < 10_000; i++) await limiter.consume('key')
    expect(calls.length).toBeGreaterThanOrEqual(99)
    expect(calls.length).toBeLessThanOrEqual(102)
  })

  it('leaves a single process’s decisions as they are, whatever they cost', async () => {
    const costs = fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1, maxLength: 40 })
    await fc.assert(
      fc.asyncProperty(
        costs,
        fc.constantFrom('fixed-window', 'gcra', 'sliding-log'),
        async (drawn, strategy) => {
          const { limiter } = one({ ...policy, strategy })
          const plain = processOn(time.clock, { strategy, limit: 100, window: '1h' }, freshPrefix())
          for (const cost of drawn) {
            const [leased, expected] = [
              await limiter.consume('key', cost),
              await plain.limiter.consume('key', cost)
            ]
            expect([leased.allowed, leased.remaining]).toEqual([expected.allowed, expected.remaining])
          }
        }
      ),
      runs(20)
    )
  })

  it('is never more than its size, however requests cost', async () => {
    const { limiter, left } = one()
    let admitted = 0
    for (let i = 0; i < 20; i++) {
      const cost = 1 + (i % 12)
      if ((await limiter.consume('key', cost)).allowed) admitted += cost
      expect(100 - admitted - (await left())).toBeGreaterThanOrEqual(0)
      expect(100 - admitted - (await left())).toBeLessThanOrEqual(10)
    }
  })

  it('is waited for by those who ask meanwhile', async () => {
    const { limiter, calls, left } = one()
    await limiter.consume('key')
    calls.length = 0
    const decisions = await Promise.all(Array.from({ length: 99 + 5 }, () => limiter.consume('key')))
    expect(decisions.filter(({ allowed }) => allowed).length).toBe(99)
    expect(calls.length).toBeLessThanOrEqual(6)
    expect(await left()).toBe(0)
  })

  it('is dropped at a reset, even on its way', async () => {
    const { limiter, left } = one()
    await limiter.consume('key')
    await Promise.all([limiter.consume('key'), limiter.reset('key')])
    expect(await left()).toBe(100)
    expect(await limiter.consume('key')).toMatchObject({ remaining: 99, source: 'store' })
    expect(await limiter.consume('key')).toMatchObject({ remaining: 98, source: 'store' })
    await limiter.reset('key')
    expect(await limiter.consume('key')).toMatchObject({ remaining: 99, source: 'store' })
  })

  it('is given back at a block, even on its way', async () => {
    const { limiter, other, store } = one()
    await limiter.consume('key')
    await Promise.all([limiter.consume('key'), limiter.block('key', '1m')])
    expect(await limiter.consume('key')).toMatchObject({ allowed: false, retryAfterMs: 60_000 })
    await store.close()
    time.ms = 60_000
    expect((await other.limiter.peek('key')).remaining).toBe(98)
  })

  it('is not given back to what was charged after a reset', async () => {
    const { limiter, store, left } = one()
    await limiter.consume('key')
    await Promise.all([
      limiter.consume('key'),
      limiter.block('key', '1m'),
      limiter.reset('key'),
      limiter.consume('key', 20)
    ])
    await store.close()
    expect(await left()).toBe(80)
  })

  it('is given back where a denial blocks the key', async () => {
    const { limiter } = one({ ...policy, block: '1m' })
    for (let i = 0; i < 3; i++) await limiter.consume('key')
    expect((await limiter.consume('key', 99)).allowed).toBe(false)
    expect((await limiter.consume('key')).allowed).toBe(false)
  })

  it('is given back by `close`, from when on nothing is leased', async () => {
    const { limiter, store, left, calls } = one()
    for (let i = 0; i < 5; i++) await limiter.consume('key')
    await store.close()
    expect(await left()).toBe(95)
    calls.length = 0
    for (let i = 0; i < 5; i++) expect((await limiter.consume('key')).source).toBe('store')
    expect(calls.length).toBe(5)
    expect(await left()).toBe(90)
  })

  it('is given back by `close`, even on its way', async () => {
    const { limiter, store, left } = one()
    await limiter.consume('key')
    const asked = limiter.consume('key')
    await store.close()
    expect((await asked).allowed).toBe(true)
    expect(await left()).toBe(98)
  })

  it('takes refunds back into the store', async () => {
    const { limiter, left, store } = one()
    for (let i = 0; i < 5; i++) await limiter.consume('key')
    await limiter.refund('key', 2)
    await store.close()
    expect(await left()).toBe(97)
  })

  it('is spent while the store fails, and no longer than it is worth', async () => {
    const settings = { onStoreError: 'deny', breaker: { failures: 1, cooldown: '1d' } } as const
    const { limiter, faults, other } = one(
      { limit: 20, window: '1h', lease: 3 },
      { ...settings, onStateChange() {} }
    )
    for (let i = 0; i < 2; i++) await limiter.consume('key')
    faults.isDown = true
    const sources = []
    for (let i = 0; i < 5; i++) sources.push((await limiter.consume('key')).source)
    expect(sources).toEqual(['lease', 'lease', 'lease', 'deny', 'deny'])
    expect((await other.limiter.peek('key')).remaining).toBe(15)
  })

  it('that never came is nobody’s, and the next is asked for', async () => {
    const { limiter, faults, left } = one(policy, { onStoreError: 'deny', breaker: { failures: 100 } })
    await limiter.consume('key')
    faults.isDown = true
    const lost = await Promise.all([1, 2, 3].map(() => limiter.consume('key')))
    expect(lost.map(({ source }) => source)).toEqual(['deny', 'deny', 'deny'])
    faults.isDown = false
    expect((await limiter.consume('key')).source).toBe('store')
    expect((await limiter.consume('key')).source).toBe('lease')
    expect(await left()).toBe(100 - 2 - 10)
  })

  it('is worth nothing in another window', async () => {
    const { limiter } = one({ limit: 10, window: 1000, lease: 5 })
    time.ms = 0.9
    for (let i = 0; i < 3; i++) await limiter.consume('key')
    time.ms = 1000
    expect(await limiter.consume('key')).toMatchObject({ source: 'store', remaining: 9 })
  })
})

describe.skipIf(servers === null)('a lease that lies idle', () => {
  it('is given back after a second, and nothing ticks on', async () => {
    const prefix = freshPrefix()
    const policy = { limit: 100, window: '365d' }
    const { limiter, store } = processOn(null, { ...policy, lease: 10 }, prefix)
    const other = processOn(null, policy, prefix)
    for (let i = 0; i < 3; i++) await limiter.consume('key')
    expect((await other.limiter.peek('key')).remaining).toBe(100 - 3 - 9)
    // The time is the process's own, and so is the timer that looks for what is idle.
    await until('the lease is returned', async () => (await other.limiter.peek('key')).remaining === 97, 4000)
    expect((await limiter.consume('key')).source).toBe('store')
    await store.close()
  })
})
