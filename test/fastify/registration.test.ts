import Fastify, { type FastifyInstance, type InjectOptions } from 'fastify'
import { describe, expect, it } from 'vitest'
import rateLimit, { type RateLimitPluginOptions } from '../../src/fastify/index.js'
import { guard } from '../../src/index.js'
import { memoryStore } from '../../src/memory/store.js'
import { start } from '../http/behaviour/harness.js'

const base = { window: '1m', now: () => start } as const
const of = (limit: number, more: object = {}) => ({ limit, ...base, ...more })
const handler = async () => 'ok'
const untyped = (options: object) => options as RateLimitPluginOptions

/** `200`, or `200/4` where the response says that 4 are left. */
async function told(app: FastifyInstance, ...asks: (string | InjectOptions)[]): Promise<string[]> {
  const found: string[] = []
  for (const ask of asks) {
    const { statusCode, headers } = await app.inject(ask)
    const left = headers['ratelimit-remaining']
    found.push(left === undefined ? String(statusCode) : `${statusCode}/${left}`)
  }
  return found
}

/** What a test is told of a server that should not have started. */
async function started(app: FastifyInstance): Promise<string> {
  await app.ready()
  return 'it started'
}

async function warningsDuring(run: () => Promise<unknown>): Promise<string[]> {
  const heard: string[] = []
  const hear = (warning: Error & { code?: string }) => {
    if (warning.name === 'HeadgateWarning') heard.push(`${warning.code}: ${warning.message}`)
  }
  process.on('warning', hear)
  await run()
  await new Promise((resolve) => setImmediate(resolve))
  process.off('warning', hear)
  return heard
}

