import { Cluster, Redis } from 'ioredis'
import { Cluster as Cluster5, Redis as Redis5 } from 'ioredis5'
import { createClient, createClientPool, createCluster, createSentinel } from 'redis'
import { createClient as createClient4, createCluster as createCluster4 } from 'redis4'
import { createClient as createClient5, createCluster as createCluster5 } from 'redis5'
import { describe, expect, it } from 'vitest'
import { createLimiter } from '../../src/index.js'
import { redisStore } from '../../src/redis/index.js'

const nodes = [{ host: '127.0.0.1', port: 1 }]
const rootNodes = [{ url: 'redis://127.0.0.1:1' }]

// Compiled as users write it: a client whose types do not match is an error of the type checker.
const clients = {
  'ioredis 6': () => redisStore(new Redis({ lazyConnect: true })),
  'ioredis 6 cluster': () => redisStore(new Cluster(nodes, { lazyConnect: true })),
  'ioredis 5': () => redisStore(new Redis5({ lazyConnect: true })),
  'ioredis 5 cluster': () => redisStore(new Cluster5(nodes, { lazyConnect: true })),
  'node-redis 6': () => redisStore(createClient()),
  'node-redis 6 pool': () => redisStore(createClientPool()),
  'node-redis 6 cluster': () => redisStore(createCluster({ rootNodes })),
  'node-redis 6 sentinel': () => redisStore(createSentinel({ name: 'main', sentinelRootNodes: nodes })),
  'node-redis 5': () => redisStore(createClient5()),
  'node-redis 5 cluster': () => redisStore(createCluster5({ rootNodes })),
  'node-redis 4': () => redisStore(createClient4()),
  'node-redis 4 cluster': () => redisStore(createCluster4({ rootNodes })),
  'a function': () => redisStore(async (command, key) => [command, key])
}

describe('redisStore', () => {
  it.each(Object.entries(clients))('takes %s', (_, makeStore) => {
    expect(makeStore().isAvailable).toBe(true)
  })

  it.each([[undefined], [null], [{}], ['redis://127.0.0.1:6379'], [{ get() {}, set() {} }]])(
    'refuses %j',
    (client) => {
      expect(() => redisStore(client as never)).toThrow(
        expect.objectContaining({ code: 'HEADGATE_BAD_OPTION', message: expect.stringContaining('`client`') })
      )
    }
  )

  it.each([
    [{ prefx: 'a' }, 'HEADGATE_UNKNOWN_OPTION', 'prefix'],
    [{ prefix: 'a{b}' }, 'HEADGATE_BAD_OPTION', '{ and }'],
    [{ prefix: '' }, 'HEADGATE_BAD_OPTION', '`prefix`'],
    [{ deadline: 0 }, 'HEADGATE_BAD_OPTION', '`deadline`'],
    [{ deadline: 'soon' }, 'HEADGATE_BAD_OPTION', '`deadline`'],
    [{ onStoreError: 'open' }, 'HEADGATE_BAD_OPTION', "'allow', 'deny' or 'local'"],
    [{ share: 4 }, 'HEADGATE_BAD_OPTION', '`share`'],
    [{ share: Number.NaN }, 'HEADGATE_BAD_OPTION', '`share`'],
    [{ breaker: { failures: 0 } }, 'HEADGATE_BAD_OPTION', '`breaker.failures`'],
    [{ breaker: { cooldwn: 1 } }, 'HEADGATE_UNKNOWN_OPTION', 'cooldown'],
    [{ denyCache: true }, 'HEADGATE_BAD_OPTION', '`denyCache`'],
    [{ cluster: 'yes' }, 'HEADGATE_BAD_OPTION', '`cluster`'],
    [{ onStateChange: 'log' }, 'HEADGATE_BAD_OPTION', '`onStateChange`']
  ])('refuses %j', (options, code, message) => {
    expect(() => redisStore(async () => [], options as never)).toThrow(
      expect.objectContaining({ code, message: expect.stringContaining(message) })
    )
  })
})

describe('a limiter on it', () => {
  const store = () => redisStore(async () => [])

  it.each([
    [{ now: Date.now }, '`now`'],
    [{ lease: 0 }, '`lease`'],
    [{ lease: 11 }, '`lease`'],
    [{ lease: 2, countDenied: true }, '`lease`'],
    [{ lease: 1, strategy: 'leaky-bucket' }, '`lease`'],
    [{ onStoreError: 'open' as never }, '`onStoreError`'],
    [{ share: 0 }, '`share`']
  ])('refuses %j', (options, message) => {
    expect(() => createLimiter({ limit: 10, window: '1s', store: store(), ...options })).toThrow(
      expect.objectContaining({ code: 'HEADGATE_BAD_OPTION', message: expect.stringContaining(message) })
    )
  })

  it('is refused where it would count together with another that says the same without a name', () => {
    const one = store()
    createLimiter({ limit: 5, window: '1m', store: one })
    expect(() => createLimiter({ limit: 5, window: '1m', store: one })).toThrow(
      expect.objectContaining({ code: 'HEADGATE_POLICY_CLASH', message: expect.stringContaining('`name`') })
    )
    createLimiter({ limit: 5, window: '1m', store: one, name: 'login' })
    createLimiter({ limit: 5, window: '1m', store: one, name: 'login' })
  })
})
