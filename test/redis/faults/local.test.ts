import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createLimiter } from '../../../src/index.js'
import { redisStore } from '../../../src/redis/index.js'
import { twoSpeedRules } from '../../support/two-speed.js'
import type { Connected } from '../support/clients.js'
import { type FaultProxy, startProxy } from '../support/fault-proxy.js'
import { freshPrefix, servers } from '../support/stores.js'
import { until } from '../support/until.js'
import { clientNamed, expectInTime, limiterOn, noUnhandledRejections } from './outage.js'

noUnhandledRejections()

describe.skipIf(servers === null)('counted here while Redis fails', () => {
  let proxy: FaultProxy
  let [through, direct] = [] as unknown as [Connected, Connected]
  beforeAll(async () => {
    proxy = await startProxy(servers!.single)
    const client = clientNamed('ioredis 6')
    through = await client.connectSingle(proxy.port, { retryStrategy: () => 20 })
    direct = await client.connectSingle(servers!.single)
  })
  afterAll(async () => {
    await Promise.all([through?.close(), direct?.close()])
    await proxy?.stop()
  })

  const begin = async () => {
    await proxy.refuse()
    proxy.cut()
    await until('the client has heard', () => (through.client as { status: string }).status !== 'ready')
  }
  const end = async (isBack: () => Promise<boolean>) => {
    await proxy.pass()
    await until('the store decides', isBack)
  }

  // The two units that Redis has charged before take nothing of the half.
  it('STO-09: half of each of two tiers is admitted, and charged afterwards in each', async () => {
    const prefix = freshPrefix()
    const limits = [
      { name: 'burst', limit: 40, window: '1h' },
      { name: 'day', limit: 20, window: '1d', strategy: 'sliding-window' }
    ] as const
    const options = { prefix, share: 1 / 2, breaker: { cooldown: 50 }, onStateChange: () => {} }
    const limiter = createLimiter({ limits, store: redisStore(through.client as never, options) })
    const other = createLimiter({
      limits,
      store: redisStore(direct.client as never, { prefix, deadline: '5s' })
    })
    expect((await limiter.consume('ada', 2)).source).toBe('store')
    await begin()
    const decisions = []
    for (let i = 0; i < 14; i++) decisions.push(await limiter.consume('ada'))
    expect(new Set(decisions.map(({ source }) => source))).toEqual(new Set(['local']))
    expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(10)
    await end(async () => (await limiter.peek('bob')).source === 'store')
    const used = async () => (await other.peek('ada')).tiers.map(({ limit, remaining }) => limit - remaining)
    await until('it is charged', async () => (await used())[0] !== 2)
    expect(await used()).toEqual([12, 12])
  })

  it('a failure too short for the breaker is made up for, too', async () => {
    const { ask, charged, states } = limiterOn(through.client, { breaker: { failures: 3 } })
    expect((await ask()).source).toBe('store')
    await begin()
    expect((await ask()).source).toBe('local')
    await proxy.pass()
    await until('it is connected', () => (through.client as { status: string }).status === 'ready')
    expect((await ask('another')).source).toBe('store')
    await until('it is charged', async () => (await charged(direct.client)) === 2)
    expect(states).toEqual([])
  })

  it('many at once of one key settle in time, leased or by compare and swap', async () => {
    for (const rule of [
      { lease: 5, limit: 1000 },
      { strategy: twoSpeedRules, limit: 1000 }
    ]) {
      const silent = () => new Promise<never>(() => {})
      const { many, limiter } = limiterOn(silent, { onStoreError: 'allow' }, rule)
      await limiter.consume('key')
      expectInTime(await many(20, 'key'))
    }
  })
})