describe('when the plugin is registered', () => {
  it('awaited: routes declared before and after are limited', async () => {
    const app = Fastify()
    app.get('/before', handler)
    await app.register(rateLimit, of(2))
    app.get('/after', handler)
    expect(await told(app, '/before', '/after', '/before', '/after')).toEqual([
      '200/1',
      '200/0',
      '429/0',
      '429/0'
    ])
  })

  it('FST-02: not awaited: routes declared right after, and before, are limited', async () => {
    const app = Fastify()
    app.get('/before', handler)
    app.register(rateLimit, of(1))
    app.get('/after', handler)
    await app.ready()
    expect(await told(app, '/after', '/after', '/before', '/after')).toEqual([
      '200/0',
      '429/0',
      '429/0',
      '429/0'
    ])
  })

  it('FST-02: not awaited: `config.limit` of a route is heeded', async () => {
    const app = Fastify()
    app.get('/before', { config: { limit: of(1) } }, handler)
    app.register(rateLimit, { ...of(9), policies: { login: of(2) } })
    app.get('/own', { config: { limit: of(1) } }, handler)
    app.get('/named', { config: { limit: 'login' } }, handler)
    app.get('/off', { config: { limit: false } }, handler)
    expect(await told(app, '/before', '/before', '/own', '/own')).toEqual([
      '200/0',
      '429/0',
      '200/0',
      '429/0'
    ])
    expect(await told(app, '/named', '/named', '/named')).toEqual(['200/1', '200/0', '429/0'])
    expect(await told(app, '/off', '/off')).toEqual(['200', '200'])
  })

  it('FST-02: not awaited: `config.limit` inherits, and HEAD counts with GET', async () => {
    const app = Fastify()
    app.register(rateLimit, { ...of(9), key: 'header:x-user', headers: 'draft-07' })
    app.get('/own', { config: { limit: { limit: 2, window: '1m' } } }, handler)
    const as = (user: string, method: 'GET' | 'HEAD' = 'GET') => ({
      url: '/own',
      method,
      headers: { 'x-user': user }
    })
    const statuses: number[] = []
    for (const ask of [as('a'), as('a', 'HEAD'), as('a'), as('b')])
      statuses.push((await app.inject(ask)).statusCode)
    expect(statuses).toEqual([200, 200, 429, 200])
    expect((await app.inject(as('c'))).headers.ratelimit).toBe('limit=2, remaining=1, reset=60')
  })

  it('FST-02: not awaited: `config.limit` by user still runs after authentication', async () => {
    const app = Fastify()
    app.register(rateLimit, of(99))
    app.addHook('preValidation', async (request) => {
      Object.assign(request, { user: { id: request.headers['x-user'] } })
    })
    app.get('/own', { config: { limit: of(1, { key: 'user' }) } }, handler)
    const as = (user: string) => ({ url: '/own', headers: { 'x-user': user } })
    expect(await told(app, as('a'), as('b'), as('a'))).toEqual(['200/0', '200/0', '429/0'])
  })

  it('FST-02: not awaited: its limits are no limiters made per request', async () => {
    const app = Fastify()
    app.register(rateLimit, of(9))
    app.get('/own', { config: { limit: of(1) } }, handler)
    expect(await warningsDuring(() => told(app, '/own', '/own'))).toEqual([])
  })

  it.each([
    ['a limit that cannot be', { limit: 0, window: '1m' }],
    ['a misspelt option', { limt: 1, window: '1m' }],
    ['an unknown policy', 'logni']
  ])(
    '§5: not awaited: `config.limit` with %s fails at start-up, not on every request',
    async (_name, limit) => {
      const app = Fastify()
      app.register(rateLimit, { ...of(9), policies: { login: of(1) } })
      app.get('/own', { config: { limit: limit as never } }, handler)
      await expect(started(app)).rejects.toMatchObject({ code: expect.stringMatching(/^HEADGATE_/) })
    }
  )

  it('FST-02: not awaited: a route’s own `limit` is heeded', async () => {
    const app = Fastify()
    app.register(rateLimit, of(99))
    app.get('/own', { limit: of(1) }, handler)
    expect(await warningsDuring(async () => void (await app.ready()))).toEqual([])
    expect(await told(app, '/own', '/own')).toEqual(['200/0', '429/0'])
  })

  it.each(['awaited', 'not awaited'])(
    'FST-02: children that were registered before it (%s) are limited',
    async (way) => {
      const app = Fastify()
      const warnings = await warningsDuring(async () => {
        app.register(async (child) => void child.get('/plain', handler))
        app.register(async (child) => void child.get('/own', { limit: of(1) }, handler))
        app.register(async (child) => void child.get('/config', { config: { limit: of(1) } }, handler))
        if (way === 'awaited') await app.register(rateLimit, of(9))
        else app.register(rateLimit, of(9))
        await app.ready()
      })
      expect(warnings).toEqual([])
      expect(await told(app, '/plain', '/own', '/config')).toEqual(['200/8', '200/0', '200/0'])
    }
  )

  it('FST-02: a child that registers it for itself keeps its routes, also where the parent registers it later', async () => {
    const app = Fastify()
    app.register(async (child) => {
      await child.register(rateLimit, { ...of(50), policies: { login: of(2) } })
      child.get('/own', { limit: of(1) }, handler)
      child.get('/named', { limit: 'login' }, handler)
      child.get('/off', { limit: false }, handler)
    })
    app.register(rateLimit, of(99))
    expect(await told(app, '/own', '/own')).toEqual(['200/0', '429/0'])
    expect(await told(app, '/named')).toEqual(['200/1'])
    expect(await told(app, '/off')).toEqual(['200'])
  })

  it('a decorator `limit` that is not headgate’s is not replaced without a word', async () => {
    const app = Fastify()
    app.decorate('limit', 5 as never)
    const outcome = await Promise.resolve(app.register(rateLimit, of(9))).then(
      () => 'registered',
      () => 'refused'
    )
    if (outcome === 'registered') expect(app.limit).toBe(5)
  })

  it('in `after` and in nested registers, before listening', async () => {
    const app = Fastify()
    app.register(rateLimit, of(2)).after(() => {
      app.get('/a', handler)
    })
    app.register(async (child) => {
      child.get('/b', handler)
      child.register(async (grandchild) => void grandchild.get('/c', handler))
    })
    expect(await told(app, '/a', '/b', '/c')).toEqual(['200/1', '200/0', '429/0'])
  })

  it('right use with inject at once brings no warning', async () => {
    const warnings = await warningsDuring(async () => {
      const app = Fastify()
      app.register(rateLimit, of(2))
      app.get('/', handler)
      await app.inject('/')
    })
    expect(warnings).toEqual([])
  })

  it('works on each of several servers with the same options object', async () => {
    const options = of(1)
    for (let i = 0; i < 2; i++) {
      const app = Fastify()
      await app.register(rateLimit, options)
      app.get('/', handler)
      expect(await told(app, '/', '/')).toEqual(['200/0', '429/0'])
    }
  })
})

