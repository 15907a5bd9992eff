import express from 'express'
import request from 'supertest'
import { expect, it } from 'vitest'
import { rateLimit } from '../../src/express/index.js'

it('a late charge beyond what is left gives back no more than it took', async () => {
  const app = express()
  app.use(rateLimit({ limit: 10, window: '15m', countOnly: 'failures', key: () => 'k' }))
  app.get('/bad', (_request, response) => void response.status(401).end())
  app.get('/good', (request, response) => {
    request.rateLimit?.charge(9)
    response.end('ok')
  })
  const agent = request(app)
  for (let i = 0; i < 9; i++) await agent.get('/bad')
  await agent.get('/good')
  expect((await agent.get('/bad')).headers['ratelimit-remaining']).toBe('0')
})

it('a computed limit judges newcomers of a full table by what it returned, not by a stand-in', async () => {
  const { memoryStore } = await import('../../src/index.js')
  const app = express()
  const store = memoryStore({ maxKeys: 1 })
  app.use(rateLimit({ limit: () => 100, window: '15m', store, key: (request) => String(request.headers.k) }))
  app.get('/', (_request, response) => void response.end('ok'))
  const agent = request(app)
  await agent.get('/').set('k', 'resident')
  for (let i = 0; i < 3; i++) expect((await agent.get('/').set('k', 'newcomer')).status).toBe(200)
})

it('an address of the deny list is refused its preflights too', async () => {
  const app = express()
  app.use(rateLimit({ limit: 10, window: '15m', deny: ['loopback'] }))
  app.use((_request, response) => void response.end('ok'))
  const preflight = request(app).options('/').set('Origin', 'https://a.example')
  expect((await preflight.set('Access-Control-Request-Method', 'GET')).status).toBe(403)
})
