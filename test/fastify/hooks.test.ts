import Fastify, { type FastifyInstance, type FastifyReply, type InjectOptions } from 'fastify'
import fp from 'fastify-plugin'
import { describe, expect, it } from 'vitest'
import rateLimit, { type LimitHook, type RequestRateLimit } from '../../src/fastify/index.js'
import { gate, start, turns } from '../http/behaviour/harness.js'

const base = { window: '1m', now: () => start } as const
const of = (limit: number, more: object = {}) => ({ limit, ...base, ...more })
const handler = async () => 'ok'
const allHooks: LimitHook[] = ['onRequest', 'preParsing', 'preValidation', 'preHandler']

async function statuses(app: FastifyInstance, ...asks: (string | InjectOptions)[]): Promise<number[]> {
  const found: number[] = []
  for (const ask of asks) found.push((await app.inject(ask)).statusCode)
  return found
}

/** A key that leaves a note of when it was asked for. */
function noted(order: string[]): string {
  order.push('limit')
  return 'k'
}

const as = (user: string, url = '/'): InjectOptions => ({ url, headers: { 'x-user': user } })
const post = (url: string, payload: object = { a: 1 }): InjectOptions => ({ url, method: 'POST', payload })

describe('where a limiter runs', () => {
  it.each(allHooks)('the plugin in %s', async (hook) => {
    const app = Fastify()
    await app.register(rateLimit, of(2, { hook }))
    app.get('/', handler)
    app.post('/', async (request) => request.body)
    expect(await statuses(app, '/', post('/'), '/', post('/'), '/nope')).toEqual([200, 200, 429, 429, 429])
  })

  it.each(allHooks)('a route’s `limit` in %s', async (hook) => {
    const app = Fastify()
    await app.register(rateLimit, of(9))
    app.post('/', { limit: of(2, { hook }) }, async (request) => request.body)
    expect(await statuses(app, post('/'), post('/'), post('/'))).toEqual([200, 200, 429])
  })

  it.each(allHooks)('a route’s `limit` inherits the plugin’s hook, %s', async (hook) => {
    const app = Fastify()
    const order: string[] = []
    for (const name of allHooks)
      app.addHook(name as 'onRequest', async () => {
        order.push(name)
      })
    await app.register(rateLimit, of(9, { hook, key: () => noted(order) }))
    app.get('/', { limit: { limit: 2, window: '1m' } }, handler)
    await app.inject('/')
    expect(order).toEqual([
      ...allHooks.slice(0, allHooks.indexOf(hook) + 1),
      'limit',
      ...allHooks.slice(allHooks.indexOf(hook) + 1)
    ])
  })

  it.each(allHooks)('`app.limit()` as the hook %s of a route, alone and among others', async (hook) => {
    const app = Fastify()
    await app.register(rateLimit)
    const own = async () => {}
    app.post('/alone', { [hook]: app.limit(of(1)) } as object, async (request) => request.body)
    app.post('/among', { [hook]: [own, app.limit(of(1)), own] } as object, async (request) => request.body)
    expect(await statuses(app, post('/alone'), post('/alone'), post('/among'), post('/among'))).toEqual([
      200, 429, 200, 429
    ])
  })

  it.each(allHooks)('`app.limit()` as the hook %s of a scope', async (hook) => {
    const app = Fastify()
    await app.register(rateLimit)
    app.addHook(hook as 'onRequest', app.limit(of(1)))
    app.get('/', handler)
    expect(await statuses(app, '/', '/')).toEqual([200, 429])
  })

  it('one hook made by `app.limit()` and used twice on a request counts it once', async () => {
    const app = Fastify()
    await app.register(rateLimit)
    const hook = app.limit(of(2))
    app.addHook('onRequest', hook)
    app.get('/', { preHandler: [hook, hook] }, handler)
    expect(await statuses(app, '/', '/', '/')).toEqual([200, 200, 429])
  })

  it('`app.limit` itself as a hook is an error on every request, not a way in', async () => {
    const app = Fastify()
    let reached = 0
    await app.register(rateLimit)
    app.get('/', { preHandler: app.limit as never }, async () => void reached++)
    expect(await statuses(app, '/', '/')).toEqual([500, 500])
    expect(reached).toBe(0)
  })

  it('a body is not parsed for a request that is denied in onRequest', async () => {
    const app = Fastify()
    let parsed = 0
    app.addContentTypeParser('text/x', { parseAs: 'string' }, (_request, body, done) => {
      parsed++
      done(null, body)
    })
    await app.register(rateLimit, of(1))
    app.post('/', handler)
    const ask: InjectOptions = {
      url: '/',
      method: 'POST',
      payload: 'x',
      headers: { 'content-type': 'text/x' }
    }
    expect(await statuses(app, ask, ask)).toEqual([200, 429])
    expect(parsed).toBe(1)
  })

  it('a body that does not parse counts, unless the limit runs later', async () => {
    const app = Fastify()
    await app.register(rateLimit, of(1))
    app.post('/', handler)
    const bad: InjectOptions = {
      url: '/',
      method: 'POST',
      payload: '{',
      headers: { 'content-type': 'application/json' }
    }
    expect(await statuses(app, bad, bad)).toEqual([400, 429])
  })
})

