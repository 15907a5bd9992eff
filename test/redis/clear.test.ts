import { Redis } from 'ioredis'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createLimiter } from '../../src/index.js'
import { redisStore } from '../../src/redis/index.js'
import { freshPrefix, servers } from './support/stores.js'

describe.skipIf(servers === null)('a Redis store that is cleared', () => {
  let client: Redis
  let prefix: string
  const commands: string[][] = []
  const send = async (command: readonly string[]) => {
    commands.push([...command])
    return client.call(...(command as [string]))
  }
  const keysOf = (pattern: string) => client.keys(pattern)

  beforeAll(() => {
    client = new Redis(servers!.single)
  })
  afterAll(() => client?.disconnect())
  beforeEach(() => {
    prefix = freshPrefix()
    commands.length = 0
  })

  it('forgets thousands of keys in steps, that hold no server up', async () => {
    const store = redisStore(send, { prefix, deadline: '10s' })
    const limiter = createLimiter({ name: 'api', limit: 5, window: '1h', store })
    await Promise.all(Array.from({ length: 3000 }, (_, i) => limiter.consume(`key ${i}`)))
    commands.length = 0
    await limiter.clear()
    expect(await keysOf(`${prefix}*`)).toEqual([])
    expect(new Set(commands.map(([name]) => name))).toEqual(new Set(['SCAN', 'UNLINK']))
    for (const [name, ...args] of commands) {
      if (name === 'SCAN') expect(Number(args.at(-1))).toBeLessThanOrEqual(1000)
      else expect(args.length).toBeLessThanOrEqual(1000)
    }
    expect(commands.filter(([name]) => name === 'UNLINK').length).toBeGreaterThan(3)
  })

  it('leaves what is others’, however alike the names', async () => {
    const on = (name: string, own = prefix) =>
      createLimiter({
        name,
        limit: 5,
        window: '1h',
        store: redisStore(client, { prefix: own, deadline: '10s' })
      })
    const limiters = ['a', 'a*', 'ab', 'a:0', '?', '[a-z]'].map((name) => [name, on(name)] as const)
    const strangers = [on('a', `${prefix}more:`), on('a', `x${prefix}`)]
    const foreign = [`${prefix}a`, `${prefix}list`, `x${prefix}{ip}:a`]
    for (const key of foreign) await client.set(key, 'theirs')
    for (const limiter of [...limiters.map(([, one]) => one), ...strangers]) await limiter.consume('ip', 5)
    for (const [i, [name, limiter]] of limiters.entries()) {
      await limiter.clear()
      expect(await limiter.peek('ip'), name).toMatchObject({ remaining: 5 })
      for (const [later, other] of limiters.slice(i + 1))
        expect((await other.peek('ip')).remaining, later).toBe(0)
    }
    for (const [, limiter] of limiters) await limiter.consume('ip')
    const store = redisStore(client, { prefix, deadline: '10s' })
    await store.clear()
    for (const [, limiter] of limiters) expect(await limiter.peek('ip')).toMatchObject({ remaining: 5 })
    for (const limiter of strangers) expect(await limiter.peek('ip')).toMatchObject({ remaining: 0 })
    for (const key of foreign) expect(await client.get(key)).toBe('theirs')
    await client.del(foreign)
  })

  it('takes a prefix with the signs of a pattern as it is', async () => {
    const odd = `${prefix}*[a-c]?\\^:`
    const at = (own: string) => redisStore(client, { prefix: own, deadline: '10s' })
    const [store, other] = [at(odd), at(`${prefix}xa1\\^:`)]
    const limiters = [store, other].map((one) =>
      createLimiter({ name: 'api', limit: 5, window: '1h', store: one })
    )
    for (const limiter of limiters) await limiter.consume('ip')
    await store.clear()
    expect(await Promise.all(limiters.map(async (limiter) => (await limiter.peek('ip')).remaining))).toEqual([
      5, 4
    ])
  })

  it('forgets what this process holds: leases, and denials', async () => {
    const store = redisStore(client, { prefix, deadline: '10s', denyCache: '10s' })
    const leasing = createLimiter({ name: 'l', limit: 100, window: '1h', lease: 10, store })
    const denied = createLimiter({ name: 'd', limit: 1, window: '1h', store })
    for (let i = 0; i < 4; i++) await leasing.consume('key')
    for (let i = 0; i < 3; i++) await denied.consume('key')
    expect((await denied.consume('key')).source).toBe('cache')
    await store.clear()
    expect(await denied.consume('key')).toMatchObject({ allowed: true, source: 'store' })
    expect(await leasing.peek('key')).toMatchObject({ remaining: 100 })
    await store.close()
    expect(await leasing.peek('key')).toMatchObject({ remaining: 100 })
  })

  it('also has strategies forgotten that bring no Lua', async () => {
    const store = redisStore(client, { prefix, deadline: '10s' })
    const { check, charge, slots } = createLimiter({ limit: 1, window: '1h', strategy: 'gcra' }).policies[0]!
      .strategy
    const strategy = { name: 'mine', slots, check, charge }
    const limiter = createLimiter({ name: 'mine', limit: 2, window: '1h', strategy, store })
    await limiter.consume('key')
    await limiter.clear()
    expect(await limiter.peek('key')).toMatchObject({ remaining: 2 })
  })

  it('is refused for a function that leads to a cluster', async () => {
    const store = redisStore(send, { prefix, cluster: true })
    await expect(store.clear()).rejects.toMatchObject({
      code: 'HEADGATE_MISUSE',
      message: expect.stringContaining('give a client of ioredis or node-redis')
    })
  })

  it('rejects while Redis does not answer, and forgets nothing later', async () => {
    const away = new Redis({ port: 1, lazyConnect: true, retryStrategy: () => 50 })
    away.on('error', () => {})
    const store = redisStore(away, { prefix, onStateChange: () => {} })
    const limiter = createLimiter({ name: 'api', limit: 1, window: '1h', store })
    await expect(store.clear()).rejects.toMatchObject({ code: 'HEADGATE_STORE_FAILED' })
    await expect(limiter.clear()).rejects.toMatchObject({ code: 'HEADGATE_STORE_FAILED' })
    away.disconnect()
    const slow = redisStore(() => new Promise(() => {}), { prefix, deadline: 20, onStateChange: () => {} })
    await expect(slow.clear()).rejects.toMatchObject({ code: 'HEADGATE_STORE_FAILED' })
  })
})
