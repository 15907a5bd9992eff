import Fastify, { type FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { describe, expect, it } from 'vitest'
import rateLimit from '../../src/fastify/index.js'

const handler = async () => 'ok'
const strict = { limit: 1, window: '1m' }
/** What a test is told of a server that should not have started. */
async function started(app: FastifyInstance): Promise<string> {
  await app.ready()
  return 'it started'
}

const misuse = expect.objectContaining({ code: 'HEADGATE_MISUSE' })

describe('a limit that nothing would read', () => {
  it.each([
    { config: { rateLimit: { max: 1, timeWindow: '1 minute' } } },
    { config: { rateLimit: false } },
    { rateLimit: { max: 1 } },
    { limits: [strict] },
    { config: { limits: [strict] } }
  ])('under another name fails the start: %o', async (options) => {
    const app = Fastify()
    await app.register(rateLimit, { limit: 5, window: '1m' })
    app.get('/', options as object, handler)
    await expect(started(app)).rejects.toThrow(misuse)
  })

  it.each(['before', 'after'])('is left to another limiter that is registered %s', async (when) => {
    const app = Fastify()
    const other = fp(async (instance: FastifyInstance) => void instance.decorate('rateLimit', () => {}))
    if (when === 'before') app.register(other)
    app.register(rateLimit, { limit: 5, window: '1m' })
    app.get('/', { config: { rateLimit: { max: 1, timeWindow: 1000 } } } as object, handler)
    if (when === 'after') app.register(other)
    expect((await app.inject('/')).statusCode).toBe(200)
  })

  it.each([
    { limit: 'login' },
    { limit: strict },
    { config: { limit: 'login' } },
    { config: { limit: strict } }
  ])(
    'of a route that the plugin is not registered around, but beside, fails the start: %o',
    async (options) => {
      const app = Fastify()
      app.register(async (child) => {
        await child.register(rateLimit, { policies: { login: strict } })
      })
      app.get('/', options as object, handler)
      await expect(started(app)).rejects.toThrow(misuse)
    }
  )
})

describe('FST-15: what is no limit of ours', () => {
  const others: readonly object[] = [
    { config: { limit: 50 } },
    { config: { limit: '50' } },
    { config: { limit: '10mb' } },
    { config: { limit: null } },
    { config: { limit: true } },
    { config: { limit: '' } },
    { config: { limit: [10, 50] } },
    { config: { limit: { default: 20, max: 100 } } },
    { config: { limits: { fileSize: 1e6, files: 2 } } },
    { config: { limits: 5 } },
    { config: { limits: [10, 50] } },
    { config: { rateLimit: true } },
    { config: { rateLimit: 5 } },
    { limits: { fileSize: 1e6 } }
  ]

  it.each(others)('is nobody’s business on a route of the plugin: %o', async (options) => {
    const app = Fastify()
    await app.register(rateLimit, { limit: 2, window: '1m' })
    app.get('/', options, async (request) => request.routeOptions.config)
    const { statusCode, headers, body } = await app.inject('/')
    expect([statusCode, headers['ratelimit-remaining']]).toEqual([200, '1'])
    expect(JSON.parse(body)).toMatchObject((options as { config?: object }).config ?? {})
  })

  const limits = [strict, 'login', false].flatMap((limit) => [{ limit }, { config: { limit } }])
  it.each([
    ...others,
    ...limits,
    { limit: 50 },
    { config: { rateLimit: { max: 1, timeWindow: 1 } } },
    { rateLimit: { max: 1 }, limits: [strict] }
  ])('is nobody’s business on a server without the plugin: %o', async (options) => {
    const app = Fastify()
    app.decorate('limit' as never, 7 as never)
    app.decorate('rateLimit', 'theirs')
    app.get('/', options as object, handler)
    app.register(async (child) => void child.get('/child', options as object, handler))
    expect((await app.inject('/')).statusCode).toBe(200)
    expect((await app.inject('/child')).statusCode).toBe(200)
    expect(app.limit).toBe(7)
  })

  it('is nobody’s business beside a scope that has the plugin', async () => {
    const app = Fastify()
    app.register(async (child) => {
      await child.register(rateLimit, { policies: { login: strict } })
      child.get('/child', { limit: 'login' }, handler)
    })
    for (const [i, options] of [...others, { config: { limit: 'monthly' } }, { limit: false }].entries())
      app.get(`/${i}`, options, handler)
    expect((await app.inject('/0')).statusCode).toBe(200)
  })

  it('a policy whose name begins with a digit is one in `config`, too', async () => {
    const app = Fastify()
    app.register(rateLimit, { policies: { '5-a-minute': strict } })
    app.get('/', { config: { limit: '5-a-minute' } }, handler)
    expect((await app.inject('/')).headers['ratelimit-limit']).toBe('1')
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
    expect([denied.statusCode, denied.json().message, told]).toEqual([
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
