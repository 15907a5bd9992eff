import { afterAll, beforeAll, inject } from 'vitest'
import type { RedisStoreOptions } from '../../../src/redis/options.js'
import { redisStoreOn } from '../../../src/redis/store.js'
import type { MakeStore } from '../../store-suite/clocked-store.js'
import { type Connected, clients } from './clients.js'

/** The servers of the run; null where there is no Redis. */
export const servers = inject('redis')

let stores = 0

/** A prefix that no other store has. */
export const freshPrefix = () => `t${process.pid}-${stores++}:`

/** A client that lives as long as the tests of the file. */
export function connected(name: string, kind: 'single' | 'cluster'): { readonly client: never } {
  let connection: Connected | undefined
  beforeAll(async () => {
    const client = clients.find((one) => one.name === name)
    if (client === undefined) throw new Error(`no client is named ${name}`)
    connection =
      kind === 'single'
        ? await client.connectSingle(servers!.single)
        : await client.connectCluster(servers!.cluster)
  })
  afterAll(async () => {
    await connection?.close()
  })
  return {
    get client() {
      return connection!.client as never
    }
  }
}

/** Makes empty stores on a client, on a manual clock. */
export function makeStores(
  connection: { readonly client: never },
  options: RedisStoreOptions = {}
): MakeStore {
  // A machine that is busy with other tests must not make decisions late.
  return (clock) =>
    redisStoreOn(connection.client, { deadline: '10s', ...options, prefix: freshPrefix() }, clock)
}
