import { afterEach, describe, expect, it } from 'vitest'
import { createLimiter } from '../../src/index.js'
import { redisStore } from '../../src/redis/index.js'
import { naming } from '../support/errors.js'
import { type Connected, clients } from './support/clients.js'
import { freshPrefix, servers } from './support/stores.js'

const open: Connected[] = []

afterEach(async () => {
  await Promise.all(open.splice(0).map((connection) => connection.close()))
})

async function scenario(connection: Connected): Promise<void> {
  open.push(connection)
  const store = redisStore(connection.client as never, { prefix: freshPrefix(), deadline: '10s' })
  const limits = [
    { strategy: 'gcra', limit: 2, window: '1h' },
    { strategy: 'sliding-log', limit: 20, window: '2h' }
  ]
  const limiter = createLimiter({ limits, store })
  const decisions = [await limiter.consume(42), await limiter.consume('42'), await limiter.consume(42)]
  expect(decisions.map(({ allowed, source }) => [allowed, source])).toEqual([
    [true, 'store'],
    [true, 'store'],
    [false, 'store']
  ])
  const peeked = await limiter.peek(42)
  expect(peeked).toMatchObject({ allowed: false, limit: 2, remaining: 0 })
  for (const tier of [...decisions, peeked].flatMap(({ tiers }) => tiers))
    for (const value of [tier.limit, tier.remaining, tier.retryAfterMs, tier.resetMs])
      expect(value).toSatisfy(Number.isSafeInteger)
  await limiter.refund('42', 1)
  expect((await limiter.consume(42)).allowed).toBe(true)
  await limiter.block('42', Infinity)
  expect((await limiter.consume(42)).retryAfterMs).toBe(Infinity)
  await limiter.reset(42)
  expect(await limiter.consume('42')).toMatchObject({ allowed: true, remaining: 1 })
  for (let i = 0; i < 20; i++) await limiter.consume(i)
  await limiter.clear()
  expect(await limiter.peek('42')).toMatchObject({ allowed: true, remaining: 2 })
  for (let i = 0; i < 20; i++) await limiter.consume(i, 2)
  await store.clear()
  const left = await Promise.all(
    Array.from({ length: 20 }, async (_, i) => (await limiter.peek(i)).remaining)
  )
  expect(left).toEqual(Array(20).fill(2))
  await store.close()
}

describe.skipIf(servers === null).each(clients)('STO-16: $name', (client) => {
  it('decides on one server', async () => scenario(await client.connectSingle(servers!.single)))

  it('decides on a cluster', async () => scenario(await client.connectCluster(servers!.cluster)))
})

describe.skipIf(servers === null).each(clients.filter(({ library }) => library === 'ioredis'))(
  'STO-16: $name',
  (client) => {
    it('may give numbers as text', async () =>
      scenario(await client.connectSingle(servers!.single, { stringNumbers: true })))

    it('may put a prefix of its own before keys', async () => {
      const keyPrefix = freshPrefix()
      const connection = await client.connectSingle(servers!.single, { keyPrefix })
      await scenario(connection)
    })
  }
)

const clientNamed = (name: string) => clients.find((client) => client.name === name)!

describe.skipIf(servers === null)('node-redis 4 with `legacyMode`, whose commands take callbacks', () => {
  it('decides', async () =>
    scenario(await clientNamed('node-redis 4').connectSingle(servers!.single, { legacyMode: true })))
})

describe('what is no client that the store could use', () => {
  it.skipIf(servers === null).each(['node-redis 5', 'node-redis 6'])('is `.legacy()` of %s', async (name) => {
    const connection = await clientNamed(name).connectSingle(servers!.single)
    open.push(connection)
    const legacy = (connection.client as { legacy(): object }).legacy()
    expect(() => redisStore(legacy as never)).toThrowError(
      naming('HEADGATE_BAD_OPTION', '`client` is', 'give the client itself (not its `.legacy()`)')
    )
  })

  it.skipIf(servers === null)(
    'is a bare `sendCommand`, as rate-limit-redis takes it, until it is written as the message says',
    async () => {
      const connection = await clientNamed('node-redis 6').connectSingle(servers!.single)
      const sendCommand = (...command: readonly string[]) => connection.command(...command)
      expect(() => redisStore({ sendCommand } as never)).toThrowError(
        naming('HEADGATE_BAD_OPTION', '`client` is', '(command) => sendCommand(...command)')
      )
      await scenario({ ...connection, client: (command: readonly string[]) => sendCommand(...command) })
    }
  )

  it.each([
    ['nothing', undefined],
    ['null', null],
    ['an address', 'redis://localhost'],
    ['options', { host: 'localhost' }]
  ])('is %s', (_, client) => {
    expect(() => redisStore(client as never)).toThrowError(
      naming('HEADGATE_BAD_OPTION', '`client` is', 'give a client of ioredis or node-redis, or a function')
    )
  })
})
