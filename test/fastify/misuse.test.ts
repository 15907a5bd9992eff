import Fastify from 'fastify'
import { describe, expect, it } from 'vitest'
import rateLimit from '../../src/fastify/index.js'

const handler = async () => 'ok'
const strict = { limit: 1, window: '1m' }
const misuse = expect.objectContaining({ code: 'HEADGATE_MISUSE' })

describe('a limit that nothing would read', () => {
  it.each([
    { config: { rateLimit: { max: 1, timeWindow: '1 minute' } } },
    { config: { rateLimit: false } },
    { rateLimit: { max: 1 } },
    { limits: [strict] }
  ])('under another name is refused: %o', async (options) => {
    const app = Fastify()
    await app.register(rateLimit, { limit: 5, window: '1m' })
    expect(() => app.get('/', options as object, handler)).toThrow(misuse)
  })

  it('is left to another limiter that is there to read it', async () => {
    const app = Fastify()
    app.decorate('rateLimit', () => {})
    await app.register(rateLimit, { limit: 5, window: '1m' })
    app.get('/', { config: { rateLimit: false } } as object, handler)
    expect((await app.inject('/')).statusCode).toBe(200)
  })

  it('of a route around which no plugin is registered fails the start', async () => {
    const bare = Fastify()
    bare.get('/', { limit: strict }, handler)
    await expect(bare.ready()).rejects.toThrow(misuse)
    const beside = Fastify()
    beside.register(async (child) => {
      await child.register(rateLimit, { policies: { login: strict } })
    })
    beside.get('/', { limit: 'login' }, handler)
    await expect(beside.ready()).rejects.toThrow(misuse)
  })
})

describe('onLimited', () => {
  it('that answers nothing and returns nothing leaves the default answer', async () => {
    let told = 0
    const app = Fastify()
    await app.register(rateLimit, { ...strict, onLimited: () => void told++ })
    app.get('/', handler)
    await app.inject('/')
    const denied = await app.inject('/')
    expect([denied.statusCode, denied.body, told]).toEqual([
      429,
      expect.stringMatching(/^Too many requests/),
      1
    ])
  })

  it('may return what is to be sent', async () => {
    const app = Fastify()
    await app.register(rateLimit, { ...strict, onLimited: async () => ({ error: 'slow down' }) })
    app.get('/', handler)
    await app.inject('/')
    const denied = await app.inject('/')
    expect([denied.statusCode, denied.json()]).toEqual([429, { error: 'slow down' }])
  })
})

describe('request.rateLimit', () => {
  it('shows in JSON what was decided', async () => {
    const app = Fastify()
    await app.register(rateLimit, strict)
    app.get('/', async (request) => request.rateLimit)
    expect((await app.inject('/')).json()).toMatchObject({
      key: '127.0.0.1',
      allowed: true,
      limit: 1,
      remaining: 0
    })
  })
})
