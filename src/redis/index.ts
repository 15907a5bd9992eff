import type { RedisClient } from './clients/client.js'
import type { RedisStoreOptions } from './options.js'
import { type RedisStore, redisStoreOn } from './store.js'

/**
 * The same limits for all processes that share a Redis or Valkey: one server, Sentinel, or a cluster.
 * @param client your client: of ioredis or node-redis, or a function that sends a command
 * @example
 * const store = redisStore(new Redis())
 * app.use(rateLimit({ limit: 100, window: '1m', store }))
 * @throws HeadgateError that names the option, the value and the fix
 */
export function redisStore(client: RedisClient, options: RedisStoreOptions = {}): RedisStore {
  return redisStoreOn(client, options, null)
}

export { HeadgateError } from '../core/errors.js'
export type { OnStoreError } from '../core/verdict.js'
export type { StoreState } from '../remote/options.js'
export type { IoredisLike, NodeRedisLike, RedisClient, SendCommand } from './clients/client.js'
export type { RedisStoreOptions } from './options.js'
export type { RedisStore } from './store.js'
