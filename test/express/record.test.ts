import { createServer, IncomingMessage } from 'node:http'
import express5 from 'express'
// @ts-expect-error: its types are those of Express 5
import express4 from 'express4'
import request from 'supertest'
import { describe, expect, it } from 'vitest'
import { rateLimit, rateLimitOf } from '../../src/express/index.js'

const options = { limit: 5, window: 60_000, now: () => 1_700_000_000_000 }
const remainingOf = (req: { rateLimit?: { remaining: number } }) => req.rateLimit?.remaining

describe.each([
  ['Express 4', express4 as typeof express5],
  ['Express 5', express5]
])('request.rateLimit on %s', (_, express) => {
  it('is seen by what follows, in the app of the limiter and in those around it', async () => {
    const seen: unknown[] = []
    const inner = express()
    inner.use(rateLimit(options), (req, _res, next) => {
      seen.push(remainingOf(req))
      next()
    })
    const middle = express()
    middle.use('/middle', inner)
    const outer = express()
    outer.use(middle)
    outer.use((req, res) => {
      seen.push(remainingOf(req))
      res.on('finish', () => seen.push(remainingOf(req)))
      res.send('ok')
    })
    await request(outer).get('/middle').expect(200)
    await request(outer).get('/elsewhere').expect(200)
    expect(seen).toEqual([4, 4, 4, undefined, undefined])
  })

  it('is seen through an object that stands for the request', async () => {
    const app = express()
    const seen: unknown[] = []
    app.use(rateLimit(options), (req, res) => {
      seen.push(remainingOf(new Proxy(req, {})), remainingOf(Object.create(req)), remainingOf({ ...req }))
      res.send('ok')
    })
    await request(app).get('/').expect(200)
    expect(seen).toEqual([4, 4, 4])
  })

  it('is a property of the request itself, and of no prototype', async () => {
    const app = express()
    const seen: unknown[] = []
    app.use(rateLimit(options), (req, res) => {
      seen.push(Object.keys(req).includes('rateLimit'), 'rateLimit' in app.request)
      res.send('ok')
    })
    await request(app).get('/').expect(200)
    expect(seen).toEqual([true, false])
  })

  it('can be set by others, and the later limiter has it', async () => {
    const app = express()
    const seen: unknown[] = []
    const look = (req: express5.Request, _res: unknown, next: () => void) => {
      seen.push(remainingOf(req))
      next()
    }
    const foreign = (req: object, _res: unknown, next: () => void) => {
      Object.assign(req, { rateLimit: { remaining: 'theirs' } })
      next()
    }
    app.use(rateLimit(options), look, foreign, look, rateLimit(options), look)
    app.get('/', (_req, res) => void res.send('ok'))
    await request(app).get('/').expect(200)
    expect(seen).toEqual([4, 'theirs', 4])
  })

  it('is found by `rateLimitOf` where another library has replaced it', async () => {
    const app = express()
    const foreign = { remaining: 'theirs' }
    const seen: unknown[] = []
    app.use(rateLimit(options), (req, res) => {
      Object.assign(req, { rateLimit: foreign })
      rateLimitOf(req)?.charge(2)
      seen.push(req.rateLimit, rateLimitOf(req)?.remaining, rateLimitOf({}))
      res.send('ok')
    })
    const answer = await request(app).get('/').expect(200)
    expect(seen).toEqual([foreign, 2, undefined])
    expect(answer.headers['ratelimit-remaining']).toBe('2')
  })

  it('is of one request alone, on a connection that is kept', async () => {
    const app = express()
    const limit = rateLimit(options)
    app.get('/limited', limit, (req, res) => void res.json({ remaining: remainingOf(req) ?? null }))
    app.get('/free', (req, res) => void res.json({ remaining: remainingOf(req) ?? null }))
    const agent = request.agent(app)
    for (const [path, remaining] of [
      ['/limited', 4],
      ['/free', null],
      ['/limited', 3]
    ] as const)
      expect((await agent.get(path)).body).toEqual({ remaining })
  })
})

it('is a property of the request itself on a bare Node server', async () => {
  const limit = rateLimit(options)
  const server = createServer((req, res) =>
    limit(req, res, () =>
      res.end(JSON.stringify([Object.hasOwn(req, 'rateLimit'), remainingOf(req as never)]))
    )
  )
  expect((await request(server).get('/')).text).toBe('[true,4]')
  expect('rateLimit' in IncomingMessage.prototype).toBe(false)
})
