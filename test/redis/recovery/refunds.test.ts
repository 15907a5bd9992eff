import { describe, expect, it } from 'vitest'
import { failingServer, taken } from '../support/failing.js'
import { servers } from '../support/stores.js'
import { until } from '../support/until.js'

const failing = failingServer()

describe.skipIf(servers === null)('what is given back', () => {
  it('is given back in the store, if that was charged for it meanwhile', async () => {
    const { limiter, used, down, back } = failing({ strategy: 'sliding-log' })
    await down()
    const [kept, given] = [await taken(limiter, 4), await taken(limiter, 3)]
    expect(given.source).toBe('local')
    await back()
    await until('it is charged', async () => (await used()) === 7)
    await given.giveBack()
    expect(await used()).toBe(4)
    await kept.giveBack(1)
    expect(await used()).toBe(3)
  })

  it('is given back here as long as it is here', async () => {
    const { limiter, used, down, back } = failing({})
    await down()
    const [, given] = [await taken(limiter, 4), await taken(limiter, 3)]
    await given.giveBack()
    await back()
    await until('it is charged', async () => (await used()) > 0)
    expect(await used()).toBe(4)
  })

  it('waits for the store where that is down, and is given back once', async () => {
    const { limiter, used, down, back } = failing({ strategy: 'sliding-log' })
    const [, given] = [await taken(limiter, 4), await taken(limiter, 3)]
    expect(given.source).toBe('store')
    await down()
    await expect(given.giveBack()).rejects.toMatchObject({ code: 'HEADGATE_STORE_FAILED' })
    expect(await used()).toBe(7)
    await back()
    await until('it is given back', async () => (await used()) === 4)
    await down()
    await back()
    await limiter.peek('key')
    expect(await used()).toBe(4)
  })

  it('is what was leased and not spent, too', async () => {
    const { limiter, store, used, down, back } = failing({ lease: 10 })
    for (let i = 0; i < 3; i++) await limiter.consume('key')
    expect(await used()).toBe(12)
    await down()
    await store.close()
    await back()
    await until('it is given back', async () => (await used()) === 3)
  })

  it('waits until it is known whether the store was charged', async () => {
    const { limiter, faults, used, down, back } = failing({ strategy: 'sliding-log' })
    await down()
    const given = await taken(limiter, 3)
    await taken(limiter, 4)
    faults.ofPayments = 'lossy'
    await back()
    await until('it was charged', async () => (await used()) === 7)
    await given.giveBack()
    expect(await used()).toBe(7)
    faults.ofPayments = null
    await until('it is given back', async () => (await used()) === 4)
  })
})