describe('what is made before the plugin has loaded', () => {
  it('`app.limit` is not there yet: to call it is an error at once', () => {
    const app = Fastify()
    app.register(rateLimit, of(9))
    expect(() => app.get('/', { onRequest: app.limit(of(1)) }, handler)).toThrowError(TypeError)
  })

  it('in `after`, and in what is registered behind it, `app.limit` is there', async () => {
    const app = Fastify()
    app.register(rateLimit, of(9))
    app.after(() => void app.get('/after', { onRequest: app.limit(of(1)) }, handler))
    app.register(async (child) => void child.get('/child', { onRequest: child.limit(of(1)) }, handler))
    expect((await told(app, '/after', '/after', '/child', '/child')).map((text) => text.slice(0, 3))).toEqual(
      ['200', '429', '200', '429']
    )
  })

  it('a hook of `app.limit` may be a route’s, whose plugin’s limit holds too', async () => {
    const app = Fastify()
    await app.register(rateLimit, of(3))
    const hook = app.limit(of(2))
    app.get('/', { onRequest: hook }, handler)
    app.get('/other', handler)
    expect(await told(app, '/', '/', '/', '/other')).toEqual(['200/1', '200/0', '429/0', '200/0'])
  })

  it('hooks of `guard.limit` limit routes of any order, with the plugin’s limit, in both', async () => {
    const app = Fastify()
    const hook = guard.limit('ip', 2, '1d')
    app.get('/before', { onRequest: hook }, handler)
    app.register(rateLimit, of(9))
    app.get('/after', { onRequest: hook }, handler)
    expect((await told(app, '/before', '/after', '/after')).map((text) => text.slice(0, 3))).toEqual([
      '200',
      '200',
      '429'
    ])
  })

  it('a policy that a scope names by `limit` may come with a registration around it, by `app.limit` it may not', async () => {
    const app = Fastify()
    let error: unknown
    app.register(async (child) => {
      await child.register(rateLimit)
      child.get('/', { limit: 'login' }, handler)
      try {
        child.limit('login')
      } catch (thrown) {
        error = thrown
      }
    })
    app.register(rateLimit, { policies: { login: of(1) } })
    expect(await told(app, '/', '/')).toEqual(['200/0', '429/0'])
    expect(error).toMatchObject({ code: 'HEADGATE_UNKNOWN_POLICY' })
  })
})

