import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { runs } from '../../support/traces.js'
import { twoSpeedRules } from '../../support/two-speed.js'
import { type Fault, failingServer, taken } from '../support/failing.js'
import { servers } from '../support/stores.js'
import { until } from '../support/until.js'

const failing = failingServer()

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

  // Where this process decides, a live decision shows the mark of the payment before, and would fail as one.
  const inLua = named.filter(([, strategy]) => strategy !== twoSpeedRules)
  it.each(inLua)('is charged once, whatever fails in which order: %s', async (_, strategy) => {
    const step = fc.record({
      cost: fc.integer({ min: 1, max: 9 }),
      key: fc.constantFrom('key', 'other'),
      server: fc.constantFrom<Fault>(null, 'unreached'),
      payments: fc.constantFrom<Fault>(null, 'unreached', 'lossy'),
      isGivenBack: fc.boolean()
    })
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 8 }), async (steps) => {
        const { limiter, faults, used, back, down, store } = failing({
          strategy,
          limit: 1000,
          window: '365d'
        })
        const expected: Record<string, number> = { key: 0, other: 0 }
        for (const { cost, key, server, payments, isGivenBack } of steps) {
          faults.ofPayments = payments
          if (server === null) await back()
          else await down(server)
          const units = await taken(limiter, cost, key)
          if (isGivenBack) await units.giveBack().catch(() => {})
          else expected[key]! += cost
        }
        faults.ofPayments = null
        await until('all is as it was used', async () => {
          await down()
          await back()
          for (let i = 0; i < 3; i++) await limiter.peek('another')
          return (await used('key')) === expected.key && (await used('other')) === expected.other
        })
        await store.close()
      }),
      runs(15)
    )
  })

  it('keeps nobody waiting for a key that owes nothing any more', async () => {
    const { limiter, used, back, down } = failing({ strategy: 'gcra', limit: 100, window: 10_000 })
    await down()
    await limiter.consume('little')
    await limiter.consume('key', 100)
    await until('it owes nothing', async () => (await limiter.peek('little')).remaining === 100)
    await back()
    await until('it is charged', async () => (await used()) > 90, 800)
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
