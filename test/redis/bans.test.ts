import { Redis } from 'ioredis'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createLimiter } from '../../src/index.js'
import { redisStore } from '../../src/redis/index.js'
import { redisStoreOn } from '../../src/redis/store.js'
import { twoSpeedRules } from '../support/two-speed.js'
import { failingServer } from './support/failing.js'
import { manualTime } from './support/manual-time.js'
import { processes } from './support/processes.js'
import { connected, freshPrefix, servers } from './support/stores.js'

const T = 1_700_000_040_000
const minute = 60_000
const hour = 60 * minute
const failing = failingServer()
const processOn = processes()

const ban = { after: 3, within: '10m', for: '1h', growth: 2 } as const

async function several<T>(count: number, ask: () => T | Promise<T>): Promise<T[]> {
  const answers: T[] = []
  for (let i = 0; i < count; i++) answers.push(await ask())
  return answers
}

describe.skipIf(servers === null)('bans in Redis', () => {
  let client: Redis
  let prefix: string
  const commands: string[][] = []
  const send = async (command: readonly string[]) => {
    commands.push([...command])
    return client.call(...(command as [string]))
  }

  beforeAll(() => {
    client = new Redis(servers!.single)
  })
  afterAll(() => client?.disconnect())
  beforeEach(() => {
    prefix = freshPrefix()
    commands.length = 0
  })
  const keysLeft = () => client.keys(`${prefix}*`)
  const limiterOn = (options: object = {}, clock = { time: T }) =>
    createLimiter({
      ...{ name: 'api', limit: 1, window: '1s', ban, ...options },
      store: redisStoreOn(send, { prefix, deadline: '10s' }, () => clock.time)
    } as never) as unknown as import('../../src/index.js').AsyncLimiter

  it('cost one call more a denial, and nothing for what is admitted', async () => {
    const { limiter, calls } = processOn(() => T, { limit: 2, window: '1s', ban }, prefix)
    const callsOf = async (count: number) => {
      calls.length = 0
      await several(count, () => limiter.consume('key'))
      return calls.length
    }
    expect([await callsOf(2), await callsOf(2), await callsOf(1), await callsOf(5)]).toEqual([2, 4, 3, 5])
  })

  it('come of the denials of all processes, once however many there are at a time', async () => {
    const clock = { time: T }
    const limiters = Array.from({ length: 8 }, () => limiterOn({}, clock))
    const flood = () =>
      Promise.all(limiters.flatMap((limiter) => Array.from({ length: 40 }, () => limiter.consume('key'))))
    await flood()
    expect((await limiters[0]!.bans()).bans).toEqual([{ key: 'key', remainingMs: hour }])
    clock.time += hour
    await flood()
    expect((await limiters[7]!.bans()).bans).toEqual([{ key: 'key', remainingMs: 2 * hour }])
  })

  it('are made up for where they did not reach the key', async () => {
    const clock = { time: T }
    const limiter = limiterOn({}, clock)
    await several(4, () => limiter.consume('key'))
    const own = (await keysLeft()).filter((key) => key.includes(':api:'))
    expect(own).toHaveLength(1)
    await client.del(own)
    clock.time += minute
    expect((await several(3, () => limiter.consume('key'))).map(({ retryAfterMs }) => retryAfterMs)).toEqual([
      0,
      hour - minute,
      hour - minute
    ])
  })

  it('leave no key once all is cleared, or a key is reset', async () => {
    const unnamed = { name: undefined }
    for (const options of [{}, unnamed, { strategy: { ...twoSpeedRules, name: 'mine' } }]) {
      const limiter = limiterOn(options)
      for (const key of ['a', 'b', '2001:db8::/56', 'long'.repeat(99)])
        await several(5, () => limiter.consume(key))
      expect((await keysLeft()).length).toBeGreaterThanOrEqual(8)
      await limiter.clear()
      expect(await keysLeft()).toEqual([])
      await several(5, () => limiter.consume('a'))
      await limiter.reset('a')
      expect(await keysLeft()).toEqual([])
      await several(5, () => limiter.consume('a'))
      const store = redisStore(client, { prefix, deadline: '10s' })
      await store.clear()
      expect(await keysLeft()).toEqual([])
    }
  })

  it('leave no key behind once nothing is remembered', async () => {
    const limiter = createLimiter({
      ...{ name: 'api', limit: 1, window: '30ms', ban: { after: 1, for: '40ms', growth: 2, forget: '50ms' } },
      store: redisStore(client, { prefix, deadline: '10s' })
    })
    await several(3, () => limiter.consume('key'))
    const lives = await Promise.all((await keysLeft()).map((key) => client.pttl(key)))
    expect(lives).toHaveLength(2)
    for (const life of lives) expect(life).toBeLessThanOrEqual(90)
  })

  it('are found without holding a server up, by SCAN, however many keys there are', async () => {
    const limiter = limiterOn()
    await Promise.all(Array.from({ length: 3000 }, (_, i) => limiter.consume(`key ${i}`)))
    await Promise.all(Array.from({ length: 30 }, (_, i) => limiter.block(`banned-${i}`, '1h')))
    commands.length = 0
    const found = new Set<string>()
    let after: string | null = null
    do {
      const page: { bans: readonly { key: string }[]; next: string | null } = await limiter.bans({
        after,
        limit: 5
      })
      expect(page.bans.length).toBeLessThanOrEqual(5 + 256)
      for (const { key } of page.bans) found.add(key)
      after = page.next
    } while (after !== null)
    expect([...found].sort()).toEqual(Array.from({ length: 30 }, (_, i) => `banned-${i}`).sort())
    expect(new Set(commands.map(([name]) => name))).toEqual(new Set(['SCAN', 'EVAL']))
    for (const command of commands)
      if (command[0] === 'SCAN') expect(Number(command.at(-1))).toBeLessThanOrEqual(1000)
  })

  it('are listed of one limiter alone, whatever others call themselves, and what others wrote is none', async () => {
    const names = ['a', 'a*', 'ab', '?', '[a-z]']
    const limiters = names.map((name) => limiterOn({ name }))
    for (const [i, limiter] of limiters.entries())
      await limiter.block(`of ${names[i]}`.replace(' ', '-'), '1h')
    for (const [i, limiter] of limiters.entries())
      expect((await limiter.bans()).bans.map(({ key }) => key)).toEqual([`of-${names[i]}`])
    const [own] = (await keysLeft()).filter((key) => key.includes('of-a}:a:'))
    await client.set(own!.replace('of-a', 'text'), 'theirs')
    await client.lpush(own!.replace('of-a', 'list'), 'theirs')
    expect((await limiters[0]!.bans()).bans).toHaveLength(1)
  })

  it('are listed of strategies without Lua, of what is in flight, and of long logs', async () => {
    const rules = [
      { limit: 2, window: '1s', strategy: { ...twoSpeedRules, name: 'mine' } },
      { limit: undefined, window: undefined, ban: undefined, concurrency: 2 },
      { limit: 500, window: '1h', strategy: 'sliding-log' },
      {
        limit: undefined,
        window: undefined,
        limits: [{ concurrency: 2 }, { limit: 9, window: '1h' }],
        name: undefined
      }
    ]
    for (const rule of rules) {
      const limiter = limiterOn(rule)
      if (!('concurrency' in rule) && !('limits' in rule)) await limiter.consume('key')
      await limiter.block('key', '1h')
      await limiter.block('other', Number.POSITIVE_INFINITY)
      const { bans } = await limiter.bans()
      expect([...bans].sort((a, b) => a.remainingMs - b.remainingMs)).toEqual([
        { key: 'key', remainingMs: hour },
        { key: 'other', remainingMs: Number.POSITIVE_INFINITY }
      ])
      await limiter.clear()
    }
  })

  it('are listed, and cleared, through a client that puts a prefix before each key', async () => {
    const prefixing = new Redis(servers!.single, { keyPrefix: `${prefix}app*:` })
    const store = redisStore(prefixing, { prefix, deadline: '10s' })
    const limiter = createLimiter({
      name: 'api',
      limit: 1,
      window: '1m',
      ban: { after: 1, for: '1h' },
      store
    })
    await several(2, () => limiter.consume('key'))
    expect((await limiter.bans()).bans).toEqual([{ key: 'key', remainingMs: expect.any(Number) }])
    await limiter.clear()
    expect(await keysLeft()).toEqual([])
    prefixing.disconnect()
  })

  it('cannot be listed by a function that leads to a cluster, nor while Redis fails', async () => {
    const store = redisStore(send, { prefix, cluster: true })
    const limiter = createLimiter({ name: 'api', limit: 1, window: '1s', store })
    await expect(limiter.bans()).rejects.toMatchObject({ code: 'HEADGATE_MISUSE' })
    const slow = redisStore(() => new Promise(() => {}), { prefix, deadline: 20, onStateChange: () => {} })
    await expect(
      createLimiter({ name: 'api', limit: 1, window: '1s', store: slow }).bans()
    ).rejects.toMatchObject({ code: 'HEADGATE_STORE_FAILED' })
    await expect(limiterOn().bans({ after: 'nowhere' })).rejects.toMatchObject({
      code: 'HEADGATE_BAD_OPTION'
    })
  })
})