describe('scopes', () => {
  it('FST-06: encapsulation is respected', async () => {
    const app = Fastify()
    app.get('/before', handler)
    await app.register(async (child) => {
      await child.register(rateLimit, of(1))
      child.get('/a', handler)
      child.get('/b', handler)
    })
    app.get('/after', handler)
    expect(await told(app, '/before', '/before', '/after', '/after')).toEqual(['200', '200', '200', '200'])
    expect(await told(app, '/a', '/a', '/b', '/b')).toEqual(['200/0', '429/0', '429/0', '429/0'])
  })

  it('FST-06: siblings that register it count apart', async () => {
    const app = Fastify()
    for (const name of ['a', 'b'])
      app.register(
        async (child) => {
          await child.register(rateLimit, of(1))
          child.get('/', handler)
        },
        { prefix: `/${name}` }
      )
    expect(await told(app, '/a', '/a', '/b', '/b')).toEqual(['200/0', '429/0', '200/0', '429/0'])
  })

  it('`limit` and `rateLimit` are decorated in the scope, and elsewhere not', async () => {
    const app = Fastify()
    await app.register(async (child) => {
      await child.register(rateLimit, of(1))
      expect(child.limit).toBeTypeOf('function')
    })
    expect(app.hasDecorator('limit')).toBe(false)
    expect(app.hasRequestDecorator('rateLimit')).toBe(false)
  })

  it('nested registrations both decide, and each counts a request once', async () => {
    const app = Fastify()
    await app.register(rateLimit, of(3, { name: 'outer', headers: 'draft-11' }))
    app.get('/outer', handler)
    await app.register(async (child) => {
      await child.register(rateLimit, of(2, { name: 'inner', headers: 'draft-11' }))
      child.get('/inner', handler)
    })
    expect((await app.inject('/inner')).headers.ratelimit).toBe('"outer";r=2;t=60, "inner";r=1;t=60')
    expect((await app.inject('/inner')).statusCode).toBe(200)
    expect((await app.inject('/inner')).statusCode).toBe(429)
    // What the inner one denied, the outer one gave back.
    expect((await app.inject('/outer')).statusCode).toBe(200)
    expect((await app.inject('/outer')).statusCode).toBe(429)
  })

  it('nested registrations: a route may name a policy of the inner one only', async () => {
    const app = Fastify()
    await app.register(rateLimit, of(99))
    await app.register(async (child) => {
      await child.register(rateLimit, { policies: { login: of(1) } })
      child.get('/login', { limit: 'login' }, handler)
    })
    expect((await told(app, '/login', '/login')).map((text) => text.slice(0, 3))).toEqual(['200', '429'])
  })

  it('nested registrations: a policy of both is the inner one’s in the inner scope', async () => {
    const app = Fastify()
    await app.register(rateLimit, { policies: { login: of(9) } })
    app.get('/outer', { limit: 'login' }, handler)
    await app.register(async (child) => {
      await child.register(rateLimit, { policies: { login: of(1) } })
      child.get('/inner', { limit: 'login' }, handler)
    })
    expect(await told(app, '/inner', '/inner', '/outer')).toEqual(['200/0', '429/0', '200/8'])
  })

  it.each(['ip', 'user'] as const)(
    'nested registrations: a route’s own limit by %s counts a request once',
    async (key) => {
      const app = Fastify()
      app.addHook('onRequest', async (request) => void Object.assign(request, { user: 'ann' }))
      await app.register(rateLimit, {})
      await app.register(async (child) => {
        await child.register(rateLimit, {})
        child.get('/', { limit: of(3, { key, headers: 'draft-11' }) }, handler)
      })
      const { headers } = await app.inject('/')
      expect(headers.ratelimit).toBe('"default";r=2;t=60')
      expect(headers['ratelimit-policy']).toBe('"default";q=3;w=60')
    }
  )

  it('`limit: false` in an inner scope switches off all of them', async () => {
    const app = Fastify()
    await app.register(rateLimit, of(1))
    await app.register(async (child) => {
      await child.register(rateLimit, of(1))
      child.get('/off', { limit: false }, handler)
    })
    expect(await told(app, '/off', '/off')).toEqual(['200', '200'])
  })

  it('FST-01: registered at the root: every 404 is limited, with hits, however it is answered', async () => {
    for (const own of [false, true]) {
      const app = Fastify()
      if (own) app.setNotFoundHandler((_request, reply) => void reply.code(404).send('mine'))
      await app.register(rateLimit, of(4))
      app.get('/', handler)
      app.post('/post', handler)
      expect(await told(app, '/nope', '/post', '/', '/nope', '/nope')).toEqual([
        '404/3',
        '404/2',
        '200/1',
        '404/0',
        '429/0'
      ])
    }
  })

  it('FST-01: registered in a scope with a not-found handler of its own: the 404s under its prefix', async () => {
    const app = Fastify()
    await app.register(
      async (child) => {
        await child.register(rateLimit, of(2))
        child.get('/a', handler)
        child.setNotFoundHandler((_request, reply) => void reply.code(404).send('mine'))
      },
      { prefix: '/p' }
    )
    expect(await told(app, '/p/nope', '/p/a', '/p/nope', '/nope', '/nope')).toEqual([
      '404/1',
      '200/0',
      '429/0',
      '404',
      '404'
    ])
  })

  it('FST-01: registered in a scope without one: no 404s, they are the root’s', async () => {
    const app = Fastify()
    await app.register(
      async (child) => {
        await child.register(rateLimit, of(1))
        child.get('/a', handler)
      },
      { prefix: '/p' }
    )
    expect(await told(app, '/p/nope', '/p/nope', '/nope')).toEqual(['404', '404', '404'])
  })

  it('FST-01: a not-found handler may have a limiter of its own', async () => {
    const app = Fastify()
    await app.register(rateLimit)
    app.setNotFoundHandler(
      { preHandler: app.limit(of(2)) },
      (_request, reply) => void reply.code(404).send('mine')
    )
    app.get('/', handler)
    expect(await told(app, '/nope', '/nope', '/nope', '/')).toEqual(['404/1', '404/0', '429/0', '200'])
  })

  it('FST-01: a handler that calls callNotFound counts once, and not where its route is not limited', async () => {
    const app = Fastify()
    await app.register(rateLimit, of(2))
    app.get('/a', (_request, reply) => reply.callNotFound())
    app.get('/off', { limit: false }, (_request, reply) => reply.callNotFound())
    expect(await told(app, '/a', '/off', '/a', '/a')).toEqual(['404/1', '404', '404/0', '429/0'])
  })
})

