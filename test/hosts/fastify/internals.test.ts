import { createServer } from 'node:http'
import http2 from 'node:http2'
import { createRequire } from 'node:module'
import type { FastifyInstance, FastifyReply, FastifyRequest, fastify } from 'fastify'
import { describe, expect, it } from 'vitest'
import {
  countsHops,
  exactly,
  isGone,
  isReply,
  isWhole,
  lowerCase,
  onServerMade,
  pathsOf,
  runLast,
  trustOf,
  trustOfServer,
  trustSetting,
  urlOf
} from '../../../src/hosts/fastify/internals.js'

const require = createRequire(import.meta.url)
/** The oldest version that is supported, and the newest. */
const versions = ['fastify50', 'fastify'] as const

describe.each(versions)('what we rely on of %s', (name) => {
  const factory = require(name) as typeof fastify

  /** What is seen of a request and its reply. */
  async function seen<T>(
    app: FastifyInstance,
    look: (request: FastifyRequest, reply: FastifyReply) => T
  ): Promise<T> {
    let found!: T
    app.get('/', (request, reply) => {
      found = look(request, reply)
      void reply.send('ok')
    })
    await app.inject('/')
    await app.close()
    return found
  }

  it('is of the version that it is to be', () => {
    expect(factory().version).toMatch({ fastify50: /^5\.0\.0$/, fastify: /^5\.\d+/ }[name])
  })

  it('a server tells of its making on the diagnostics channel, before it has a route', async () => {
    const made: [FastifyInstance, unknown][] = []
    onServerMade((app) => made.push([app, pathsOf(app)]))
    const app = factory()
    expect(made.map(([server]) => server.server)).toEqual([app.server])
    expect(made[0]![1]).toBe(null)
    const routes: string[] = []
    made[0]![0].addHook('onRoute', ({ url }) => void routes.push(url))
    app.get('/a/b', async () => 'ok')
    await app.ready()
    expect(routes).toContain('/a/b')
  })

  it('of several that want to be told of servers, as copies of this package do, the last is, once', () => {
    const told: string[] = []
    for (const copy of ['a', 'b', 'c']) onServerMade(() => told.push(copy))
    factory()
    expect(told).toEqual(['c'])
  })

  it('a hook that is told of a route may put another behind all that follow, in each instance', async () => {
    const app = factory()
    const order: string[] = []
    const last = () => void order.push('last')
    app.addHook('onRoute', function () {
      order.push(String(runLast(this, last)))
    })
    app.addHook('onRoute', () => void order.push('later'))
    app.get('/a', { exposeHeadRoute: false }, async () => 'ok')
    await app.register(async (inner) => {
      inner.addHook('onRoute', () => void order.push('inner'))
      inner.get('/b', { exposeHeadRoute: false }, async () => 'ok')
    })
    app.addHook('onRoute', () => void order.push('latest'))
    app.get('/c', { exposeHeadRoute: false }, async () => 'ok')
    expect(order).toEqual([
      ...['true', 'later', 'last'],
      ...['true', 'later', 'inner', 'last'],
      ...['true', 'later', 'latest', 'last']
    ])
  })

  it('the hooks of a route are read when all plugins are loaded', async () => {
    const app = factory()
    let made!: { preHandler?: unknown }
    app.addHook('onRoute', (route) => {
      made = route
    })
    let asked = 0
    app.get('/', { exposeHeadRoute: false }, async () => 'ok')
    await app.register(async () => {
      made.preHandler = [async () => void asked++]
    })
    await app.inject('/')
    expect(asked).toBe(1)
  })

  it('the routes that there are show by their paths', () => {
    const app = factory()
    expect(pathsOf(app)).toBe(null)
    for (const path of ['/users', '/users/:id', '/export']) app.get(path, async () => 'ok')
    expect([...pathsOf(app)!].sort()).toEqual(['/:id', '/export', '/users'])
  })

  it('a reply is known by its own `raw`', async () => {
    expect(await seen(factory(), (_request, reply) => isReply(reply))).toBe(true)
    expect(await seen(factory(), (_request, reply) => isReply(reply.raw))).toBe(false)
  })

  it.each([
    [['127.0.0.1'], ['127.0.0.1'], 1],
    [['127.0.0.1'], ['203.0.113.1', '127.0.0.1'], 0],
    [['10.0.0.0/8'], ['10.0.0.1', '::ffff:10.0.0.2', '10.1.2.3'], 3],
    [['10.0.0.0/8'], ['10.0.0.1', '203.0.113.1', '10.0.0.2'], 1],
    [true, [undefined, '203.0.113.1', '2001:db8::1'], 3],
    [(hop: unknown) => hop === undefined, [undefined, '203.0.113.1'], 1],
    [(hop: unknown) => hop === '::ffff:127.0.0.1', ['::ffff:127.0.0.1', '127.0.0.1'], 1],
    [(_hop: unknown, index: number) => index < 2, ['203.0.113.1', '203.0.113.2', '203.0.113.3'], 2]
  ])('`trustProxy` %j trusts so many of %j: %i', async (trustProxy, hops, expected) => {
    const make = () => factory({ trustProxy: trustProxy as string[] })
    const trust = await seen(make(), (request) => trustOf(request))
    expect(trust?.(hops)).toBe(expected)
    const app = make()
    await app.ready()
    expect(trustOfServer(app)?.(hops)).toBe(expected)
    expect(trustSetting(app)).toBe(trustProxy)
  })

  it('a `;` is what the router takes it for', async () => {
    const inOptions = (useSemicolonDelimiter: boolean) =>
      name === 'fastify50' ? { useSemicolonDelimiter } : { routerOptions: { useSemicolonDelimiter } }
    for (const isQuery of [true, false]) {
      const app = factory(inOptions(isQuery) as object)
      const paths: string[] = []
      app.addHook('onRequest', async (request) => void paths.push(urlOf(request)))
      app.get('/a', async () => 'ok')
      const { statusCode } = await app.inject('/a;b?c')
      expect([statusCode, paths]).toEqual(isQuery ? [200, ['/a']] : [404, ['/a;b?c']])
      await app.close()
    }
  })

  it('asks about each of many hops once', async () => {
    let asked = 0
    const trustProxy = () => ++asked > 0
    const trust = await seen(factory({ trustProxy }), (request) => trustOf(request))
    asked = 0
    expect(trust?.(Array<string>(32).fill('2001:db8::1'))).toBe(32)
    expect(asked).toBe(32)
  })

  it('without `trustProxy` nobody is trusted', async () => {
    expect(await seen(factory(), (request) => trustOf(request))).toBe(null)
    expect(trustOfServer(factory())).toBe(null)
    expect(trustSetting(factory())).toBeFalsy()
  })

  it('a plugin’s own instance shows the settings of the server', async () => {
    const app = factory({ trustProxy: ['127.0.0.1'] })
    const found: unknown[] = []
    await app.register(async (inner) => {
      found.push(trustSetting(inner), trustOfServer(inner)?.(['127.0.0.1']))
    })
    expect(found).toEqual([['127.0.0.1'], 1])
  })

  it('a number of hops is trusted as long as we say so', async () => {
    const app = factory({ trustProxy: 1 as never })
    const trust = await seen(app, (request) => trustOf(request))
    expect(trust?.(['203.0.113.1']) ?? 0).toBe(countsHops(app) ? 1 : 0)
  })

  it('names of fields are kept in lower case, whichever way they are given', async () => {
    const names = ['RateLimit-Limit', 'Retry-After']
    expect(lowerCase(names)).toEqual(['ratelimit-limit', 'retry-after'])
    expect(lowerCase(names)).toBe(lowerCase(names))
    const found = await seen(factory(), (_request, reply) => {
      reply.header(names[0]!, '1').header(lowerCase(names)[1]!, '2')
      return [reply.getHeaders(), reply.getHeader('Retry-After')]
    })
    expect(found).toEqual([{ 'ratelimit-limit': '1', 'retry-after': '2' }, '2'])
  })

  it.each(['text/plain; charset=utf-8', 'application/problem+json', 'application/json; charset=utf-8'])(
    'a body of %s has the very type',
    async (type) => {
      const app = factory()
      app.get('/', (_request, reply) => void reply.header('content-type', type).send(exactly(type, '{}')))
      const { headers, body } = await app.inject('/')
      expect([headers['content-type'], body]).toEqual([type, '{}'])
    }
  )
})

describe('what we rely on of HTTP/2', () => {
  it('a stream that the client resets says so', async () => {
    const server = http2.createServer()
    const found = new Promise<boolean[]>((resolve) => {
      server.on('request', (_request, response) => {
        response.once('close', () => {
          resolve([isGone(response as never), isWhole(response as never)])
        })
      })
    })
    await new Promise<void>((resolve) => server.listen(0, resolve))
    const client = http2.connect(`http://localhost:${(server.address() as { port: number }).port}`)
    const stream = client.request({ ':path': '/' })
    stream.on('error', () => {})
    stream.once('ready', () => stream.close(http2.constants.NGHTTP2_CANCEL))
    expect(await found).toEqual([true, false])
    client.close()
    server.close()
  })
})

describe('a framework that has changed', () => {
  it('trusts nobody', () => {
    expect(trustOf({} as FastifyRequest)).toBe(null)
    expect(trustOfServer({})).toBe(null)
    expect(trustSetting({} as FastifyInstance)).toBe(undefined)
  })

  it('puts no hook last', () => {
    expect(runLast({} as FastifyInstance, () => {})).toBe(false)
  })

  it('has responses of Node taken for what they are', () => {
    expect(isReply(createServer())).toBe(false)
  })
})