describe('users', () => {
  const authenticate = async (request: { user?: unknown; headers: Record<string, unknown> }) => {
    if (request.headers['x-user']) request.user = { id: String(request.headers['x-user']) }
  }

  it.each(['onRequest', 'preParsing', 'preValidation'] as const)(
    'FST-11: key `user` runs after authentication in %s, of the plugin and of routes',
    async (hook) => {
      for (const where of ['plugin', 'route'] as const) {
        const app = Fastify()
        await app.register(rateLimit, where === 'plugin' ? of(1, { key: 'user' }) : of(99))
        app.addHook(hook as 'onRequest', authenticate as never)
        app.get('/', where === 'route' ? { limit: of(1, { key: 'user' }) } : {}, handler)
        expect(await statuses(app, as('a'), as('a'), as('b'))).toEqual([200, 429, 200])
      }
    }
  )

  it('FST-11: and after authentication in preHandler that was added before', async () => {
    const app = Fastify()
    app.addHook('preHandler', authenticate as never)
    await app.register(rateLimit, of(1, { key: 'user' }))
    app.get('/', handler)
    expect(await statuses(app, as('a'), as('a'), as('b'))).toEqual([200, 429, 200])
  })

  it('FST-11: a route’s limit by user runs after a preHandler of the route', async () => {
    const app = Fastify()
    await app.register(rateLimit, of(99))
    app.get('/', { preHandler: authenticate as never, limit: of(1, { key: 'user' }) }, handler)
    expect(await statuses(app, as('a'), as('a'), as('b'))).toEqual([200, 429, 200])
  })

  /** Where authentication may stand in or around a route, and the plugin's own options. */
  const own = { limit: of(1, { key: 'user' }) }
  const other = async () => {}
  const placements: readonly (readonly [string, object, (app: FastifyInstance) => unknown])[] = [
    [
      'a list of preHandlers',
      {},
      (app) => app.get('/', { preHandler: [other, authenticate as never], ...own }, handler)
    ],
    [
      'preHandlers, the key from the plugin',
      { key: 'user' },
      (app) => app.get('/', { preHandler: [authenticate as never], limit: of(1) }, handler)
    ],
    [
      'preHandlers, the plugin’s limit by user too',
      of(9, { key: 'user' }),
      (app) => app.get('/', { preHandler: [authenticate as never], ...own }, handler)
    ],
    [
      'preHandlers, the plugin in preHandler',
      { hook: 'preHandler' },
      (app) => app.get('/', { preHandler: [authenticate as never], ...own }, handler)
    ],
    [
      'preHandlers, the limit a policy of the plugin',
      { policies: { mine: of(1, { key: ['user'] }) } },
      (app) => app.get('/', { preHandler: [authenticate as never], limit: 'mine' }, handler)
    ],
    [
      'preHandlers, the limit in the config',
      {},
      (app) => app.get('/', { preHandler: authenticate as never, config: own }, handler)
    ],
    [
      'the route’s preValidation, and the limit there',
      { hook: 'preValidation' },
      (app) => app.get('/', { preValidation: [authenticate as never], ...own }, handler)
    ],
    [
      'a preHandler of a nested scope',
      of(9, { key: 'user' }),
      (app) =>
        app.register(async (child) => {
          child.register(async (grandchild) => void grandchild.get('/', own, handler))
          child.addHook('preHandler', authenticate as never)
        })
    ],
    [
      'a preHandler of a nested scope with a registration of its own',
      of(9, { key: 'user' }),
      (app) =>
        app.register(async (child) => {
          child.register(rateLimit)
          child.get('/', { ...own, preHandler: [other] }, handler)
          child.addHook('preHandler', authenticate as never)
        })
    ]
  ]

  it.each(placements)('FST-11: a route’s own limit by user runs after %s', async (_where, options, add) => {
    for (const isFirst of [true, false]) {
      const app = Fastify()
      if (isFirst) app.register(rateLimit, options)
      add(app)
      if (!isFirst) app.register(rateLimit, options)
      expect(await statuses(app, as('a'), as('b'), as('a'))).toEqual([200, 200, 429])
    }
  })

  it('the plugin’s own limit by user does not run after preHandlers of routes, and says so once', async () => {
    const heard: unknown[] = []
    const hear = (warning: Error & { code?: string }) => void heard.push(warning.code)
    process.on('warning', hear)
    const app = Fastify()
    await app.register(rateLimit, of(2, { key: 'user' }))
    app.get('/', { preHandler: authenticate as never }, handler)
    expect(await statuses(app, as('a'), as('b'), as('c'))).toEqual([200, 200, 429])
    await turns()
    process.off('warning', hear)
    expect(heard).toEqual(['HEADGATE_LATE_USER'])
  })

  it('a list that holds `user` runs after authentication too', async () => {
    const app = Fastify()
    await app.register(rateLimit, of(1, { key: ['user', 'ip'] }))
    app.addHook('preValidation', authenticate as never)
    app.get('/', handler)
    expect(await statuses(app, as('a'), as('a'), as('b'))).toEqual([200, 429, 200])
  })

  it('FST-11: a function of the user in the early default stage is an error, no shared bucket', async () => {
    const app = Fastify()
    const errors: unknown[] = []
    app.setErrorHandler((error, _request, reply) => {
      errors.push(error)
      void reply.code(500).send('x')
    })
    await app.register(
      rateLimit,
      of(1, { key: (request: { user?: { id: string } }) => request.user?.id as string })
    )
    app.addHook('preValidation', authenticate as never)
    app.get('/', handler)
    expect(await statuses(app, as('a'), as('b'))).toEqual([500, 500])
    expect(errors).toMatchObject([{ code: 'HEADGATE_BAD_KEY' }, { code: 'HEADGATE_BAD_KEY' }])
  })

  it('FST-11: the same function in preHandler counts by user; so do parsed bodies', async () => {
    const app = Fastify()
    await app.register(rateLimit)
    app.addHook('preValidation', authenticate as never)
    const user = (request: { user?: { id: string } }) => request.user!.id
    app.get('/', { limit: of(1, { hook: 'preHandler', key: user }) }, handler)
    app.post(
      '/body',
      {
        limit: of(1, { hook: 'preHandler', key: (request: { body: { mail: string } }) => request.body.mail })
      },
      handler
    )
    expect(await statuses(app, as('a'), as('a'), as('b'))).toEqual([200, 429, 200])
    expect(
      await statuses(
        app,
        post('/body', { mail: 'x' }),
        post('/body', { mail: 'x' }),
        post('/body', { mail: 'y' })
      )
    ).toEqual([200, 429, 200])
  })

  it('a route by address beside a plugin by user still runs in onRequest', async () => {
    const app = Fastify()
    const order: string[] = []
    await app.register(rateLimit, of(9, { key: 'user' }))
    app.addHook('preHandler', async () => void order.push('preHandler'))
    app.get('/', { limit: of(1, { key: () => noted(order) }) }, handler)
    await app.inject('/')
    expect(order).toEqual(['limit', 'preHandler'])
  })

  it('NST-08: failed logins are counted before authentication refuses them', async () => {
    const app = Fastify()
    await app.register(rateLimit, of(3))
    app.addHook('preHandler', async (_request, reply) => reply.code(401).send('wrong'))
    app.get('/', handler)
    expect(await statuses(app, '/', '/', '/', '/', '/')).toEqual([401, 401, 401, 429, 429])
  })
})

