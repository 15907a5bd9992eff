import Fastify from 'fastify'
import { describe, expect, it } from 'vitest'
import { rateLimit as express } from '../../src/express/index.js'
import fastify from '../../src/fastify/index.js'
import { guard } from '../../src/hosts/guard.js'

describe('the limiter behind a middleware or hook', () => {
  it('looks, blocks and resets by key', async () => {
    const app = Fastify()
    await app.register(fastify, { policies: { login: { limit: 1, window: '1h', key: 'header:x-user' } } })
    app.get('/', { limit: 'login' }, async () => 'ok')
    const { limiter } = app.limit('login')
    const get = async () => (await app.inject({ url: '/', headers: { 'x-user': 'ada' } })).statusCode
    expect([await get(), await get()]).toEqual([200, 429])
    expect((await limiter.peek('ada')).remaining).toBe(0)
    await limiter.reset('ada')
    expect(await get()).toBe(200)
    await limiter.reset('ada')
    await limiter.block('ada', '1h')
    expect(await get()).toBe(429)
  })

  it('is there on Express and for a guard', () => {
    expect(express({ limit: 3, window: '1m' }).limiter.peek('127.0.0.1').remaining).toBe(3)
    expect(guard.limit('ip', 3, '1m').limiter.policies[0]?.limit).toBe(3)
  })

  it('has no policies where they are made for each request, and works all the same', () => {
    for (const computed of [
      { limit: () => 3, window: '1m' },
      { limit: 3, window: () => '1m' }
    ]) {
      const { limiter } = express(computed)
      expect(limiter.policies).toEqual([])
      limiter.block({ ip: '192.0.2.1' }, '1h')
      expect([limiter.reset({ ip: '192.0.2.1' }), limiter.reset({ ip: '192.0.2.1' })]).toEqual([true, false])
    }
  })

  it('forgets blocks of windows that are yet to come once they have ended', () => {
    let now = 0
    const { limiter } = express({ limit: 3, window: () => '1m', now: () => now })
    const request = { headers: {}, socket: { remoteAddress: '192.0.2.1' } }
    limiter.block({ ip: '192.0.2.1' }, '1h')
    now = 3_600_000
    expect(limiter.peek(request)).toMatchObject({ allowed: true })
    limiter.block(request, '1h')
    expect(limiter.peek(request)).toMatchObject({ allowed: false })
  })

  it('counts the keys of all windows', () => {
    const { limiter } = express({
      limit: 3,
      window: ({ headers }) => Number(headers['x-window']),
      now: () => 0
    })
    for (const window of ['1000', '2000', '2000'])
      limiter.consume({ headers: { 'x-window': window }, socket: { remoteAddress: '192.0.2.1' } } as never)
    expect(limiter.size()).toBe(2)
  })
})
