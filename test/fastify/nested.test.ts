import Fastify, { type FastifyInstance, type FastifyPluginAsync, type InjectOptions } from 'fastify'
import fp from 'fastify-plugin'
import { describe, expect, it } from 'vitest'
import rateLimit, { type RateLimitPluginOptions } from '../../src/fastify/index.js'
import { memoryStore } from '../../src/memory/store.js'
import { sharedStore } from '../../src/shared/index.js'
import { start } from '../http/behaviour/harness.js'
import { lockingStore } from '../remote/locking-store.js'

const handler = async () => 'ok'
const minute = '1m'
const now = () => start

async function statuses(app: FastifyInstance, ...asks: (string | InjectOptions)[]): Promise<number[]> {
  const found: number[] = []
  for (const ask of asks) found.push((await app.inject(ask)).statusCode)
  return found
}

/** The ways in which a registration stands within another. */
const ways: readonly (readonly [
  string,
  (app: FastifyInstance, outer: RateLimitPluginOptions, inner: FastifyPluginAsync) => unknown
])[] = [
  [
    'in a child',
    async (app, outer, inner) => {
      await app.register(rateLimit, outer)
      app.register(inner, { prefix: '/in' })
    }
  ],
  [
    'in a child that was registered before it',
    (app, outer, inner) => {
      app.register(inner, { prefix: '/in' })
      app.register(rateLimit, outer)
    }
  ],
  [
    'in a grandchild',
    (app, outer, inner) => {
      app.register(rateLimit, outer)
      app.register(async (child) => void child.register(inner, { prefix: '/in' }))
    }
  ],
  [
    'in a grandchild that was registered before it',
    (app, outer, inner) => {
      app.register(async (child) => void child.register(inner, { prefix: '/in' }))
      app.register(rateLimit, outer)
    }
  ],
  [
    'below another that says nothing',
    (app, outer, inner) => {
      app.register(rateLimit, outer)
      app.register(async (child) => {
        child.register(rateLimit)
        child.register(inner, { prefix: '/in' })
      })
    }
  ],
  [
    'below another that says nothing, both before it',
    (app, outer, inner) => {
      app.register(async (child) => {
        child.register(inner, { prefix: '/in' })
        child.register(rateLimit)
      })
      app.register(rateLimit, outer)
    }
  ],
  [
    'beside it, in a child with a plugin of its own around both',
    (app, outer, inner) => {
      app.register(
        fp(async (instance) => {
          await instance.register(rateLimit, outer)
        })
      )
      app.register(async (child) => void child.register(fp(inner)), { prefix: '/in' })
    }
  ]
]