describe('request.rateLimit', () => {
  it('is null where the request is not limited, and the decision where it is', async () => {
    const app = Fastify()
    const seen: (RequestRateLimit | null)[] = []
    await app.register(rateLimit, of(5))
    app.addHook('onSend', async (request) => void seen.push(request.rateLimit))
    app.get('/off', { limit: false }, handler)
    app.get('/', async (request) => {
      // The types say that it may be null.
      const left: number | undefined = request.rateLimit?.remaining
      return String(left)
    })
    const off = await app.inject('/off')
    const on = await app.inject('/')
    expect([off.statusCode, on.body]).toEqual([200, '4'])
    expect(seen[0]).toBeNull()
    expect(seen[1]).toMatchObject({
      allowed: true,
      limit: 5,
      remaining: 4,
      retryAfterMs: 0,
      key: '127.0.0.1'
    })
  })

  it('does not leak from one request to the next', async () => {
    const app = Fastify()
    const seen: unknown[] = []
    await app.register(rateLimit, of(5, { skip: (request: { url: string }) => request.url === '/skipped' }))
    app.get('/*', async (request) => void seen.push(request.rateLimit === null))
    await statuses(app, '/', '/skipped', '/', '/skipped')
    expect(seen).toEqual([false, true, false, true])
  })

  it('charges late, and the headers follow up to onSend', async () => {
    const app = Fastify()
    await app.register(rateLimit, of(20))
    app.addHook('onSend', async (request) => request.rateLimit?.charge(3))
    app.get('/', async (request) => {
      request.rateLimit!.charge(4)
      return 'ok'
    })
    expect((await app.inject('/')).headers['ratelimit-remaining']).toBe('12')
  })
})

