import Fastify from 'fastify'
import { describe, expect, it } from 'vitest'
import { type LimitTarget, rateLimit } from '../../src/fastify/index.js'
import type { Who } from '../../src/http/known.js'
import { sharedStore } from '../../src/shared/index.js'

const hour = { window: '1h', now: () => 0 } as const
const ip = '127.0.0.1'

async function server() {
  const app = Fastify()
  await app.register(rateLimit, {
    limit: 1,
    ...hour,
    skip: ({ url }) => url.startsWith('/nested'),
    policies: {
      login: { limit: 1, ...hour, key: 'header:x-key' },
      computed: { limit: () => 1, window: () => '1h', key: ['header:x-key', 'ip'] }
    }
  })
  app.get('/plain', async () => 'ok')
  app.get('/login', { limit: 'login' }, async () => 'ok')
  app.get('/computed', { limit: 'computed' }, async () => 'ok')
  app.get('/own/:id', { limit: { limit: 1, ...hour, key: 'header:x-key' } }, async () => 'ok')
  app.get('/late', { limit: { limit: 1, ...hour, hook: 'preHandler' } }, async () => 'ok')
  app.get('/off', { limit: false }, async () => 'ok')
  await app.register(
    async (child) => {
      await child.register(rateLimit, { limit: 1, ...hour, key: 'header:x-key', skip: () => false })
      child.get('/page', async () => 'ok')
    },
    { prefix: '/nested' }
  )
  await app.ready()
  const status = async (url: string, headers = { 'x-key': 'k' }) =>
    (await app.inject({ url, headers })).statusCode
  return { app, status }
}

describe('the limiters of a Fastify server, by hand', () => {
  const cases: readonly (readonly [string, string, LimitTarget, Who])[] = [
    ['the plugin’s own', '/plain', 'default', { ip }],
    ['a route under it', '/plain', { method: 'GET', url: '/plain' }, { ip }],
    ['a policy', '/login', 'login', { header: 'k' }],
    ['a route of a policy', '/login', { method: 'get', url: '/login' }, { header: 'k' }],
    ['a computed policy', '/computed', 'computed', ['k', ip]],
    ['a route’s own', '/own/7', { method: 'GET', url: '/own/:id' }, 'k'],
    ['a route’s own in a later hook', '/late', { method: 'GET', url: '/late' }, { ip }],
    ['HEAD, which counts with GET', '/own/7', { method: 'HEAD', url: '/own/:id' }, 'k'],
    ['a route in another scope', '/nested/page', { method: 'GET', url: '/nested/page' }, { header: 'k' }]
  ]
  it.each(cases)('%s', async (_what, url, target, who) => {
    const { app, status } = await server()
    const limiter = app.limiterOf(target)
    expect(await limiter.reset(who)).toBe(false)
    expect([await status(url), await status(url)]).toEqual([200, 429])
    expect(await limiter.peek(who)).toMatchObject({ allowed: false, remaining: 0 })
    expect(await limiter.refund(who)).toBe(true)
    expect([await status(url), await status(url)]).toEqual([200, 429])
    expect([await limiter.reset(who), await limiter.reset(who)]).toEqual([true, false])
    await limiter.block(who, '10m')
    expect(await status(url)).toBe(429)
    expect(await limiter.reset(who)).toBe(true)
    expect(await status(url)).toBe(200)
    await app.close()
  })

  it('refuses what is not limited, or not there', async () => {
    const { app } = await server()
    const using = (target: LimitTarget) => () => app.limiterOf(target).reset({ ip })
    expect(using({ method: 'GET', url: '/off' })).toThrow(/GET \/off is not limited/)
    expect(using({ method: 'POST', url: '/plain' })).toThrow(/no route POST \/plain/)
    expect(using('logni')).toThrow(/did you mean 'login'/)
    await app.close()
    const bare = Fastify()
    await bare.register(rateLimit)
    expect(() => bare.limiterOf('default').reset({ ip })).toThrow(/no limit of its own/)
    await bare.close()
  })

  it('may be asked for before the routes are there, and while requests are served', async () => {
    const app = Fastify()
    const heard: unknown[] = []
    const hear = (warning: Error) => heard.push(warning)
    process.on('warning', hear)
    await app.register(rateLimit, { policies: { login: { limit: 1, ...hour } } })
    const limiter = app.limiterOf({ method: 'POST', url: '/login' })
    app.post('/login', { limit: 'login' }, async () => app.limit('login').limiter.reset({ ip }))
    for (let i = 0; i < 3; i++)
      expect((await app.inject({ method: 'POST', url: '/login' })).body).toBe('true')
    expect(await limiter.reset({ ip })).toBe(false)
    await new Promise((resolve) => setImmediate(resolve))
    process.off('warning', hear)
    expect(heard).toEqual([])
    await app.close()
  })
})

describe('a shared store without room', () => {
  it('fails the start of a server that has too many routes for it', async () => {
    const store = sharedStore({ maxKeys: 10_000, maxBytes: 2 ** 22 })
    const app = Fastify()
    app.register(rateLimit, { limit: 1, window: '1h', store })
    for (let i = 0; i < 9; i++)
      app.get(`/${i}`, { config: { limit: { limit: 1, window: '1h' } } }, async () => 'ok')
    await expect(app.ready().then(() => undefined)).rejects.toMatchObject({
      code: 'HEADGATE_STORE_FULL',
      message: expect.stringMatching(/`maxBytes` of at least \d+/)
    })
  })
})
