import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createLimiter } from '../../../src/index.js'
import { redisStore } from '../../../src/redis/index.js'
import { twoSpeedRules } from '../../support/two-speed.js'
import { clients } from '../support/clients.js'
import { ask, type Server, startSingle } from '../support/servers.js'
import { servers } from '../support/stores.js'
import { until } from '../support/until.js'

const leaseMs = 1000
const jobs = { name: 'jobs', concurrency: 3 }
const rate = { name: 'rate', limit: 100, window: '1h' } as const
const log = { ...rate, name: 'log', strategy: 'sliding-log' } as const

describe.skipIf(servers === null)('permits of a server without memory', () => {
  let server: Server
  let connected: Awaited<ReturnType<(typeof clients)[number]['connectSingle']>>
  beforeAll(async () => {
    if (servers === null) return
    server = await startSingle()
    connected = await clients.find(({ name }) => name === 'ioredis 6')!.connectSingle(server.port)
  })
  afterAll(async () => {
    await connected?.close()
    await server?.kill9()
  })
  const full = (isFull: boolean) => ask(server.port, 'CONFIG', 'SET', 'maxmemory', isFull ? '1' : '0')
  const open = (limits: readonly object[]) => {
    const store = redisStore(connected.client as never, {
      ...{ leaseMs, deadline: '5s', onStoreError: 'deny', onStateChange: () => {} },
      breaker: { failures: 1000 }
    })
    return createLimiter({ limits, store } as never)
  }

  it.each([
    ['alone', [jobs]],
    ['beside a window', [rate, jobs]],
    ['beside a log', [log, jobs]],
    ['beside a strategy without Lua', [{ ...rate, name: 'own', strategy: twoSpeedRules }, jobs]]
  ])('are given to nobody, %s', async (_, limits) => {
    const [one, other] = [open(limits), open(limits)]
    const permits = [await one.acquire('a', 2)]
    await full(true)
    try {
      // Longer than a lease: what is not renewed must be taken by nobody either.
      const end = performance.now() + 1.2 * leaseMs
      await until('the leases have ended', async () => {
        const permit = await other.acquire('a')
        expect(permit).toMatchObject({ allowed: false, source: 'deny' })
        return performance.now() > end
      })
      // What travels together is refused together.
      permits[0]!.release()
      expect((await one.acquire('a')).source).toBe('deny')
    } finally {
      await full(false)
    }
    await until('all are free', async () => (await other.peek('a')).tiers.at(-1)!.remaining === 3)
    const [permit] = await Promise.all([other.acquire('a', 3), other.reset('b')])
    expect(permit.allowed).toBe(true)
    permit.release()
    await until('it is free', async () => (await other.peek('a')).tiers.at(-1)!.remaining === 3)
  })

  it('come back, though nobody is given any', async () => {
    const [one, other] = [open([jobs]), open([jobs])]
    const permit = await one.acquire('back', 3)
    await full(true)
    permit.release()
    try {
      await until('it is free', async () => (await other.peek('back')).remaining === 3)
    } finally {
      await full(false)
    }
  })

  it('are counted by those whose leases last, and the others are dropped as some are taken', async () => {
    const [one, other] = [open([{ ...jobs, name: 'drop' }]), open([{ ...jobs, name: 'drop' }])]
    await one.acquire('drop', 2)
    const [key] = (await ask(server.port, 'KEYS', 'headgate:{drop}*:permits')) as string[]
    await ask(server.port, 'ZADD', key!, '1', 'ended', '2', 'ended too')
    expect((await other.acquire('drop', 2)).allowed).toBe(false)
    expect((await other.acquire('drop')).allowed).toBe(true)
    expect(await ask(server.port, 'ZCARD', key!)).toBe(3)
  })
})