describe('the route option `limit`', () => {
  it('an object: its own limit and counter, in place of the plugin’s', async () => {
    const app = Fastify()
    await app.register(rateLimit, of(2))
    app.get('/', handler)
    app.get('/own', { limit: of(1) }, handler)
    expect(await told(app, '/own', '/own', '/', '/', '/')).toEqual([
      '200/0',
      '429/0',
      '200/1',
      '200/0',
      '429/0'
    ])
  })

  it('false: none', async () => {
    const app = Fastify()
    await app.register(rateLimit, of(1))
    app.get('/off', { limit: false }, handler)
    expect(await told(app, '/off', '/off')).toEqual(['200', '200'])
  })

  it('a name: one counter for all routes that name it, whatever their method and scope', async () => {
    const app = Fastify()
    await app.register(rateLimit, { ...of(99), policies: { login: of(3) } })
    app.get('/a', { limit: 'login' }, handler)
    app.post('/b', { limit: 'login' }, handler)
    await app.register(async (child) => void child.get('/c', { limit: 'login' }, handler), { prefix: '/v1' })
    app.get('/hook', { limit: false, preHandler: app.limit('login') }, handler)
    expect(await told(app, '/a', { url: '/b', method: 'POST' }, '/v1/c', '/a', '/hook')).toEqual([
      '200/2',
      '200/1',
      '200/0',
      '429/0',
      '429/0'
    ])
  })

  it('a policy is called by its name in headers', async () => {
    const app = Fastify()
    await app.register(rateLimit, { policies: { login: of(3) }, headers: 'draft-11', now: base.now })
    app.get('/a', { limit: 'login' }, handler)
    expect((await app.inject('/a')).headers['ratelimit-policy']).toBe('"login";q=3;w=60')
  })

  it.each(['__proto__', 'constructor', 'toString', 'hasOwnProperty'])(
    'an unknown name %s is unknown',
    async (name) => {
      const app = Fastify()
      await app.register(rateLimit, { policies: { login: of(3) } })
      expect(() => app.get('/', { limit: name }, handler)).toThrowError(
        expect.objectContaining({ code: 'HEADGATE_UNKNOWN_POLICY' })
      )
    }
  )

  it('a policy named __proto__ is one', async () => {
    const app = Fastify()
    const policies = JSON.parse('{"__proto__":{"limit":1,"window":"1m"}}')
    await app.register(rateLimit, { policies, now: base.now })
    app.get('/', { limit: '__proto__' }, handler)
    expect(await told(app, '/', '/')).toEqual(['200/0', '429/0'])
  })

  it('an unknown policy throws where the route is declared, with the near name', async () => {
    const app = Fastify()
    await app.register(rateLimit, { policies: { login: of(3), export: of(1) } })
    expect(() => app.get('/', { limit: 'logn' }, handler)).toThrowError(
      expect.objectContaining({
        code: 'HEADGATE_UNKNOWN_POLICY',
        message: expect.stringContaining("'login'")
      })
    )
    expect(() => app.limit('exprot')).toThrowError(
      expect.objectContaining({
        code: 'HEADGATE_UNKNOWN_POLICY',
        message: expect.stringContaining("'export'")
      })
    )
  })

  it.each([
    [{ limit: 0, window: '1m' }, 'limit'],
    [{ limit: '5', window: '1m' }, 'limit'],
    [{ limit: 1, window: 'soon' }, 'window'],
    [{ limit: 1 }, 'window'],
    [{ limit: 1, window: '1m', hook: 'onSend' }, 'hook'],
    [{ max: 1, window: '1m' }, 'limit'],
    [{ limit: 1, timeWindow: '1m' }, 'window'],
    [{ limit: 1, window: '1m', policies: {} }, 'policies'],
    [{ limit: 1, window: '1m', key: 'nonsense' }, 'key'],
    [5, 'limit'],
    [true, 'limit'],
    [null, 'limit'],
    ['', 'limit'],
    [[], 'limit']
  ])('a wrong one, %j, throws where the route is declared', async (limit, named) => {
    const app = Fastify()
    await app.register(rateLimit)
    expect(() => app.get('/', { limit: limit as never }, handler)).toThrowError(
      expect.objectContaining({
        code: expect.stringMatching(/^HEADGATE_/),
        message: expect.stringContaining(named)
      })
    )
    // In `config` users have limits of other kinds, so there a value must look like one of ours.
    if (Object.keys(Object(limit)).length > 0)
      expect(() => app.get('/config', { config: { limit: limit as never } }, handler)).toThrowError(
        expect.objectContaining({ code: expect.stringMatching(/^HEADGATE_/) })
      )
  })

  it('inherits every other setting of the plugin, and may set each anew', async () => {
    const app = Fastify()
    const seen: string[] = []
    await app.register(rateLimit, {
      ...of(9),
      key: 'header:x-user',
      cost: 2,
      headers: 'draft-07',
      exposeHeaders: true,
      statusCode: 503,
      skip: (request) => request.headers['x-skip'] === 'yes',
      onLimited: (_request, reply, { policy }) => {
        seen.push(policy.name)
        return reply.send('mine')
      }
    })
    app.get('/own', { limit: { limit: 4, window: '2m' } }, handler)
    app.get(
      '/anew',
      { limit: { limit: 4, window: '2m', headers: 'draft-06', cost: 1, statusCode: 429 } },
      handler
    )
    const as = (user: string, url = '/own', more = {}) => ({ url, headers: { 'x-user': user, ...more } })
    const first = await app.inject(as('a'))
    expect(first.headers.ratelimit).toMatch(/^limit=4, remaining=2, reset=/)
    expect(first.headers['access-control-expose-headers']).toContain('RateLimit')
    await app.inject(as('a'))
    const denied = await app.inject(as('a'))
    expect([denied.statusCode, denied.body]).toEqual([503, 'mine'])
    expect((await app.inject(as('b'))).statusCode).toBe(200)
    expect((await app.inject(as('a', '/own', { 'x-skip': 'yes' }))).statusCode).toBe(200)
    const anew = await app.inject(as('a', '/anew'))
    expect(anew.headers['ratelimit-remaining']).toBe('3')
    expect(seen).toEqual(['default'])
  })

  it('several limits of a route are tiers', async () => {
    const app = Fastify()
    await app.register(rateLimit, of(99))
    const limits = [
      { limit: 2, window: '1s' },
      { limit: 5, window: '1h' }
    ]
    app.get('/own', { limit: { limits } }, handler)
    const { headers } = await app.inject('/own')
    expect(headers['ratelimit-policy']).toBe('2;w=1, 5;w=3600')
  })

  it('one object on several routes is several counters', async () => {
    const app = Fastify()
    const strict = of(1)
    await app.register(rateLimit)
    app.get('/a', { limit: strict }, handler)
    app.get('/b', { limit: strict }, handler)
    app.post('/a', { limit: strict }, handler)
    expect(await told(app, '/a', '/b', { url: '/a', method: 'POST' }, '/a')).toEqual([
      '200/0',
      '200/0',
      '200/0',
      '429/0'
    ])
  })

  it('own limits are own counters also where they have one name and the plugin a store', async () => {
    const app = Fastify()
    await app.register(rateLimit, { store: memoryStore(), now: base.now })
    for (const path of ['/a', '/b'])
      app.get(path, { limit: { name: 'strict', limit: 1, window: '1m' } }, handler)
    expect(await told(app, '/a', '/b', '/a', '/b')).toEqual(['200/0', '200/0', '429/0', '429/0'])
  })

  it('a route of several methods has one counter', async () => {
    const app = Fastify()
    await app.register(rateLimit)
    app.route({ method: ['GET', 'POST'], url: '/a', limit: of(2), handler })
    expect(await told(app, '/a', { url: '/a', method: 'POST' }, '/a')).toEqual(['200/1', '200/0', '429/0'])
  })

  it('counters of versions and hosts of one path are apart', async () => {
    const app = Fastify()
    await app.register(rateLimit)
    for (const version of ['1.0.0', '2.0.0'])
      app.get('/a', { limit: of(2), constraints: { version } }, handler)
    const ask = (version: string, method: 'GET' | 'HEAD' = 'GET') => ({
      url: '/a',
      method,
      headers: { 'accept-version': version }
    })
    expect(
      await told(
        app,
        ask('1.0.0'),
        ask('1.0.0', 'HEAD'),
        ask('1.0.0'),
        ask('2.0.0'),
        ask('2.0.0', 'HEAD'),
        ask('2.0.0')
      )
    ).toEqual(['200/1', '200/0', '429/0', '200/1', '200/0', '429/0'])
  })

  it('an unrelated `config` stays as it is', async () => {
    const app = Fastify()
    await app.register(rateLimit)
    const config = Object.freeze({ mine: 'x' })
    let seen: unknown
    app.get('/', { limit: of(1), config: config as object }, async (request) => {
      seen = (request.routeOptions.config as { mine?: string }).mine
      return 'ok'
    })
    await app.inject('/')
    expect(seen).toBe('x')
    expect(Reflect.ownKeys(config)).toEqual(['mine'])
  })
})

