import type { ClientUnderTest, Connected } from './clients.js'

/** What ioredis 5 and 6 have in common. */
export interface IoredisPackage {
  readonly Redis: new (options: object) => IoredisClient
  readonly Cluster: new (nodes: readonly object[], options: object) => IoredisClient
}

interface IoredisClient {
  on(event: 'error', listener: (error: unknown) => void): unknown
  connect(): Promise<unknown>
  disconnect(): void
  call(...command: readonly string[]): Promise<unknown>
}

/** A version of ioredis. */
export function ioredisClient(name: string, library: IoredisPackage, protocol: 2 | 3): ClientUnderTest {
  const { Redis, Cluster } = library
  const base = { protocol, lazyConnect: true }
  return {
    name,
    library: 'ioredis',
    protocol,
    connectSingle: (port, options) => connect(new Redis({ ...base, host: '127.0.0.1', port, ...options })),
    connectCluster: (ports, options) => {
      const each = { lazyConnect: true, redisOptions: { protocol } }
      return connect(new Cluster(ports.map(addressOf), { ...each, ...options }))
    },
    connectSentinel: (ports, sentinelName, options) =>
      connect(new Redis({ ...base, sentinels: ports.map(addressOf), name: sentinelName, ...options }))
  }
}

function addressOf(port: number): object {
  return { host: '127.0.0.1', port }
}

async function connect(client: IoredisClient): Promise<Connected> {
  const errors: unknown[] = []
  client.on('error', (error) => errors.push(error))
  try {
    await client.connect()
  } catch (error) {
    client.disconnect()
    throw error
  }
  return {
    client,
    errors,
    command: (...command) => client.call(...command),
    close: async () => client.disconnect()
  }
}
