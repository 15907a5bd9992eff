import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { createLimiter } from '../../../src/index.js'
import { redisStore } from '../../../src/redis/index.js'
import { freePort } from '../support/ports.js'
import { ask, type Server, startSingle } from '../support/servers.js'
import { servers } from '../support/stores.js'
import { noUnhandledRejections } from './outage.js'

let server: Server
const cleanup: (() => unknown)[] = []

noUnhandledRejections()
beforeAll(async () => {
  if (servers === null) return
  server = await startSingle()
  await ask(server.port, 'CONFIG', 'SET', 'requirepass', 'secret')
})
afterAll(() => server?.kill9())
afterEach(async () => {
  for (const clean of cleanup.splice(0)) await clean()
})

/** A server that answers whatever comes in plain text. */
async function plainServer(): Promise<number> {
  const plain = createServer((socket) => {
    socket.on('error', () => {}).once('data', () => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'))
  })
  plain.listen(0, '127.0.0.1')
  await once(plain, 'listening')
  cleanup.push(() => plain.close())
  return (plain.address() as AddressInfo).port
}

/** Where a client is to connect. */
interface Address {
  readonly host: string
  readonly port: number
  readonly password?: string
  readonly isTls?: boolean
}

/** Clients that go on trying to connect, as users leave them. */
const makers: Readonly<Record<string, (address: Address) => Promise<unknown>>> = {
  async 'ioredis 6'({ host, port, password, isTls }) {
    const { Redis } = await import('ioredis')
    const options = { host, port, ...(password && { password }), ...(isTls && { tls: {} }) }
    const client = new Redis(options).on('error', () => {})
    cleanup.push(() => client.disconnect())
    return client
  },
  async 'node-redis 6'({ host, port, password, isTls }) {
    const { createClient } = await import('redis')
    const socket = isTls ? { host, port, tls: true as const } : { host, port }
    const client = createClient({ socket, ...(password && { password }) }).on('error', () => {})
    client.connect().catch(() => {})
    cleanup.push(() => client.destroy())
    return client
  }
}

const addresses: Readonly<Record<string, [address: () => Promise<Address>, reason: RegExp]>> = {
  'a wrong password': [
    async () => ({ host: '127.0.0.1', port: server.port, password: 'wrong' }),
    /WRONGPASS invalid username-password pair/
  ],
  'no password': [async () => ({ host: '127.0.0.1', port: server.port }), /NOAUTH/],
  'a host that has no address': [
    async () => ({ host: 'redis.invalid', port: 6379 }),
    /(ENOTFOUND|EAI_AGAIN).* redis\.invalid/
  ],
  'a port where nobody listens': [
    async () => ({ host: '127.0.0.1', port: await freePort() }),
    /ECONNREFUSED 127\.0\.0\.1:\d+/
  ],
  'TLS to what speaks none': [
    async () => ({ host: '127.0.0.1', port: await plainServer(), isTls: true }),
    /wrong version number/
  ]
}

describe.skipIf(servers === null).each(Object.keys(makers))('%s', (name) => {
  it.each(Object.keys(addresses))('says why there is no connection: %s', async (what) => {
    const [address, reason] = addresses[what]!
    const messages: string[] = []
    const store = redisStore((await makers[name]!(await address())) as never, {
      breaker: { failures: 1, cooldown: '1h' },
      // Long enough for a lookup of the name.
      deadline: '1s',
      onStateChange: ({ error }) => void messages.push(error!.message)
    })
    const limiter = createLimiter({ limit: 5, window: '1h', store })
    expect((await limiter.consume('key')).source).toBe('local')
    expect(messages).toEqual([expect.stringMatching(reason)])
  })
})