describe('HEAD and slashes', () => {
  it('FST-05: the HEAD route that Fastify makes counts with its GET', async () => {
    for (const limit of [undefined, of(10), 'login']) {
      const app = Fastify({ exposeHeadRoutes: true })
      await app.register(rateLimit, { ...of(10), policies: { login: of(10) } })
      app.get('/', limit === undefined ? {} : { limit }, handler)
      expect(await told(app, '/', { url: '/', method: 'HEAD' }, '/')).toEqual(['200/9', '200/8', '200/7'])
    }
  })

  it.each(['preHandler', 'preValidation', 'preParsing'] as const)(
    'FST-05: also where the limit runs in %s, and nothing is asked twice',
    async (hook) => {
      const app = Fastify()
      let skips = 0
      await app.register(rateLimit)
      const skip = () => {
        skips++
        return false
      }
      app.get('/', { limit: of(10, { hook, skip }) }, handler)
      expect(await told(app, '/', { url: '/', method: 'HEAD' }, '/')).toEqual(['200/9', '200/8', '200/7'])
      expect(skips).toBe(3)
    }
  )

  it('FST-05: a HEAD route of one’s own with a limit of its own keeps it', async () => {
    const app = Fastify()
    await app.register(rateLimit)
    app.head('/', { limit: of(1) }, handler)
    app.get('/', { limit: of(5), exposeHeadRoute: false }, handler)
    expect(await told(app, { url: '/', method: 'HEAD' }, { url: '/', method: 'HEAD' }, '/')).toEqual([
      '200/0',
      '429/0',
      '200/4'
    ])
  })

  it('exposeHeadRoutes off: HEAD is a 404 as any other', async () => {
    const app = Fastify({ exposeHeadRoutes: false })
    await app.register(rateLimit, of(5))
    app.get('/', handler)
    expect(await told(app, { url: '/', method: 'HEAD' }, '/')).toEqual(['404/4', '200/3'])
  })

  it('prefixTrailingSlash: both paths of one route share its counter', async () => {
    for (const prefixTrailingSlash of ['both', 'slash', 'no-slash'] as const) {
      const app = Fastify()
      await app.register(rateLimit)
      await app.register(
        async (child) => void child.get('/', { limit: of(2), prefixTrailingSlash }, handler),
        { prefix: '/p' }
      )
      const paths = {
        both: ['/p', '/p/', '/p'],
        slash: ['/p/', '/p/', '/p/'],
        'no-slash': ['/p', '/p', '/p']
      }
      expect(await told(app, ...paths[prefixTrailingSlash])).toEqual(['200/1', '200/0', '429/0'])
    }
  })

  it('HEAD of a route with both paths counts with them', async () => {
    const app = Fastify()
    await app.register(rateLimit)
    await app.register(async (child) => void child.get('/', { limit: of(4) }, handler), { prefix: '/p' })
    const ask = (url: string, method: 'GET' | 'HEAD') => ({ url, method })
    expect(
      await told(
        app,
        ask('/p', 'GET'),
        ask('/p/', 'HEAD'),
        ask('/p', 'HEAD'),
        ask('/p/', 'GET'),
        ask('/p', 'GET')
      )
    ).toEqual(['200/3', '200/2', '200/1', '200/0', '429/0'])
  })

  it('ignoreTrailingSlash and caseSensitive: spellings of one route share its counter', async () => {
    const app = Fastify({ routerOptions: { ignoreTrailingSlash: true, caseSensitive: false } })
    await app.register(rateLimit)
    app.get('/login', { limit: of(2) }, handler)
    expect(await told(app, '/login', '/LOGIN/', '/Login')).toEqual(['200/1', '200/0', '429/0'])
  })
})

