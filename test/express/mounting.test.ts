import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import methodOverride from 'method-override'
import { afterEach, describe, expect, it } from 'vitest'
import { type RateLimitMiddleware, rateLimit } from '../../src/express/index.js'
import { type Ask, Client, header, quotaFields } from '../http/behaviour/client.js'
import { expressVersions } from '../http/behaviour/express.js'
import { start, turns, unhandledDuring } from '../http/behaviour/harness.js'

const base = { window: '1m', now: () => start } as const
const limited = (limit: number, more: object = {}): RateLimitMiddleware =>
  rateLimit({ limit, ...base, ...more })

const closing: (() => void)[] = []
afterEach(() => {
  for (const close of closing.splice(0)) close()
})

async function served(listener: RequestListener): Promise<Client> {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const client = new Client({ port: (server.address() as { port: number }).port })
  closing.push(() => {
    client.close()
    server.closeAllConnections()
    server.close()
  })
  return client
}

async function warningsDuring(run: () => Promise<unknown>): Promise<(string | undefined)[]> {
  const heard: (string | undefined)[] = []
  const hear = (warning: Error & { code?: string }) => {
    if (warning.name === 'HeadgateWarning') heard.push(warning.code)
  }
  process.on('warning', hear)
  await run()
  await turns()
  process.off('warning', hear)
  return heard
}

const paths = (...all: string[]): Ask[] => all.map((path) => ({ path }))
const ok = (_request: unknown, response: { end(text: string): unknown }) => void response.end('ok')