describe('replies', () => {
  it('onSend hooks, of other plugins too, see the fields, and what they set stays', async () => {
    const app = Fastify()
    const seen: unknown[] = []
    await app.register(
      fp(async (instance) => {
        instance.addHook('onSend', async (_request, reply) => {
          seen.push(reply.getHeader('ratelimit-remaining'), reply.getHeader('retry-after'), reply.statusCode)
          reply.header('x-mine', 'y')
        })
      })
    )
    await app.register(rateLimit, of(1))
    app.get('/', handler)
    const admitted = await app.inject('/')
    const denied = await app.inject('/')
    expect(seen).toEqual(['0', undefined, 200, '0', '60', 429])
    expect([admitted.headers['x-mine'], denied.headers['x-mine']]).toEqual(['y', 'y'])
  })

  it('onSend hooks may replace the body of a denial', async () => {
    const app = Fastify()
    app.addHook('onSend', async (_request, reply) => (reply.statusCode === 429 ? 'replaced' : undefined))
    await app.register(rateLimit, of(1))
    app.get('/', handler)
    await app.inject('/')
    const denied = await app.inject('/')
    expect([denied.statusCode, denied.body]).toEqual([429, 'replaced'])
    expect(denied.headers['content-length']).toBe('8')
  })

  it('onResponse hooks run for what is denied', async () => {
    const app = Fastify()
    const seen: number[] = []
    app.addHook('onResponse', async (_request, reply) => void seen.push(reply.statusCode))
    await app.register(rateLimit, of(1))
    app.get('/', handler)
    await statuses(app, '/', '/')
    await turns()
    expect(seen).toEqual([200, 429])
  })

  it('headers of earlier hooks are kept on a 429', async () => {
    const app = Fastify()
    app.addHook('onRequest', async (_request, reply) => void reply.header('x-request-id', '7'))
    await app.register(rateLimit, of(1))
    app.get('/', handler)
    await app.inject('/')
    expect((await app.inject('/')).headers['x-request-id']).toBe('7')
  })

  it('a serializer and a response schema of the route do not touch the denial', async () => {
    const app = Fastify()
    await app.register(rateLimit, of(1))
    const schema = {
      response: { 429: { type: 'object', properties: {} }, 200: { type: 'object', properties: {} } }
    }
    app.get('/', { schema }, async () => ({}))
    await app.inject('/')
    const denied = await app.inject({ url: '/', headers: { accept: 'application/json' } })
    expect(JSON.parse(denied.body)).toMatchObject({ statusCode: 429 })
  })

  it('a reply that an earlier hook has sent is left alone, and not counted', async () => {
    const app = Fastify()
    app.addHook('onRequest', async (request, reply) => {
      if (request.headers['x-early']) return reply.code(202).send('early')
    })
    await app.register(rateLimit, of(1))
    app.get('/', handler)
    const early = { url: '/', headers: { 'x-early': 'yes' } }
    expect(await statuses(app, early, early, '/', '/')).toEqual([202, 202, 200, 429])
  })

  it('hijacked replies are counted', async () => {
    const app = Fastify()
    await app.register(rateLimit, of(2))
    app.get('/', (_request, reply) => {
      reply.hijack()
      reply.raw.end('raw')
    })
    expect(await statuses(app, '/', '/', '/')).toEqual([200, 200, 429])
  })

  it('hijacked replies are given back where only failures count, and charging them late breaks nothing', async () => {
    const app = Fastify()
    await app.register(rateLimit, of(2, { countOnly: 'failures' }))
    app.get('/', (request, reply) => {
      reply.hijack()
      reply.raw.writeHead(200)
      request.rateLimit!.charge(1)
      reply.raw.end('raw')
    })
    expect(await statuses(app, '/', '/', '/')).toEqual([200, 200, 200])
  })

  it('a reply that is taken over while a limiter waits is left to whoever took it', async () => {
    const app = Fastify()
    const taken: FastifyReply[] = []
    app.addHook('onRequest', (_request, reply, done) => {
      taken.push(reply)
      done()
    })
    const key = async () => {
      taken.at(-1)!.hijack()
      return 'k'
    }
    await app.register(rateLimit, of(1, { key }))
    app.get('/', handler)
    const first = app.inject('/')
    await new Promise((resolve) => setImmediate(resolve))
    const second = app.inject('/')
    await new Promise((resolve) => setImmediate(resolve))
    for (const { raw } of taken) raw.writeHead(202).end('theirs')
    for (const answer of [await first, await second])
      expect([answer.statusCode, answer.body]).toEqual([202, 'theirs'])
  })

  it('streams that fail half-way break nothing', async () => {
    const app = Fastify()
    const { Readable } = await import('node:stream')
    await app.register(rateLimit, of(2, { countOnly: 'failures' }))
    app.get('/', (_request, reply) => {
      let sent = false
      return reply.send(
        new Readable({
          read() {
            if (sent) this.destroy(new Error('expected by a test'))
            else this.push('x')
            sent = true
          }
        })
      )
    })
    await expect(app.inject('/')).rejects.toThrow()
    await expect(app.inject('/')).rejects.toThrow()
    expect((await app.inject('/')).statusCode).toBe(429)
  })

  it('async hooks of the user before and after it work', async () => {
    const app = Fastify()
    const order: string[] = []
    const hook = (name: string) => async () => {
      await new Promise((resolve) => setImmediate(resolve))
      order.push(name)
    }
    app.addHook('onRequest', hook('before'))
    await app.register(rateLimit, of(1, { key: async () => noted(order) }))
    app.addHook('onRequest', hook('after'))
    app.get('/', { preHandler: hook('own') }, async () => {
      order.push('handler')
      return 'ok'
    })
    expect(await statuses(app, '/', '/')).toEqual([200, 429])
    expect(order).toEqual(['before', 'limit', 'after', 'own', 'handler', 'before', 'limit'])
  })

  it('`onLimited` may send by the reply, return it, or be async', async () => {
    const ready = gate()
    ready.open()
    const ways = [
      (_request: unknown, reply: import('fastify').FastifyReply) => void reply.send({ mine: true }),
      (_request: unknown, reply: import('fastify').FastifyReply) => reply.send({ mine: true }),
      async (_request: unknown, reply: import('fastify').FastifyReply) => {
        await ready.promise
        return reply.send({ mine: true })
      },
      async (_request: unknown, reply: import('fastify').FastifyReply) => {
        await ready.promise
        void reply.send({ mine: true })
      }
    ]
    for (const onLimited of ways) {
      const app = Fastify()
      await app.register(rateLimit, of(1, { onLimited }))
      app.get('/', handler)
      await app.inject('/')
      const denied = await app.inject('/')
      expect([denied.statusCode, denied.json()]).toEqual([429, { mine: true }])
      expect(denied.headers['retry-after']).toBe('60')
    }
  })

  it('errors reach the error handler of the route’s scope, with code', async () => {
    const app = Fastify()
    await app.register(rateLimit, of(1, { key: () => '' }))
    await app.register(
      async (child) => {
        child.setErrorHandler((error: Error & { code?: string }, _request, reply) =>
          reply.code(500).send(error.code)
        )
        child.get('/', handler)
      },
      { prefix: '/child' }
    )
    const answer = await app.inject('/child')
    expect([answer.statusCode, answer.body]).toEqual([500, 'HEADGATE_BAD_KEY'])
  })
})
