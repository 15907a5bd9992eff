import { headgate } from './harness.js'

const limit = 1_000_000_000
const windowMs = 60_000

/*
 * The clients, with their default settings, and what each contestant does through one of them for one decision of a
 * fixed window, everybody admitted. `make(client, library)` gives `hit(key)`.
 */

export const clients = {
  async ioredis(port) {
    const { Redis } = await import('ioredis')
    return new Redis(port, '127.0.0.1')
  },
  async redis(port) {
    const { createClient } = await import('redis')
    return createClient({ socket: { port, host: '127.0.0.1' } }).connect()
  }
}

/** Sends a command by its words, whatever the client. */
const sender = (client, library) =>
  library === 'ioredis' ? (...words) => client.call(...words) : (...words) => client.sendCommand(words)

/** A fixed window as a user would write it, without Lua. */
const counting = {
  name: 'counting',
  slots: () => 2,
  check(state, at, rule, now, cost, out) {
    const end = state[at]
    const used = now < end ? state[at + 1] : 0
    out[0] = rule.limit - used
    out[1] = used + cost <= rule.limit ? 0 : end - now
    out[2] = used === 0 ? 0 : end - now
    return out[1] === 0
  },
  charge(state, at, rule, now, cost, out) {
    if (now >= state[at]) {
      state[at] = now + rule.windowMs
      state[at + 1] = 0
    }
    state[at + 1] = Math.min(rule.limit, state[at + 1] + cost)
    out[0] = rule.limit - state[at + 1]
    out[2] = state[at] - now
  }
}

async function own(client, rule) {
  const { createLimiter } = await headgate()
  const { redisStore } = await headgate('redis/index.js')
  const limiter = createLimiter({ ...rule, store: redisStore(client) })
  return (key) => limiter.consume(key)
}

export const contestants = {
  INCR: { make: (client) => (key) => client.incr(key) },
  'rate-limiter-flexible': {
    isRival: true,
    async make(client, library) {
      const { RateLimiterRedis } = await import('rate-limiter-flexible')
      const options = { points: limit, duration: windowMs / 1000, useRedisPackage: library === 'redis' }
      const limiter = new RateLimiterRedis({ ...options, storeClient: client })
      return (key) => limiter.consume(key)
    }
  },
  'rate-limit-redis': {
    isRival: true,
    async make(client, library) {
      const { RedisStore } = await import('rate-limit-redis')
      const store = new RedisStore({ sendCommand: sender(client, library) })
      await store.init({ windowMs })
      return (key) => store.increment(key)
    }
  },
  '@fastify/rate-limit': {
    isRival: true,
    /** Its store defines a command of its own, as only this client can. */
    library: 'ioredis',
    async make(client) {
      const { default: RedisStore } = await import('@fastify/rate-limit/store/RedisStore.js')
      const store = new RedisStore(false, false, client)
      return (key) =>
        new Promise((resolve, reject) => {
          store.incr(key, (error, found) => (error ? reject(error) : resolve(found)), windowMs, limit)
        })
    }
  },
  headgate: { make: (client) => own(client, { limit, window: windowMs }) },
  'headgate, a hot key': { isHot: true, make: (client) => own(client, { limit, window: '2m' }) },
  'headgate, gcra': { make: (client) => own(client, { strategy: 'gcra', limit, window: '4m' }) },
  'headgate, sliding-log of 10': {
    make: (client) => own(client, { strategy: 'sliding-log', limit: 10, window: '1ms' })
  },
  'headgate, own strategy by compare-and-swap': {
    async make(client) {
      const { defineStrategy } = await headgate()
      return own(client, { strategy: defineStrategy(counting), limit, window: '5m' })
    }
  },
  'headgate, three tiers': {
    make: (client) => own(client, { limits: ['1s', '1m', '1h'].map((window) => ({ limit, window })) })
  },
  'headgate, a hot key, lease: 100': {
    isHot: true,
    make: (client) => own(client, { limit, window: '3m', lease: 100 })
  }
}
