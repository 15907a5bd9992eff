import type { ClientUnderTest, Connected } from './clients.js'

/** What node-redis 4, 5 and 6 have in common. */
export interface NodeRedisPackage {
  createClient(options: object): NodeRedisClient
  createCluster(options: object): NodeRedisClient
  /** From 5 on. */
  readonly createSentinel?: (options: object) => NodeRedisClient
}

interface NodeRedisClient {
  on(event: 'error', listener: (error: unknown) => void): unknown
  connect(): Promise<unknown>
  /** Takes before the command: a cluster the first key and whether it is a read, a sentinel only the latter. */
  sendCommand(...parameters: readonly unknown[]): Promise<unknown>
  /** Up to 4. */
  disconnect(): Promise<void>
  /** From 5 on. */
  destroy?(): void | Promise<void>
}

/** A version of node-redis. */
export function nodeRedisClient(name: string, library: NodeRedisPackage, protocol: 2 | 3): ClientUnderTest {
  const { createClient, createCluster, createSentinel } = library
  const base = { RESP: protocol }
  return {
    name,
    library: 'node-redis',
    protocol,
    connectSingle: (port, options) =>
      connect(createClient({ ...base, socket: addressOf(port), ...options }), () => []),
    connectCluster: (ports, options) => {
      const rootNodes = ports.map((port) => ({ socket: addressOf(port) }))
      return connect(createCluster({ ...base, rootNodes, ...options }), (command) => [
        firstKey(command),
        false
      ])
    },
    ...(createSentinel && {
      connectSentinel: (ports, sentinelName, options) => {
        const place = { name: sentinelName, sentinelRootNodes: ports.map(addressOf) }
        return connect(createSentinel({ ...base, ...place, ...options }), () => [false])
      }
    })
  }
}

function addressOf(port: number): object {
  return { host: '127.0.0.1', port }
}

/** The first key of a command that has one: these count theirs, most others begin with it. */
function firstKey(command: readonly string[]): string | undefined {
  return /^(eval|fcall)/i.test(command[0] ?? '') ? command[3] : command[1]
}

async function connect(
  client: NodeRedisClient,
  before: (command: readonly string[]) => readonly unknown[]
): Promise<Connected> {
  const errors: unknown[] = []
  client.on('error', (error) => errors.push(error))
  // One that is closed already says so with an error.
  const close = () => end(client).catch(() => {})
  try {
    await client.connect()
  } catch (error) {
    await close()
    throw error
  }
  return { client, errors, command: (...command) => client.sendCommand(...before(command), command), close }
}

async function end(client: NodeRedisClient): Promise<void> {
  await (client.destroy ? client.destroy() : client.disconnect())
}
