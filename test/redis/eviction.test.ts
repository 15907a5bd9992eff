import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, type Mock, vi } from 'vitest'
import { createLimiter } from '../../src/index.js'
import { connectionOf, type RedisClient } from '../../src/redis/clients/client.js'
import { Eviction } from '../../src/redis/eviction.js'
import { type RedisStoreOptions, redisStore } from '../../src/redis/index.js'
import { type Connected, clients } from './support/clients.js'
import { ask, type Server, startSingle } from './support/servers.js'
import { freshPrefix, servers } from './support/stores.js'
import { until } from './support/until.js'

let server: Server
let warned: Mock
const cleanup: (() => unknown)[] = []

beforeAll(async () => {
  if (servers !== null) server = await startSingle()
})
afterAll(() => server?.kill9())
beforeEach(() => {
  warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
})
afterEach(async () => {
  vi.restoreAllMocks()
  for (const clean of cleanup.splice(0)) await clean()
})

async function connect(name = 'ioredis 6', options: object = {}): Promise<Connected> {
  const connected = await clients.find((client) => client.name === name)!.connectSingle(server.port, options)
  cleanup.push(connected.close)
  return connected
}

async function configure(maxmemory: string, policy: string, port = server.port): Promise<void> {
  await ask(port, 'CONFIG', 'SET', 'maxmemory', maxmemory)
  await ask(port, 'CONFIG', 'SET', 'maxmemory-policy', policy)
}

/** How often a server was asked for it. */
async function looks(): Promise<number> {
  const stats = String(await ask(server.port, 'INFO', 'commandstats'))
  const [, calls] = /cmdstat_info:calls=(\d+)/.exec(stats)!
  return Number(calls)
}

const said = () =>
  warned.mock.calls.map(([message, options]) => [(options as { code: string }).code, message])

const saying = (policy: string) => [
  'HEADGATE_EVICTION',
  expect.stringMatching(new RegExp(`\`maxmemory-policy\` is ${policy}.*Set \`maxmemory-policy noeviction\``))
]

/** Decides on some keys, and waits until what was asked besides was answered. */
async function decide({ client, command }: Connected, options: RedisStoreOptions = {}) {
  const store = redisStore(client as never, { prefix: freshPrefix(), deadline: '10s', ...options })
  const limiter = createLimiter({ limit: 5, window: '1h', store })
  for (let i = 0; i < 5; i++) {
    expect((await limiter.consume(`key ${i}`)).source).toBe('store')
    await command('PING')
  }
}

describe.skipIf(servers === null)('a server that may evict limits', () => {
  it.each(clients.map(({ name }) => name))('is said to do so, once: %s', async (name) => {
    await configure('100mb', 'allkeys-lru')
    await decide(await connect(name))
    await until('it is said', () => warned.mock.calls.length > 0)
    expect(said()).toEqual([saying('allkeys-lru')])
  })

  it.each(['allkeys-random', 'volatile-ttl', 'volatile-lfu'])('may do it by %s', async (policy) => {
    await configure('100mb', policy)
    await decide(await connect())
    await until('it is said', () => warned.mock.calls.length > 0)
    expect(said()).toEqual([saying(policy)])
  })

  it.each(['ioredis 6', 'node-redis 6'])('may be one node of a cluster: %s', async (name) => {
    const connected = await clients.find((client) => client.name === name)!.connectCluster(servers!.cluster)
    cleanup.push(connected.close)
    const [node] = servers!.cluster as [number]
    cleanup.push(() => configure('0', 'noeviction', node))
    await configure('1gb', 'allkeys-lru', node)
    const store = redisStore(connected.client as never, { prefix: freshPrefix(), deadline: '10s' })
    const limiter = createLimiter({ limit: 5, window: '1h', store })
    await limiter.consume('key')
    await until('it is said', () => warned.mock.calls.length > 0)
    expect(said()).toEqual([saying('allkeys-lru')])
  })

  it.each([
    ['may not evict', '100mb', 'noeviction'],
    ['has no bound', '0', 'allkeys-lru']
  ])('is not one that %s', async (_, maxmemory, policy) => {
    await configure(maxmemory, policy)
    const before = await looks()
    await decide(await connect('node-redis 6'))
    expect(await looks()).toBeGreaterThan(before + 1)
    expect(said()).toEqual([])
  })

  it('is not asked where the user may not ask, and decides all the same', async () => {
    await configure('100mb', 'allkeys-lru')
    await ask(server.port, 'ACL', 'SETUSER', 'silent', 'reset', 'on', '>secret', '~*', '+@all', '-info')
    await decide(
      await connect('ioredis 6', { username: 'silent', password: 'secret', enableReadyCheck: false })
    )
    expect(said()).toEqual([])
  })

  it('is asked no more often than once a minute, and named anew when it has changed', async () => {
    await configure('100mb', 'allkeys-lru')
    const { client, command } = await connect()
    const time = { ms: 1_000_000 }
    const eviction = new Eviction(connectionOf(client as RedisClient, false), () => time.ms)
    const look = async (passedMs: number) => {
      time.ms += passedMs
      const before = await looks()
      eviction.look()
      await command('PING')
      const after = await looks()
      // One of them is that of the test.
      return after - before - 1
    }
    expect(await look(0)).toBe(1)
    expect(await look(1)).toBe(0)
    expect(await look(59_998)).toBe(0)
    expect(await look(1)).toBe(1)
    expect(said()).toEqual([saying('allkeys-lru')])
    await configure('100mb', 'volatile-lru')
    expect(await look(60_000)).toBe(1)
    expect(said()).toEqual([saying('allkeys-lru'), saying('volatile-lru')])
    await configure('100mb', 'noeviction')
    expect(await look(60_000)).toBe(1)
    await configure('100mb', 'volatile-lru')
    expect(await look(60_000)).toBe(1)
    expect(said().slice(2)).toEqual([saying('volatile-lru')])
  })
})
