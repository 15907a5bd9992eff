import Fastify from 'fastify'
import { expect, it } from 'vitest'
import rateLimit from '../../src/fastify/index.js'

it('a ban is inherited by routes, but for those that block', async () => {
  const app = Fastify()
  await app.register(rateLimit, {
    limit: 1,
    window: '1m',
    ban: { after: 2, for: '1h' },
    now: () => 0,
    policies: { login: { limit: 1, window: '1m', ban: { after: 1, for: '2h' } } }
  })
  const handler = async () => 'ok'
  app.get('/own', { limit: { limit: 1, window: '1m' } }, handler)
  app.get('/blocking', { limit: { limit: 1, window: '1m', block: '5m' } }, handler)
  app.get('/login', { limit: 'login' }, handler)
  app.get('/page', handler)
  const waits = async (url: string) => {
    const answers = []
    for (let i = 0; i < 3; i++) answers.push((await app.inject(url)).headers['retry-after'])
    return answers
  }
  expect(await waits('/own')).toEqual([undefined, '60', '3600'])
  expect(await waits('/blocking')).toEqual([undefined, '300', '300'])
  expect(await waits('/login')).toEqual([undefined, '7200', '7200'])
  expect(await waits('/page')).toEqual([undefined, '60', '3600'])
  expect(await app.limiterOf('login').bans()).toEqual({
    bans: [{ key: '127.0.0.1', remainingMs: 7_200_000 }],
    next: null
  })
  await app.close()
})