describe.each(ways)('FST-13: a registration %s', (_way, nest) => {
  /** A server with a route of the inner scope, `/in/`, and one of the outer, `/out`. */
  async function served(
    outer: RateLimitPluginOptions,
    inner: RateLimitPluginOptions | undefined,
    route: object = {}
  ): Promise<FastifyInstance> {
    const app = Fastify()
    await nest(app, outer, async (child) => {
      await child.register(rateLimit, inner as RateLimitPluginOptions)
      child.get('/', route, handler)
    })
    app.get('/out', handler)
    await app.ready()
    return app
  }

  it('counts in the store of the one around it: what one process has used, another has not', async () => {
    const first = sharedStore({ maxKeys: 100 })
    const found: number[] = []
    const processes = await Promise.all(
      [first, sharedStore({ from: first.handle })].map((store) =>
        served({ store }, { limit: 3, window: minute })
      )
    )
    for (const app of [...processes, ...processes]) found.push(...(await statuses(app, '/in/')))
    expect(found).toEqual([200, 200, 200, 429])
  })

  it('inherits clock, key, headers, onLimited, and what else a route does', async () => {
    const outer: RateLimitPluginOptions = {
      now,
      key: 'header:x-user',
      headers: 'draft-07',
      cost: 2,
      statusCode: 503,
      skip: ({ headers }) => headers['x-skip'] === 'yes',
      onLimited: () => 'mine'
    }
    const app = await served(outer, { limit: 4, window: minute })
    const as = (user: string, more = {}) => ({ url: '/in/', headers: { 'x-user': user, ...more } })
    expect((await app.inject(as('a'))).headers.ratelimit).toBe('limit=4, remaining=2, reset=60')
    expect(await statuses(app, as('a'), as('b'), as('a', { 'x-skip': 'yes' }))).toEqual([200, 200, 200])
    const denied = await app.inject(as('a'))
    expect([denied.statusCode, denied.body]).toEqual([503, 'mine'])
  })

  it('hands on what it inherits and what it says itself, to its routes too', async () => {
    const app = await served(
      { now, headers: 'draft-07', key: 'header:x-user', statusCode: 503 },
      { statusCode: 420 },
      { limit: { limit: 1, window: minute } }
    )
    const ask = { url: '/in/', headers: { 'x-user': 'a' } }
    expect((await app.inject(ask)).headers.ratelimit).toBe('limit=1, remaining=0, reset=60')
    expect(await statuses(app, ask, { ...ask, headers: { 'x-user': 'b' } })).toEqual([420, 200])
  })

  it('may set each anew, and a setting without a value is none', async () => {
    const app = await served(
      { now, headers: 'draft-07', statusCode: 503 },
      { limit: 1, window: minute, headers: 'draft-06', statusCode: undefined }
    )
    expect((await app.inject('/in/')).headers['ratelimit-remaining']).toBe('0')
    expect(await statuses(app, '/in/')).toEqual([503])
  })

  it.each([undefined, {}, { policies: { other: { limit: 9, window: minute } } }])(
    'that says %o leaves the limit around it as it is, and knows its policies',
    async (inner) => {
      const outer = { limit: 3, window: minute, now, policies: { login: { limit: 1, window: minute } } }
      const app = await served(outer, inner)
      expect(await statuses(app, '/in/', '/out', '/in/', '/out')).toEqual([200, 200, 200, 429])
      const named = await served({ ...outer, limit: 99 }, inner, { limit: 'login' })
      expect(await statuses(named, '/in/', '/in/', '/out')).toEqual([200, 429, 200])
    }
  )

  it('has the near name of a policy from around it in its error', async () => {
    const outer = { policies: { login: { limit: 1, window: minute } } }
    await expect(served(outer, {}, { config: { limit: 'logni' } })).rejects.toMatchObject({
      code: 'HEADGATE_UNKNOWN_POLICY',
      message: expect.stringContaining("'login'")
    })
  })

  it('may have a policy of the same name, over every kind of store', async () => {
    for (const store of [undefined, memoryStore(), lockingStore(now), sharedStore({ maxKeys: 100 })]) {
      const inner = { policies: { login: { limit: 1, window: minute } } }
      const app = await served({ store, policies: { login: { limit: 9, window: minute } } }, inner, {
        limit: 'login'
      })
      expect(await statuses(app, '/in/', '/in/')).toEqual([200, 429])
    }
  })

  it('by user, by what it inherits, runs after authentication', async () => {
    const app = Fastify()
    app.addHook('preValidation', async (request) => {
      Object.assign(request, { user: request.headers['x-user'] })
    })
    await nest(app, { key: 'user' }, async (child) => {
      await child.register(rateLimit, { limit: 1, window: minute })
      child.get('/', handler)
    })
    const as = (user: string) => ({ url: '/in/', headers: { 'x-user': user } })
    expect(await statuses(app, as('a'), as('b'), as('a'))).toEqual([200, 200, 429])
  })

  it('gives hooks that `app.limit` makes the same', async () => {
    const app = Fastify()
    await nest(app, { now, headers: 'draft-07' }, async (child) => {
      await child.register(rateLimit)
      const limit = child.limit({ limit: 1, window: minute })
      child.get('/', { onRequest: limit }, async () => String(limit.limiter !== null))
    })
    const answer = await app.inject('/in/')
    expect([answer.headers.ratelimit, answer.body]).toEqual(['limit=1, remaining=0, reset=60', 'true'])
    expect(await statuses(app, '/in/')).toEqual([429])
  })
})

