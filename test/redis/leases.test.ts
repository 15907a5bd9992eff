import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fixedWindow } from '../../src/core/strategies/fixed-window.js'
import type { Verdict } from '../../src/core/verdict.js'
import type { Policy } from '../../src/index.js'
import type { RedisStoreOptions } from '../../src/redis/options.js'
import { runs } from '../support/traces.js'
import { twoSpeedRules } from '../support/two-speed.js'
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

  it('leaves nothing of a limit unspent where two processes ask in turn', async () => {
    const sizes = fc.record({
      limit: fc.integer({ min: 1, max: 60 }),
      part: fc.double({ min: 0, max: 1, noNaN: true })
    })
    const strategy = fc.constantFrom('fixed-window', 'gcra', 'sliding-log', twoSpeedRules)
    await fc.assert(
      fc.asyncProperty(sizes, strategy, async ({ limit, part }, rules) => {
        const prefix = freshPrefix()
        const lease = Math.max(1, Math.round(limit * part))
        const two = [1, 2].map(() =>
          processOn(time.clock, { limit, window: '365d', lease, strategy: rules }, prefix)
        )
        for (let i = 0; i < limit; i++)
          expect(
            (await two[i % 2]!.limiter.consume('key')).allowed,
            `${i} of ${limit}, ${lease} leased`
          ).toBe(true)
        for (const { limiter } of two) expect((await limiter.consume('key')).allowed).toBe(false)
      }),
      { ...runs(20), examples: [[{ limit: 10, part: 0.5 }, 'fixed-window']] }
    )
  })

  it('is given back to each tier that still counts it', async () => {
    const limits = [
      { name: 'second', limit: 10, window: '1s' },
      { name: 'hour', limit: 200, window: '1h', strategy: 'sliding-log' }
    ]
    const { limiter, store, other } = one({ name: undefined, limits, lease: 5 })
    let admitted = 0
    // A third of what the hour has room for, a few at a time.
    for (let burst = 0; burst < 22; burst++) {
      for (let i = 0; i < 3; i++) {
        expect((await limiter.consume('key')).allowed, `${admitted}`).toBe(true)
        admitted++
      }
      time.ms += 150_000
    }
    await store.close()
    expect((await other.limiter.peek('key')).tiers[1]!.remaining).toBe(200 - admitted)
  })

  it.each(['fixed-window', { ...fixedWindow, name: 'window-here' }])(
    'ends a second after another process has reset the key: %o',
    async (strategy) => {
      const { limiter, other, store, left } = one({ ...policy, strategy })
      for (let i = 0; i < 3; i++) await limiter.consume('key')
      time.ms = 10
      await other.limiter.reset('key')
      await other.limiter.consume('key', 20)
      expect((await limiter.consume('key')).source).toBe('lease')
      time.ms = 1010
      // What it had leased before is not given back out of what was used after.
      expect(await limiter.consume('key')).toMatchObject({ source: 'store', remaining: 79 })
      expect((await limiter.consume('key')).source).toBe('lease')
      await store.close()
      expect(await left()).toBe(100 - 20 - 2)
    }
  )

  it('that was taken after a reset is given back', async () => {
    const { limiter, other, store, left } = one()
    for (let i = 0; i < 3; i++) await limiter.consume('key')
    time.ms = 10
    await other.limiter.reset('key')
    time.ms = 1020
    for (let i = 0; i < 2; i++) await limiter.consume('key')
    time.ms = 1500
    await store.close()
    expect(await left()).toBe(98)
  })

  it('is taken under computed limits, and spent under the same ones alone', async () => {
    const limits = [
      { name: 'a', limit: 100, window: '1h' },
      { name: 'b', limit: 100, window: '1d' }
    ]
    const { limiter, store } = one({ name: undefined, limits, lease: 5 })
    const computing = limiter as unknown as {
      withLimits(limits: readonly unknown[]): readonly Policy[]
      take(key: string, cost: number, policies: readonly Policy[]): Verdict | Promise<Verdict>
    }
    const take = async (...limits: number[]) => {
      const { source, isAllowed, out } = await computing.take('key', 1, computing.withLimits(limits))
      expect(isAllowed).toBe(true)
      return [source, out[0], out[4]]
    }
    expect(await take(50, 80)).toEqual(['store', 49, 79])
    expect(await take(50, 80)).toEqual(['store', 48, 78])
    expect(await take(50, 80)).toEqual(['lease', 47, 77])
    expect(await take(60, 80)).toEqual(['store', 56, 76])
    expect(await take(60, 80)).toEqual(['lease', 55, 75])
    await store.close()
    expect(await take(60, 80)).toEqual(['store', 54, 74])
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
