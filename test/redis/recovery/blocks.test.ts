import { describe, expect, it } from 'vitest'
import { failingServer } from '../support/failing.js'
import { servers } from '../support/stores.js'
import { until } from '../support/until.js'

const failing = failingServer()

describe.skipIf(servers === null)('a block', () => {
  it('that was made or met before holds here, and ends as it was to end', async () => {
    const { limiter, other, down, back } = failing({ limit: 3, block: '1h' })
    await limiter.block('by hand', '1m')
    await other.block('met', '1m')
    await limiter.consume('met')
    await limiter.consume('penalty', 4)
    await limiter.consume('penalty', 3)
    await limiter.consume('penalty')
    await limiter.block('short', 30)
    await down()
    for (const key of ['by hand', 'met', 'penalty'])
      expect(await limiter.consume(key), key).toMatchObject({ allowed: false, source: 'local' })
    expect((await limiter.consume('by hand')).retryAfterMs).toBeLessThanOrEqual(60_000)
    expect((await limiter.consume('unknown')).allowed).toBe(true)
    await until('the short one is over', async () => (await limiter.consume('short')).allowed)
    await back()
    for (const key of ['by hand', 'met', 'penalty'])
      expect((await other.consume(key)).allowed, key).toBe(false)
  })

  it('of a request that costs more than is ever admitted is no block without end', async () => {
    const { limiter, other, down } = failing({ limit: 3 })
    await other.block('key', 100)
    expect(await limiter.consume('key', 4)).toMatchObject({
      allowed: false,
      retryAfterMs: Number.POSITIVE_INFINITY
    })
    await down()
    expect((await limiter.consume('key')).source).toBe('local')
    await until('it is over', async () => (await limiter.consume('key')).allowed)
  })

  it('that is made in an outage holds here and is carried to the store, where it shortens none', async () => {
    const { limiter, other, down, back } = failing({ limit: 3, block: '2h' })
    await other.block('longer', '1d')
    await down()
    await expect(limiter.block('by hand', '1m')).rejects.toMatchObject({ code: 'HEADGATE_STORE_FAILED' })
    await expect(limiter.block('longer', '1m')).rejects.toThrow()
    await expect(limiter.block('for ever', Number.POSITIVE_INFINITY)).rejects.toThrow()
    for (let i = 0; i < 4; i++) await limiter.consume('penalty')
    for (const key of ['by hand', 'longer', 'penalty', 'for ever'])
      expect((await limiter.consume(key)).allowed, key).toBe(false)
    await back()
    await until('they are there', async () => !(await other.consume('penalty')).allowed)
    await until('they are there', async () => !(await other.consume('by hand')).allowed)
    const waits = await Promise.all(
      ['by hand', 'longer', 'penalty', 'for ever'].map(async (key) => (await other.peek(key)).retryAfterMs)
    )
    const hour = 3_600_000
    expect(waits[0]).toBeLessThanOrEqual(60_000)
    expect(waits[1]).toBeGreaterThan(23 * hour)
    expect(waits[2]).toBeGreaterThan(hour)
    expect(waits[3]).toBe(Number.POSITIVE_INFINITY)
  })

  it('is lifted by a reset, in an outage too', async () => {
    const { limiter, other, down, back } = failing({})
    await limiter.block('key', '1h')
    await down()
    expect((await limiter.consume('key')).allowed).toBe(false)
    await limiter.reset('key').catch(() => {})
    expect((await limiter.consume('key')).allowed).toBe(true)
    await expect(limiter.block('other', '1h')).rejects.toThrow()
    await limiter.reset('other').catch(() => {})
    await back()
    await limiter.consume('marker')
    expect((await other.consume('other')).allowed).toBe(true)
  })
})
