import { afterEach, describe, expect, it, vi } from 'vitest'
import { type AsyncLimiter, createLimiter } from '../../../src/index.js'
import { redisStore } from '../../../src/redis/index.js'
import { type ClientUnderTest, type Connected, clients } from '../support/clients.js'
import { type FaultProxy, startProxy } from '../support/fault-proxy.js'
import { freshPrefix, servers } from '../support/stores.js'
import { until } from '../support/until.js'

const concurrency = 6
const leaseMs = 1000
const open: Connected[] = []
const proxies: FaultProxy[] = []

afterEach(async () => {
  vi.restoreAllMocks()
  await Promise.all(open.splice(0).map((connection) => connection.close()))
  await Promise.all(proxies.splice(0).map((proxy) => proxy.stop()))
})

/** Sees from outside how many permits are held. */
class Observer {
  out = 0
  most = 0
  served = 0

  enter(cost: number): void {
    this.served++
    this.out += cost
    this.most = Math.max(this.most, this.out)
  }
}

const turn = () => new Promise((go) => setImmediate(go))
const random = (below: number) => Math.floor(Math.random() * below)

async function work(observer: Observer, cost: number, fails: boolean): Promise<void> {
  observer.enter(cost)
  try {
    for (let turns = random(6); turns > 0; turns--) await turn()
    if (fails) throw new Error('the work failed')
  } finally {
    observer.out -= cost
  }
}

/** Requests of all kinds: some leave the line, some fail, some forget to wait. */
async function request(limiter: AsyncLimiter, observer: Observer, key: string): Promise<void> {
  const [cost, kind] = [1 + random(3), random(4)]
  const leaving = new AbortController()
  if (kind === 0) setTimeout(() => leaving.abort(new Error('gone')), random(5))
  const doWork = () => work(observer, cost, kind === 1)
  try {
    const { allowed } = await limiter.run(key, doWork, cost, { signal: leaving.signal })
    if (!allowed) for (let turns = random(6); turns >= 0; turns--) await turn()
  } catch (error) {
    expect(['gone', 'the work failed']).toContain((error as Error).message)
  }
}

async function hammer(
  limiters: readonly AsyncLimiter[],
  count: number,
  key: string,
  isOver: () => boolean = () => false
) {
  const observer = new Observer()
  const line = async (limiter: AsyncLimiter) => {
    while (observer.served < count && !isOver()) await request(limiter, observer, key)
  }
  await Promise.all(limiters.flatMap((limiter) => Array.from({ length: 6 }, () => line(limiter))))
  expect(observer.out).toBe(0)
  return observer
}

const named = (name: string) => clients.find((client) => client.name === name)!
const policy = { name: 'jobs', concurrency, queue: 4, maxWait: '50ms' } as const
const settings = {
  leaseMs,
  deadline: '10s',
  onStoreError: 'deny',
  onStateChange: () => {},
  breaker: { cooldown: 20 }
} as const

describe.skipIf(servers === null)('permits that are hammered', () => {
  const limitersOn = async (
    names: readonly string[],
    connect: (client: ClientUnderTest) => Promise<Connected>
  ) => {
    const prefix = freshPrefix()
    return Promise.all(
      names.map(async (name) => {
        const connection = await connect(named(name))
        open.push(connection)
        const store = redisStore(connection.client as never, { ...settings, prefix })
        return createLimiter({ ...policy, store })
      })
    )
  }

  it.each(['single', 'cluster'] as const)(
    'never exceed the limit on %s, and none is lost',
    async (kind) => {
      const limiters = await limitersOn(['ioredis 6', 'node-redis 6', 'ioredis 5'], (client) =>
        kind === 'single' ? client.connectSingle(servers!.single) : client.connectCluster(servers!.cluster)
      )
      const observer = await hammer(limiters, 3000, 'key')
      expect(observer.most).toBeGreaterThan(concurrency / 2)
      expect(observer.most).toBeLessThanOrEqual(concurrency)
      await until('all are free', async () => (await limiters[0]!.peek('key')).remaining === concurrency)
    },
    60_000
  )

  it('never exceed it where replies and connections are lost, and all come back within a lease', async () => {
    vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    const proxy = await startProxy(servers!.single)
    proxies.push(proxy)
    const limiters = await limitersOn(['ioredis 6', 'ioredis 5'], (client) =>
      client.connectSingle(proxy.port, { retryStrategy: () => 5 })
    )
    let isOver = false
    const faults = async () => {
      for (let i = 0; i < 15; i++) {
        proxy.drop(i % 2 === 0 ? 'replies' : 'requests')
        for (let turns = 0; turns < 30; turns++) await turn()
        proxy.cut()
        await proxy.pass()
        for (let turns = 0; turns < 200; turns++) await turn()
      }
      isOver = true
    }
    const [observer] = await Promise.all([
      hammer(limiters, Number.POSITIVE_INFINITY, 'key', () => isOver),
      faults()
    ])
    expect(proxy.swallowed.cut).toBeGreaterThan(5)
    expect(observer.served).toBeGreaterThan(0)
    expect(observer.most).toBeLessThanOrEqual(concurrency)
    const begun = performance.now()
    await until('all are free', async () => (await limiters[0]!.peek('key')).remaining === concurrency)
    expect(performance.now() - begun).toBeLessThan(2 * leaseMs)
  }, 60_000)
})

describe.skipIf(servers === null)('permits through each client', () => {
  // A lease of real time must end, which they wait for together.
  const kinds = clients.flatMap((client) => [
    { client, kind: 'single' as const },
    { client, kind: 'cluster' as const }
  ])

  it('are taken, renewed and released, on one server and on a cluster', async () => {
    await Promise.all(kinds.map(({ client, kind }) => scenario(client, kind)))
  }, 30_000)
})

async function scenario(client: ClientUnderTest, kind: 'single' | 'cluster'): Promise<void> {
  const connection = await (kind === 'single'
    ? client.connectSingle(servers!.single)
    : client.connectCluster(servers!.cluster))
  open.push(connection)
  const prefix = freshPrefix()
  const limits = [
    { name: 'rate', limit: 1000, window: '365d' },
    { name: 'jobs', concurrency: 3 }
  ] as const
  const make = () =>
    createLimiter({ limits, store: redisStore(connection.client as never, { ...settings, prefix }) })
  const [limiter, other] = [make(), make()]
  const keys = Array.from({ length: 10 }, (_, i) => `key${i}`)
  const permits = await Promise.all(keys.map((key) => limiter.acquire(key, 2)))
  const answers = permits.map(({ allowed, source }) => ({ allowed, source, on: client.name, kind }))
  expect(answers).toEqual(keys.map(() => ({ allowed: true, source: 'store', on: client.name, kind })))
  const begun = performance.now()
  await until('a lease has ended', () => performance.now() > begun + leaseMs + 50)
  for (const key of keys) {
    const { tiers } = await other.peek(key)
    expect(tiers.map(({ remaining }) => remaining)).toEqual([998, 1])
    expect((await other.acquire(key, 2)).allowed).toBe(false)
  }
  expect(permits.filter(({ isLost }) => isLost)).toEqual([])
  for (const permit of permits) permit.release()
  for (const key of keys)
    await until('it is free', async () => (await other.peek(key)).tiers[1]!.remaining === 3)
}