describe.each(['express4', 'express5'] as const)('%s', (name) => {
  const express = expressVersions[name]

  describe('where it is mounted', () => {
    it('on the app, a path, a router and a route', async () => {
      const app = express()
      const router = express.Router()
      router.use(limited(3))
      router.get('/x', ok)
      router.get('/y', limited(1), ok)
      app.use('/api', limited(9), router)
      app.get('/', ok)
      const client = await served(app)
      expect(
        await client.statuses(paths('/', '/api/y', '/api/y', '/api/x', '/api/x', '/api/x', '/'))
      ).toEqual([200, 200, 429, 200, 200, 429, 200])
      expect(quotaFields(await client.get('/'))).toEqual([])
    })

    it('one instance on several routes shares its counter, two instances of one object do not', async () => {
      const app = express()
      const options = { limit: 2, ...base }
      const shared = rateLimit(options)
      app.get('/a', shared, ok)
      app.post('/b', shared, ok)
      app.get('/c', rateLimit(options), ok)
      const client = await served(app)
      expect(
        await client.statuses([
          ...paths('/a'),
          { path: '/b', method: 'POST' },
          ...paths('/a', '/c', '/c', '/c')
        ])
      ).toEqual([200, 200, 429, 200, 200, 429])
    })

    it('EXP-06: on the app, a router and the route, one instance counts a request once', async () => {
      const app = express()
      const router = express.Router()
      const one = limited(4)
      router.use(one)
      router.get('/', one, one, ok)
      app.use(one, router)
      const client = await served(app)
      const first = await client.get()
      expect(header(first, 'RateLimit-Remaining')).toBe('3')
      expect(await client.statuses(paths('/', '/', '/', '/'))).toEqual([200, 200, 200, 429])
    })

    it('EXP-06: also where a sub-app hands the request on', async () => {
      const app = express()
      const inner = express()
      const one = limited(2)
      inner.use(one)
      app.use(one, inner)
      app.get('/', ok)
      const client = await served(app)
      expect(await client.statuses(paths('/', '/', '/'))).toEqual([200, 200, 429])
    })

    it('sub-apps have the proxy setting of the app that they are mounted in, or their own', async () => {
      const app = express()
      app.set('trust proxy', 'loopback')
      const inheriting = express()
      const own = express()
      own.set('trust proxy', false)
      for (const inner of [inheriting, own]) inner.get('/', limited(1), ok)
      app.use('/inheriting', inheriting)
      app.use('/own', own)
      const client = await served(app)
      const from = (path: string, address: string): Ask => ({ path, headers: { 'X-Forwarded-For': address } })
      expect(
        await client.statuses([
          from('/inheriting', '203.0.113.1'),
          from('/inheriting', '203.0.113.2'),
          from('/inheriting', '203.0.113.1'),
          from('/own', '203.0.113.1'),
          from('/own', '203.0.113.2')
        ])
      ).toEqual([200, 200, 429, 200, 429])
    })

    it('KEY-18: case and slash variants of a route share its counter', async () => {
      const app = express()
      app.get('/login', limited(2), ok)
      const client = await served(app)
      expect(await client.statuses(paths('/login', '/login/', '/LOGIN', '/Login/'))).toEqual([
        200, 200, 429, 429
      ])
    })

    it('KEY-20, KEY-21: queries and parameters mint no buckets', async () => {
      const app = express()
      let params = 0
      app.param('code', (_request, _response, next) => {
        params++
        next()
      })
      app.get('/verify/:code', limited(2), ok)
      app.get('/login', limited(2), ok)
      const client = await served(app)
      expect(await client.statuses(paths('/verify/a', '/verify/b', '/verify/c'))).toEqual([200, 200, 429])
      expect(params).toBe(3)
      expect(await client.statuses(paths('/login', '/login?x=1', '/login?', '/login?x=2'))).toEqual([
        200, 200, 429, 429
      ])
    })

    it('a key function sees the parameters of its route', async () => {
      const app = express()
      app.get(
        '/verify/:code',
        limited(1, { key: (request: { params: { code: string } }) => request.params.code }),
        ok
      )
      const client = await served(app)
      expect(await client.statuses(paths('/verify/a', '/verify/b', '/verify/a'))).toEqual([200, 200, 429])
    })

    it('KEY-26: the limit follows the method that is dispatched', async () => {
      const app = express()
      app.use(methodOverride('X-HTTP-Method-Override', { methods: ['GET', 'PUT', 'POST'] }))
      app.post('/x', limited(1), ok)
      app.get('/x', ok)
      const client = await served(app)
      const overridden = (method: string): Ask => ({
        method,
        path: '/x',
        headers: { 'X-HTTP-Method-Override': 'POST' }
      })
      expect(await client.statuses([overridden('GET'), overridden('PUT'), { path: '/x' }])).toEqual([
        200, 429, 200
      ])
    })

    it('404s and 405-likes are limited by a limiter on the app', async () => {
      const app = express()
      app.use(limited(2))
      app.post('/', ok)
      const client = await served(app)
      expect(await client.statuses(paths('/nope', '/', '/nope'))).toEqual([404, 404, 429])
    })

    it('malformed paths are limited by a limiter on the app', async () => {
      const app = express()
      app.use(limited(2))
      app.get('/:id', ok)
      const client = await served(app)
      expect(await client.statuses(paths('/%zz', '/%zz', '/%zz'))).toEqual([400, 400, 429])
    })
  })

  describe('misuse', () => {
    it('CFG-05: a limiter made for each request is warned of once; this comes first in the file', async () => {
      const app = express()
      app.get('/', (request, response, next) => limited(1)(request, response, next), ok)
      const client = await served(app)
      const heard = await warningsDuring(() => client.statuses(paths('/', '/', '/')))
      // Once a process: the other version of Express has said it already, or will not say it again.
      expect(heard.filter((code) => code === 'HEADGATE_MADE_PER_REQUEST')).toHaveLength(
        name === 'express4' ? 1 : 0
      )
    })

    it('the factory itself as a middleware is an error on every request, not a way in', async () => {
      const app = express()
      let reached = 0
      const errors: unknown[] = []
      app.use(rateLimit as never)
      app.get('/', () => void reached++)
      app.use((error: unknown, _request: unknown, response: ServerResponse, _next: unknown) => {
        errors.push(error)
        response.statusCode = 500
        response.end()
      })
      const client = await served(app)
      expect(await client.statuses(paths('/', '/'))).toEqual([500, 500])
      expect(reached).toBe(0)
      expect(errors).toMatchObject([
        { code: 'HEADGATE_MISUSE', message: expect.stringContaining('rateLimit(') },
        { code: 'HEADGATE_MISUSE' }
      ])
    })

    it.each([[], [undefined], [null], [5], ['1m'], [() => {}]])('construction with %j throws', (...args) => {
      expect(() => (rateLimit as (...all: unknown[]) => unknown)(...args)).toThrowError(
        expect.objectContaining({ code: expect.stringMatching(/^HEADGATE_/) })
      )
    })

    it('a limiter made in the app and used at once is no cause for a warning', async () => {
      const app = express()
      app.use(limited(5))
      app.get('/', ok)
      const client = await served(app)
      expect(await warningsDuring(() => client.get())).toEqual([])
    })
  })

  describe('requests', () => {
    it('`request.rateLimit` of another library is not mistaken for ours', async () => {
      const app = express()
      app.use((request, _response, next) => {
        Object.assign(request, { rateLimit: { limit: 5, used: 1, remaining: 4, resetTime: new Date() } })
        next()
      })
      app.use(limited(2))
      app.get('/', ok)
      const client = await served(app)
      expect(await client.statuses(paths('/', '/', '/'))).toEqual([200, 200, 429])
    })

    it('H16: fields are left out once headers are sent, and the request goes on', async () => {
      const app = express()
      const errors: unknown[] = []
      app.use((_request, response, next) => {
        response.writeHead(200, { 'X-Early': 'yes' })
        response.write('early ')
        next()
      })
      app.use(limited(1, { exposeHeaders: true }))
      app.get('/', (request, response) => {
        request.rateLimit!.charge(1)
        response.end('late')
      })
      app.use((error: unknown, _request: unknown, _response: unknown, next: (error: unknown) => void) => {
        errors.push(error)
        next(error)
      })
      const client = await served(app)
      const answer = await client.get()
      expect([answer.status, answer.body, quotaFields(answer)]).toEqual([200, 'early late', []])
      expect(errors).toEqual([])
    })

    it('H16: a request denied after headers were sent reaches no handler, and no error is made of it', async () => {
      const app = express()
      const errors: unknown[] = []
      let reached = 0
      app.use((_request, response, next) => {
        response.writeHead(200)
        response.write('early ')
        next()
      })
      app.use(limited(1))
      app.get('/', (_request, response) => {
        reached++
        response.end('late')
      })
      app.use((error: unknown, _request: unknown, response: ServerResponse, _next: unknown) => {
        errors.push(error)
        response.end()
      })
      const client = await served(app)
      await client.get()
      const denied = await client.get()
      expect(denied.body).not.toContain('late')
      expect(reached).toBe(1)
      expect(errors).toEqual([])
    })

    it('headers set as lists are exposed beside', async () => {
      const app = express()
      app.use((_request, response, next) => {
        response.setHeader('Access-Control-Expose-Headers', ['ETag', 'X-A'])
        next()
      })
      app.use(limited(1, { exposeHeaders: true, headers: 'none' }))
      app.get('/', ok)
      const client = await served(app)
      expect(header(await client.get(), 'Access-Control-Expose-Headers')).toBe('ETag, X-A, Retry-After')
    })

    it('EXP-01: errors of async functions reach the handler within a second, none is left unhandled', async () => {
      const unhandled = await unhandledDuring(async () => {
        for (const key of [
          () => {
            throw new Error('expected by a test')
          },
          () => new Promise((_, reject) => setTimeout(reject, 10, new Error('expected by a test')))
        ]) {
          const app = express()
          app.use(limited(1, { key }))
          app.get('/', ok)
          app.use((_error: unknown, _request: unknown, response: ServerResponse, _next: unknown) => {
            response.statusCode = 500
            response.end('mine')
          })
          const client = await served(app)
          const from = performance.now()
          const answer = await client.get()
          expect([answer.status, answer.body]).toEqual([500, 'mine'])
          expect(performance.now() - from).toBeLessThan(10_000)
        }
      })
      expect(unhandled).toEqual([])
    })
  })
})

