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
    expect((await limiter?.peek('ada'))?.remaining).toBe(0)
    await limiter?.reset('ada')
    expect(await get()).toBe(200)
    await limiter?.reset('ada')
    await limiter?.block('ada', '1h')
    expect(await get()).toBe(429)
  })

  it('is there on Express and for a guard', () => {
    expect(express({ limit: 3, window: '1m' }).limiter?.peek('127.0.0.1').remaining).toBe(3)
    expect(guard.limit('ip', 3, '1m').limiter.policies[0]?.limit).toBe(3)
  })

  it('is null where no answer would hold for every request', () => {
    expect(express({ limit: () => 3, window: '1m' }).limiter).toBeNull()
    expect(express({ limit: 3, window: () => '1m' }).limiter).toBeNull()
  })
})
