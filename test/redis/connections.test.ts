import { createClientPool } from 'redis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createLimiter } from '../../src/index.js'
import { redisStore } from '../../src/redis/index.js'
import { clients } from './support/clients.js'
import { type Sentinel, startSentinel } from './support/servers.js'
import { freshPrefix, servers } from './support/stores.js'

/** Sources and verdicts of three requests where two are admitted. */
async function threeOn(client: unknown): Promise<unknown[]> {
  // A first connection of a busy machine must not make the decision late.
  const store = redisStore(client as never, { prefix: freshPrefix(), deadline: '10s' })
  const limiter = createLimiter({ limit: 2, window: '1d', strategy: 'sliding-log', store })
  const seen: unknown[] = []
  for (let i = 0; i < 3; i++) {
    const { source, allowed } = await limiter.consume('key')
    seen.push([source, allowed])
  }
  return seen
}

const expected = [
  ['store', true],
  ['store', true],
  ['store', false]
]

describe.skipIf(servers === null)('a store', () => {
  let sentinel: Sentinel

  beforeAll(async () => {
    sentinel = await startSentinel()
  }, 30_000)

  afterAll(() => sentinel?.stop())

  it('goes by a pool of node-redis', async () => {
    const pool = createClientPool({ url: `redis://127.0.0.1:${servers!.single}` })
    pool.on('error', () => {})
    await pool.connect()
    expect(await threeOn(pool)).toEqual(expected)
    await pool.close()
  })

  it.each(
    clients.filter(({ connectSentinel }) => connectSentinel).map((client) => [client.name, client] as const)
  )('goes by Sentinel through %s', async (_, { connectSentinel }) => {
    const connected = await connectSentinel!(sentinel.sentinelPorts, sentinel.name)
    expect(await threeOn(connected.client)).toEqual(expected)
    await connected.close()
  })
})