describe('options of the plugin', () => {
  it('without a limit it limits only routes that say so', async () => {
    const app = Fastify()
    await app.register(rateLimit)
    app.get('/', handler)
    app.get('/own', { limit: of(1) }, handler)
    expect(await told(app, '/', '/nope', '/own', '/own')).toEqual(['200', '404', '200/0', '429/0'])
  })

  it.each([
    [{ limit: 1, window: '1m', hook: 'onsend' }, 'hook'],
    [{ limit: 1, window: '1m', polices: {} }, 'policies'],
    [{ limit: 1, window: '1m', policies: { login: null } }, 'policies'],
    [{ limit: 1, window: '1m', policies: { login: 5 } }, 'policies'],
    [{ limit: 1, window: '1m', policies: { login: { limit: 1 } } }, 'window'],
    [{ limit: 1, window: '1m', policies: { login: { limit: 1, window: '1m', max: 5 } } }, 'limit'],
    [{ limit: 1, window: '1m', policies: { ü: { limit: 1, window: '1m' } } }, 'name'],
    [{ limit: 1, window: '1m', policies: { 'a\r\nb': { limit: 1, window: '1m' } } }, 'name'],
    [{ limit: 1, window: '1m', policies: 'login' }, 'policies'],
    [{ limit: 1, window: '1m', policies: [] }, 'policies'],
    [{ limit: 1, window: '1m', policies: null }, 'policies'],
    [{ limits: [{ limit: 1, window: '1m' }], limit: 5 }, 'limit'],
    [{ window: '1m' }, 'limit'],
    [{ strategy: 'gcra' }, 'limit']
  ])('wrong ones, %j, fail the start', async (options, named) => {
    const app = Fastify()
    app.register(rateLimit, untyped(options))
    await expect(started(app)).rejects.toMatchObject({
      code: expect.stringMatching(/^HEADGATE_/),
      message: expect.stringContaining(named)
    })
  })

  it('policies whose names differ only by case are refused (H4)', async () => {
    const app = Fastify()
    app.register(rateLimit, { policies: { Login: of(1), login: of(2) } })
    await expect(started(app)).rejects.toMatchObject({ code: 'HEADGATE_POLICY_CLASH' })
  })

  it('a policy of one store is shared by servers and scopes of that store', async () => {
    const store = memoryStore()
    const apps = await Promise.all(
      [0, 1].map(async () => {
        const app = Fastify()
        await app.register(rateLimit, {
          store,
          now: base.now,
          policies: { login: { limit: 2, window: '1m' } }
        })
        app.get('/', { limit: 'login' }, handler)
        return app
      })
    )
    expect([...(await told(apps[0]!, '/')), ...(await told(apps[1]!, '/', '/'))]).toEqual([
      '200/1',
      '200/0',
      '429/0'
    ])
  })

  it('STO-29: the window of a route is its own, not the plugin’s', async () => {
    let now = start
    const app = Fastify()
    await app.register(rateLimit, { limit: 9, window: '1m', now: () => now })
    app.get('/own', { limit: { limit: 1, window: '5m', align: 'first-request' } }, handler)
    expect(await told(app, '/own')).toEqual(['200/0'])
    now += 61_000
    expect(await told(app, '/own')).toEqual(['429/0'])
    now = start + 300_000
    expect(await told(app, '/own')).toEqual(['200/0'])
  })

  it('registering it twice in one scope decides twice, and counts each once', async () => {
    const app = Fastify()
    await app.register(rateLimit, of(9, { name: 'a', headers: 'draft-11' }))
    await app.register(rateLimit, of(5, { name: 'b', headers: 'draft-11' }))
    app.get('/', handler)
    expect((await app.inject('/')).headers.ratelimit).toBe('"a";r=8;t=60, "b";r=4;t=60')
  })
})
