import { type RemoteStore, remoteStore } from '../remote/store.js'
import { RedisBackend } from './backend.js'
import type { RedisClient } from './clients/client.js'
import { type RedisStoreOptions, readOptions } from './options.js'

/** A store in Redis or Valkey. */
export interface RedisStore extends RemoteStore {}

/** The store, on a clock that replaces the server's in tests. */
export function redisStoreOn(
  client: RedisClient,
  options: RedisStoreOptions,
  clock: (() => number) | null
): RedisStore {
  const { prefix, isCluster, remote } = readOptions(options)
  return remoteStore(new RedisBackend(client, { prefix, isCluster, clock }), remote)
}