describe('registrations beside each other', () => {
  it.each([
    ['one rule', [1, 1]],
    ['two rules', [1, 2]]
  ])('of %s count apart in the store that they inherit, also under one name', async (_name, limits) => {
    for (const store of [undefined, memoryStore(), lockingStore(now), sharedStore({ maxKeys: 100 })])
      for (const name of [undefined, 'strict'])
        for (const prefixes of [
          ['/a', '/b'],
          ['', '']
        ]) {
          const app = Fastify()
          await app.register(rateLimit, { store, headers: 'draft-06' })
          for (const [i, limit] of limits.entries())
            app.register(
              async (child) => {
                await child.register(rateLimit, { name, limit, window: minute })
                child.get(`/${i}`, handler)
              },
              { prefix: prefixes[i]! }
            )
          const [first, second] = [`${prefixes[0]}/0`, `${prefixes[1]}/1`]
          expect(await statuses(app, first, first, second)).toEqual([200, 429, 200])
        }
  })

  it('do not inherit from each other, nor does what stands around them', async () => {
    const app = Fastify()
    app.register(async (child) => {
      await child.register(rateLimit, { limit: 9, window: minute, statusCode: 503, headers: 'draft-07' })
      child.get('/a', handler)
    })
    app.register(async (child) => {
      await child.register(rateLimit, { limit: 1, window: minute, now })
      child.get('/b', handler)
    })
    app.get('/c', handler)
    expect((await app.inject('/b')).headers['ratelimit-remaining']).toBe('0')
    expect(await statuses(app, '/b', '/c')).toEqual([429, 200])
  })

  it('in one scope have their own settings, and the later knows the policies of the earlier', async () => {
    const app = Fastify()
    const login = { login: { limit: 1, window: minute } }
    await app.register(rateLimit, { now, headers: 'draft-07', policies: login })
    await app.register(rateLimit, { now, policies: { other: { limit: 2, window: minute } } })
    app.get('/login', { limit: 'login' }, handler)
    app.get('/other', { limit: 'other' }, handler)
    expect(await statuses(app, '/login', '/login')).toEqual([200, 429])
    expect((await app.inject('/other')).headers['ratelimit-remaining']).toBe('1')
  })

  it('in one scope: what is inside inherits from the later', async () => {
    for (const isFirst of [true, false]) {
      const app = Fastify()
      const inner = async (child: FastifyInstance) => {
        child.register(rateLimit, { limit: 1, window: minute })
        child.get('/', handler)
      }
      if (isFirst) app.register(inner)
      app.register(rateLimit, { statusCode: 420 })
      app.register(rateLimit, { statusCode: 503 })
      if (!isFirst) app.register(inner)
      expect(await statuses(app, '/', '/')).toEqual([200, 503])
    }
  })

  it('a route within two of them counts as the inner one says, and with both', async () => {
    const app = Fastify()
    app.register(async (child) => {
      await child.register(rateLimit, { limit: 3, window: minute, name: 'inner' })
      child.get('/', handler)
      child.get('/own', { limit: { limit: 2, window: minute } }, handler)
      child.get('/off', { limit: false }, handler)
    })
    app.register(rateLimit, { limit: 9, window: minute, name: 'outer', now, headers: 'draft-11' })
    expect((await app.inject('/')).headers.ratelimit).toBe('"inner";r=2;t=60, "outer";r=8;t=60')
    expect((await app.inject('/own')).headers['ratelimit-policy']).toContain('"default";q=2;w=60')
    expect((await app.inject('/off')).headers.ratelimit).toBeUndefined()
  })
})
