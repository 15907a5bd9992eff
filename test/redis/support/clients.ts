import * as ioredis6 from 'ioredis'
import * as ioredis5 from 'ioredis5'
import * as redis6 from 'redis'
import * as redis4 from 'redis4'
import * as redis5 from 'redis5'
import { type IoredisPackage, ioredisClient } from './ioredis.js'
import { type NodeRedisPackage, nodeRedisClient } from './node-redis.js'

/** A client that is connected. */
export interface Connected {
  /** What a user hands to the store. */
  readonly client: object
  /** What it told its `error` listeners. */
  readonly errors: readonly unknown[]
  /** Sends any command as it is, to the node that has its first key. */
  command(...command: readonly string[]): Promise<unknown>
  /** Ends it at once. */
  close(): Promise<void>
}

/** A client library in one of its versions and protocols. Options are the library's own, and win. */
export interface ClientUnderTest {
  readonly name: string
  readonly library: 'ioredis' | 'node-redis'
  /** The version of RESP that it speaks. */
  readonly protocol: 2 | 3
  connectSingle(port: number, options?: object): Promise<Connected>
  connectCluster(ports: readonly number[], options?: object): Promise<Connected>
  /** Node-redis 4 has none. */
  readonly connectSentinel?: (ports: readonly number[], name: string, options?: object) => Promise<Connected>
}

// Each version types its options and commands anew. What is used of them here is the same in all.
const ioredis = (name: string, library: unknown, protocol: 2 | 3) =>
  ioredisClient(name, library as IoredisPackage, protocol)
const nodeRedis = (name: string, library: unknown, protocol: 2 | 3) =>
  nodeRedisClient(name, library as NodeRedisPackage, protocol)

/** All clients that are supported. From version 6 on, both libraries speak RESP3 unless told otherwise. */
export const clients: readonly ClientUnderTest[] = [
  ioredis('ioredis 5', ioredis5, 2),
  ioredis('ioredis 6', ioredis6, 3),
  ioredis('ioredis 6, RESP2', ioredis6, 2),
  nodeRedis('node-redis 4', redis4, 2),
  nodeRedis('node-redis 5', redis5, 2),
  nodeRedis('node-redis 5, RESP3', redis5, 3),
  nodeRedis('node-redis 6', redis6, 3),
  nodeRedis('node-redis 6, RESP2', redis6, 2)
]
