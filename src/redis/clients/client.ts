import { badOption } from '../../core/options.js'
import type { Connection } from './connection.js'
import { ofFunction } from './function-client.js'
import { type IoredisParts, ofIoredis } from './ioredis.js'
import { type NodeRedisParts, ofNodeRedis } from './node-redis.js'

/**
 * A client of any kind: sends one command and gives its reply. `key` is its first key, by which clusters find the
 * node; empty for a command without keys. Numbers may come as numbers or as text.
 */
export type SendCommand = (command: readonly string[], key: string) => Promise<unknown>

/** What the store needs of ioredis 5 and 6: a connection, a Sentinel's, or a cluster. */
export interface IoredisLike {
  call(command: string, ...args: string[]): Promise<unknown>
  readonly status: string
}

/** What it needs of node-redis 4 to 6: a client or a cluster. */
export interface NodeRedisLike {
  // Clients, clusters and sentinels take different arguments.
  // biome-ignore lint/suspicious/noExplicitAny: typed clients are generic in ways that no structural type matches
  sendCommand(...args: any[]): Promise<unknown>
  readonly isOpen: boolean
}

/** A client that `redisStore` takes. */
export type RedisClient = IoredisLike | NodeRedisLike | SendCommand

/**
 * The connection of a client, which is recognised by what it can do.
 * @throws HeadgateError `HEADGATE_BAD_OPTION` for what is no client
 */
export function connectionOf(client: RedisClient, isCluster: boolean): Connection {
  if (typeof client === 'function') return ofFunction(client, isCluster)
  const parts = client as (Partial<IoredisLike> & Partial<NodeRedisLike>) | null
  if (typeof parts === 'object' && parts !== null) {
    if (typeof parts.call === 'function' && typeof parts.status === 'string')
      return ofIoredis(parts as IoredisParts)
    if (typeof parts.sendCommand === 'function') {
      if (typeof parts.isOpen === 'boolean') return ofNodeRedis(parts as NodeRedisParts)
      throw badOption(
        'client',
        client,
        'it has `sendCommand` and is no client of node-redis: give the client itself (not its `.legacy()`), or a function such as (command) => sendCommand(...command)'
      )
    }
  }
  throw badOption(
    'client',
    client,
    'give a client of ioredis or node-redis, or a function (command, key) that sends a command and returns its reply'
  )
}
