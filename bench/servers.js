import { createServer } from 'node:http'
import { headgate } from './harness.js'

export const limit = 1_000_000_000
export const windowMs = 60_000

/*
 * The servers that `http.js` measures: one route, one limit that admits everybody, who is told apart by address. All
 * send the quota fields of draft-06 as far as they know them, and no others.
 */

/** A limiter written by hand: a Map, an object a client, the same four fields. */
export function floor() {
  const windows = new Map()
  const policy = `${limit};w=${windowMs / 1000}`
  return (address, set) => {
    const now = Date.now()
    let window = windows.get(address)
    if (window === undefined || window.reset <= now) {
      window = { count: 0, reset: now + windowMs }
      windows.set(address, window)
    }
    window.count++
    set('RateLimit-Policy', policy)
    set('RateLimit-Limit', String(limit))
    set('RateLimit-Remaining', String(limit - window.count))
    set('RateLimit-Reset', String(Math.ceil((window.reset - now) / 1000)))
    return window.count <= limit
  }
}

/** As its documentation shows: no headers of its own, so these are set by hand. */
async function flexible() {
  const { RateLimiterMemory } = await import('rate-limiter-flexible')
  const limiter = new RateLimiterMemory({ points: limit, duration: windowMs / 1000 })
  return async (address, set) => {
    const { remainingPoints, msBeforeNext } = await limiter.consume(address)
    set('RateLimit-Limit', String(limit))
    set('RateLimit-Remaining', String(remainingPoints))
    set('RateLimit-Reset', String(Math.ceil(msBeforeNext / 1000)))
  }
}

/** Options of ours under which every client that `load.js` stands for is denied. */
async function usedUp() {
  const { createLimiter, memoryStore } = await headgate()
  const options = { name: 'used up', limit: 1, window: '1d', align: 'first-request', store: memoryStore() }
  const limiter = createLimiter(options)
  for (let i = 1; i <= 64; i++) limiter.consume(`127.0.0.${i}`)
  return options
}

const express = {
  bare: () => null,
  floor() {
    const decide = floor()
    return (req, res, next) => {
      if (decide(req.socket.remoteAddress, (name, value) => res.setHeader(name, value))) next()
      else res.sendStatus(429)
    }
  },
  async headgate() {
    const { rateLimit } = await headgate('express/index.js')
    return rateLimit({ limit, window: windowMs })
  },
  async 'headgate, in flight'() {
    const { rateLimit } = await headgate('express/index.js')
    return rateLimit({ concurrency: limit })
  },
  async 'headgate, denied'() {
    const { rateLimit } = await headgate('express/index.js')
    return rateLimit(await usedUp())
  },
  async hitlimit() {
    const { hitlimit } = await import('@joint-ops/hitlimit')
    return hitlimit({ limit, window: windowMs, headers: { legacy: false } })
  },
  async 'express-rate-limit'() {
    const { rateLimit } = await import('express-rate-limit')
    return rateLimit({ limit, windowMs, standardHeaders: 'draft-6', legacyHeaders: false })
  },
  async 'rate-limiter-flexible'() {
    const decide = await flexible()
    return (req, res, next) =>
      decide(req.ip, (name, value) => res.setHeader(name, value)).then(
        () => next(),
        () => res.sendStatus(429)
      )
  }
}

const fastify = {
  bare() {},
  floor(app) {
    const decide = floor()
    app.addHook('onRequest', (request, reply, done) => {
      if (decide(request.socket.remoteAddress, (name, value) => reply.header(name, value))) done()
      else reply.code(429).send('Too Many Requests')
    })
  },
  async headgate(app) {
    const { rateLimit } = await headgate('fastify/index.js')
    await app.register(rateLimit, { limit, window: windowMs })
  },
  async 'headgate, in flight'(app) {
    const { rateLimit } = await headgate('fastify/index.js')
    await app.register(rateLimit, { concurrency: limit })
  },
  async 'headgate, denied'(app) {
    const { rateLimit } = await headgate('fastify/index.js')
    await app.register(rateLimit, await usedUp())
  },
  async hitlimit(app) {
    const { hitlimit } = await import('@joint-ops/hitlimit/fastify')
    await app.register(hitlimit, { limit, window: windowMs, headers: { legacy: false } })
  },
  async '@fastify/rate-limit'(app) {
    const { default: rateLimit } = await import('@fastify/rate-limit')
    await app.register(rateLimit, { max: limit, timeWindow: windowMs, enableDraftSpec: true })
  },
  async 'rate-limiter-flexible'(app) {
    const decide = await flexible()
    app.addHook('onRequest', async (request, reply) => {
      await decide(request.ip, (name, value) => reply.header(name, value))
    })
  }
}

export const contestantsOf = { express: Object.keys(express), fastify: Object.keys(fastify) }

/** Starts a server on the host and gives its port. */
export async function listen(framework, contestant, host) {
  return listenOn(
    await (framework === 'express' ? expressServer(contestant) : fastifyServer(contestant)),
    host
  )
}

/** Has a server listen, and gives its port. Its clients wait for their turn for longer than 5 seconds. */
export function listenOn(server, host) {
  server.keepAliveTimeout = 0
  return new Promise((resolve) => server.listen(0, host, () => resolve(server.address().port)))
}

async function expressServer(contestant) {
  const { default: makeApp } = await import('express')
  const app = makeApp()
  const limiter = await express[contestant]()
  if (limiter !== null) app.use(limiter)
  app.get('/', (_req, res) => void res.send('ok'))
  return createServer(app)
}

async function fastifyServer(contestant) {
  const { default: makeApp } = await import('fastify')
  const app = makeApp()
  await fastify[contestant](app)
  app.get('/', (_request, reply) => void reply.send('ok'))
  await app.ready()
  return app.server
}