describe('without Express', () => {
  it('a bare Node server is limited by its sockets, and trusts no proxy', async () => {
    const limiter = limited(2)
    const client = await served((request, response) => {
      limiter(request, response, (error) => {
        response.statusCode = error ? 500 : 200
        response.end('ok')
      })
    })
    const from = (address: string): Ask => ({ headers: { 'X-Forwarded-For': address } })
    expect(await client.statuses(['203.0.113.1', '203.0.113.2', '203.0.113.3'].map(from))).toEqual([
      200, 200, 429
    ])
    const denied = await client.get()
    expect(header(denied, 'Retry-After')).toBe('60')
    expect(denied.body).toBe('Too many requests, retry in 60 s.')
  })

  const exchange = () => {
    const request = { method: 'GET', headers: {}, socket: { remoteAddress: '203.0.113.1' } }
    const response = {
      headersSent: false,
      statusCode: 200,
      getHeader: () => undefined,
      setHeader: () => {},
      removeHeader: () => {},
      end: () => {},
      on: () => {},
      once: () => {}
    }
    return [request as unknown as IncomingMessage, response as unknown as ServerResponse] as const
  }

  it.each([
    ['sync', {}],
    ['async', { key: async () => 'k' }],
    ['async skip', { skip: async () => true }],
    ['held', { strategy: 'leaky-bucket', burst: 1, limit: 1, window: 2 }]
  ])('next is called exactly once, also where it throws (%s)', async (_name, more) => {
    const limiter = limited(9, more)
    for (let i = 0; i < 2; i++) {
      const calls: unknown[][] = []
      const caught: unknown[] = []
      const note = (error: unknown) => void caught.push(error)
      const error = new Error('of what comes next')
      const others = process.listeners('uncaughtException')
      process.removeAllListeners('uncaughtException')
      process.on('uncaughtException', note)
      const unhandled = await unhandledDuring(async () => {
        try {
          limiter(...exchange(), (...args) => {
            calls.push(args)
            throw error
          })
        } catch (reason) {
          caught.push(reason)
        }
        // An error that must not be raised has no event to wait for: a moment in which it could.
        await new Promise((resolve) => setTimeout(resolve, 10))
      })
      process.off('uncaughtException', note)
      for (const other of others) process.on('uncaughtException', other)
      expect(calls).toEqual([[]])
      expect([...caught, ...unhandled]).toEqual([error])
    }
  })

  it('next is called with the error, and once, where a function of the user fails', async () => {
    const fail = () => {
      throw new Error('expected by a test')
    }
    for (const more of [{ skip: fail }, { key: fail }, { cost: fail }, { key: async () => fail() }]) {
      const calls: unknown[][] = []
      limited(9, more)(...exchange(), (...args) => void calls.push(args))
      await turns()
      expect(calls).toEqual([[expect.objectContaining({ message: 'expected by a test' })]])
    }
  })

  it('next is not called for what is denied', async () => {
    const limiter = limited(1)
    const calls: unknown[][] = []
    for (let i = 0; i < 3; i++) limiter(...exchange(), (...args) => void calls.push(args))
    await turns()
    expect(calls).toEqual([[]])
  })
})
