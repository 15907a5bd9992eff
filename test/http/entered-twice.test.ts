import type { IncomingMessage, ServerResponse } from 'node:http'
import express from 'express'
import Fastify from 'fastify'
import request from 'supertest'
import { describe, expect, it } from 'vitest'
import { type RateLimitOptions, rateLimit } from '../../src/express/index.js'
import fastify from '../../src/fastify/index.js'
import { asyncMemory } from '../support/async-memory.js'
import { unhandledDuring } from './behaviour/harness.js'

const now = () => 1_699_999_200_000
const late = async (value: unknown) => {
  for (let i = 0; i < 10; i++) await Promise.resolve()
  return value
}
const ways: [string, Partial<RateLimitOptions>][] = [
  ['a key', { now, key: async () => String(await late('k')) }],
  ['a cost', { now, cost: async () => Number(await late(1)) }],
  ['a limit', { now, limit: async () => Number(await late(3)) }],
  ['skip', { now, skip: async () => (await late(false)) as boolean }],
  ['a store', { store: asyncMemory(now), key: () => 'k' }]
]

/** Runs a middleware three times at once, and goes on once all have let the request pass. */
function thrice(
  limit: (request: IncomingMessage, response: ServerResponse, next: (error?: unknown) => void) => void
) {
  return (request: never, response: never, next: (error?: unknown) => void) => {
    let open = 3
    let failed = false
    const done = (error?: unknown) => {
      if (failed) return
      failed = error !== undefined
      if (failed || --open === 0) next(error)
    }
    for (let i = 0; i < 3; i++) limit(request, response, done)
  }
}

describe.each(ways)('a limiter that a request enters several times while it awaits %s', (_, more) => {
  const options = { limit: 3, window: '1m', ...more } as RateLimitOptions

  it('counts it once on Express', async () => {
    const unhandled = await unhandledDuring(async () => {
      const app = express()
      app.use(thrice(rateLimit(options)) as never)
      app.use((_request, response) => void response.end('ok'))
      const statuses: number[] = []
      for (let i = 0; i < 5; i++) statuses.push((await request(app).get('/')).status)
      expect(statuses).toEqual([200, 200, 200, 429, 429])
    })
    expect(unhandled).toEqual([])
  })

  it('counts it once on Fastify, and denies it once', async () => {
    const warnings: unknown[] = []
    const app = Fastify({ logger: { level: 'warn', stream: { write: (line) => void warnings.push(line) } } })
    const { store } = more
    await app.register(fastify)
    const limit = app.limit({ ...options, ...(store && { store: asyncMemory(now) }) } as never)
    app.addHook('onSend', async (_request, _reply, payload) => late(payload))
    app.addHook('onRequest', thrice(limit as never) as never)
    app.get('/', async () => 'ok')
    const statuses: number[] = []
    for (let i = 0; i < 5; i++) statuses.push((await app.inject('/')).statusCode)
    expect(statuses).toEqual([200, 200, 200, 429, 429])
    expect(warnings).toEqual([])
  })
})

it('a failure of what it awaits reaches whoever entered', async () => {
  const app = express()
  const errors: unknown[] = []
  const limit = rateLimit({
    limit: 3,
    window: '1m',
    key: () => late('').then(() => Promise.reject(new Error('of key')))
  })
  app.use((req, res, next) => {
    let open = 2
    const done = (error?: unknown) => {
      errors.push((error as Error)?.message)
      if (--open === 0) next(error)
    }
    limit(req, res, done)
    limit(req, res, done)
  })
  const quiet: express.ErrorRequestHandler = (_error, _request, response, _next) =>
    void response.status(500).end()
  app.use(quiet)
  expect((await request(app).get('/')).status).toBe(500)
  expect(errors).toEqual(['of key', 'of key'])
})
