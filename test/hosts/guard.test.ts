import express, { type NextFunction, type Request, type Response } from 'express'
import Fastify from 'fastify'
import { afterEach, describe, expect, it } from 'vitest'
import { type GuardHandler, guard } from '../../src/index.js'
import { Client, header } from '../http/behaviour/client.js'
import { expressVersions } from '../http/behaviour/express.js'

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

async function onExpress(
  handler: GuardHandler,
  before: ((request: Request) => void)[] = [],
  factory = express
): Promise<Client> {
  const app = factory()
  for (const step of before)
    app.use((request: Request, _response: Response, next: NextFunction) => {
      step(request)
      next()
    })
  app.get('/', handler, (_request, response) => void response.end('express'))
  const server = app.listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const client = new Client({ port: (server.address() as { port: number }).port })
  closing.push(() => {
    client.close()
    server.closeAllConnections()
    server.close()
  })
  return client
}

async function onFastify(handler: GuardHandler): Promise<Client> {
  const app = Fastify()
  app.get('/', { onRequest: handler }, async () => 'fastify')
  await app.listen({ port: 0, host: '127.0.0.1' })
  const client = new Client({ port: (app.server.address() as { port: number }).port })
  closing.push(() => {
    client.close()
    return app.close()
  })
  return client
}

describe('guard.limit', () => {
  it('one function on an Express and on a Fastify route at once shares its counter', async () => {
    const handler = guard.limit('ip', 4, '1d')
    const [one, two] = [await onExpress(handler), await onFastify(handler)]
    const found: unknown[] = []
    for (const client of [one, two, one, two, one, two]) {
      const answer = await client.get()
      found.push([answer.status, header(answer, 'RateLimit-Remaining')])
    }
    expect(found).toEqual([
      [200, '3'],
      [200, '2'],
      [200, '1'],
      [200, '0'],
      [429, '0'],
      [429, '0']
    ])
  })

  it('works on Express 4', async () => {
    const client = await onExpress(guard.limit('ip', 1, '1d'), [], expressVersions.express4)
    expect(await client.statuses([{}, {}])).toEqual([200, 429])
  })

  it('takes every key, window and strategy', async () => {
    const own = (request: object) =>
      String((request as { headers: Record<string, string> }).headers['x-user'])
    for (const key of ['header:x-user', own, ['ip', 'header:x-user']] as const) {
      const handler = guard.limit(key as 'ip', 1, 86_400_000, 'sliding-log')
      const as = (user: string) => ({ headers: { 'X-User': user } })
      for (const client of [await onExpress(handler), await onFastify(handler)]) {
        const user = `${Math.random()}`
        expect(await client.statuses([as(user), as(user), as(`${user}b`)])).toEqual([200, 429, 200])
      }
    }
  })

  it('two guards on one route both decide', async () => {
    const app = express()
    app.get(
      '/',
      guard.limit('ip', 2, '1d'),
      guard.limit('ip', 1, '1d'),
      (_request, response) => void response.end('ok')
    )
    const server = app.listen(0, '127.0.0.1')
    await new Promise((resolve) => server.once('listening', resolve))
    const client = new Client({ port: (server.address() as { port: number }).port })
    closing.push(() => {
      client.close()
      server.closeAllConnections()
      server.close()
    })
    expect(await client.statuses([{}, {}])).toEqual([200, 429])
  })

  it('an Express request that some middleware has given a `raw` is still one of Express', async () => {
    const client = await onExpress(guard.limit('ip', 1, '1d'), [
      (request) => void Object.assign(request, { raw: Buffer.from('the raw body') })
    ])
    const answer = await client.get()
    expect([answer.status, header(answer, 'RateLimit-Remaining')]).toEqual([200, '0'])
    expect((await client.get()).status).toBe(429)
  })

  it.each([
    [['nonsense', 1, '1m'], 'key'],
    [['ip', 0, '1m'], 'limit'],
    [['ip', '5', '1m'], 'limit'],
    [['ip', 1, 'soon'], 'window'],
    [['ip', 1], 'window'],
    [['ip', 1, '1m', 'gcrra'], 'strategy'],
    [[], '']
  ])('%j throws where it is written', (args, named) => {
    expect(() => (guard.limit as (...all: unknown[]) => unknown)(...(args as unknown[]))).toThrowError(
      expect.objectContaining({
        code: expect.stringMatching(/^HEADGATE_/),
        message: expect.stringContaining(named as string)
      })
    )
  })

  it('takes any rules beside the key', async () => {
    const handler = guard.limit('ip', { limits: [{ concurrency: 2 }, { limit: 3, window: '1d' }] })
    for (const client of [await onExpress(handler), await onFastify(handler)])
      expect((await client.get()).status).toBe(200)
    expect(handler.limiter.peek({ ip: '127.0.0.1' }).tiers.map(({ remaining }) => remaining)).toEqual([2, 1])
    expect(() => guard.limit('ip', { concurrency: 0 })).toThrow('`concurrency` is 0')
  })

  it('itself as a middleware is an error on every request, not a way in', async () => {
    const client = await onExpress(guard.limit as never)
    expect(await client.statuses([{}, {}])).toEqual([500, 500])
  })
})