describe.skipIf(servers === null)('bans on a cluster', () => {
  const cluster = connected('ioredis 6', 'cluster')

  it('are listed of all nodes', async () => {
    const store = redisStore(cluster.client, { prefix: freshPrefix(), deadline: '10s' })
    const limiter = createLimiter({
      name: 'api',
      limit: 1,
      window: '1m',
      ban: { after: 1, for: '1h' },
      store
    })
    const keys = Array.from({ length: 60 }, (_, i) => `key-${i}`)
    await Promise.all(keys.map((key) => several(3, () => limiter.consume(key))))
    const found: string[] = []
    let after: string | null = null
    do {
      const page: { bans: readonly { key: string }[]; next: string | null } = await limiter.bans({
        after,
        limit: 7
      })
      found.push(...page.bans.map(({ key }) => key))
      after = page.next
    } while (after !== null)
    expect(found.sort()).toEqual([...keys].sort())
    await limiter.clear()
    expect((await limiter.bans()).bans).toEqual([])
  })
})

describe.skipIf(servers === null)('bans, and what a process knows by itself', () => {
  const time = manualTime(T)

  it('are of denials that are remembered as well', async () => {
    const { limiter, calls } = processOn(time.clock, { limit: 1, window: '1m', ban }, freshPrefix(), {
      denyCache: '10s'
    })
    await several(2, () => limiter.consume('key'))
    const remembered = await limiter.consume('key')
    expect(remembered).toMatchObject({ source: 'cache', allowed: false })
    expect((await limiter.consume('key')).retryAfterMs).toBe(hour)
    await limiter.consume('key')
    calls.length = 0
    time.ms = 5000
    expect(await limiter.consume('key')).toMatchObject({ source: 'cache', retryAfterMs: hour - 5000 })
    expect(calls).toHaveLength(0)
  })

  it('end what is leased', async () => {
    const prefix = freshPrefix()
    const rule = { limit: 100, window: '1h', ban: { after: 1, for: '2h' } }
    const [leasing, other] = [
      processOn(time.clock, { ...rule, lease: 10 }, prefix),
      processOn(time.clock, rule, prefix)
    ]
    for (let i = 0; i < 5; i++) await leasing.limiter.consume('key')
    expect((await leasing.limiter.consume('key', 96)).retryAfterMs).toBe(2 * hour)
    expect((await leasing.limiter.consume('key')).retryAfterMs).toBe(2 * hour)
    expect((await other.limiter.consume('key')).retryAfterMs).toBe(2 * hour)
  })
})

describe.skipIf(servers === null)('bans while Redis fails', () => {
  it('come of nothing that was denied meanwhile; those there are hold', async () => {
    const rule = { limit: 1, window: '1h', ban: { after: 3, for: '2h' } }
    const { limiter, other, down, back } = failing(rule)
    await several(4, () => limiter.consume('banned'))
    await down()
    expect(await limiter.consume('banned')).toMatchObject({ allowed: false, source: 'local' })
    for (const { source, retryAfterMs } of await several(9, () => limiter.consume('key'))) {
      expect(source).toBe('local')
      expect(retryAfterMs).toBeLessThanOrEqual(hour)
    }
    await back()
    expect((await other.consume('banned')).retryAfterMs).toBeGreaterThan(hour)
    expect((await other.bans()).bans.map(({ key }) => key)).toEqual(['banned'])
  })
})
