import Fastify, { type FastifyInstance } from 'fastify'
import { describe, expect, it } from 'vitest'
import rateLimit from '../../src/fastify/index.js'
import { start } from '../http/behaviour/harness.js'

/** Each call makes objects of its own, functions and all. */
const of = (limit: number, more: object = {}) => ({ limit, window: '1m', now: () => start, ...more })
const handler = async () => 'ok'

type Method = 'GET' | 'HEAD'
const both: readonly Method[] = ['GET', 'HEAD']

/** `200/4` where the response says that 4 are left. */
async function told(app: FastifyInstance, ...methods: readonly Method[]): Promise<string[]> {
  const found: string[] = []
  for (const method of methods) {
    const { statusCode, headers } = await app.inject({ url: '/x', method })
    const left = headers['ratelimit-remaining']
    found.push(left === undefined ? String(statusCode) : `${statusCode}/${left}`)
  }
  return found
}

/** The ways in which a HEAD route may be declared beside a GET route. */
const orders: readonly (readonly [string, readonly Method[], boolean])[] = [
  ['GET first', ['GET', 'HEAD'], false],
  ['HEAD first', ['HEAD', 'GET'], false],
  ['HEAD first, in place of the one that Fastify makes', ['HEAD', 'GET'], true]
]

/** And the plugin. */
const places = ['before them', 'after them', 'between them'] as const

const cases = orders.flatMap(([order, methods, exposeHeadRoutes]) =>
  places.map((place) => [order, place, methods, exposeHeadRoutes] as const)
)

describe.each(cases)(
  'a HEAD route beside a GET route, %s, the plugin %s',
  (_order, place, methods, exposeHeadRoutes) => {
    async function served(options: Readonly<Record<Method, object>>): Promise<FastifyInstance> {
      const app = Fastify({ exposeHeadRoutes })
      const plugin = () => app.register(rateLimit, { ...of(9), policies: { login: of(3) } })
      const add = (method: Method) => app.route({ method, url: '/x', handler, ...options[method] })
      if (place === 'before them') await plugin()
      add(methods[0]!)
      if (place === 'between them') await plugin()
      add(methods[1]!)
      if (place === 'after them') await plugin()
      await app.ready()
      return app
    }

    const one = of(3)
    it.each([
      ['one limit object', { limit: one }, { limit: one }],
      ['two limit objects', { limit: of(3) }, { limit: of(3) }],
      [
        'two objects with functions',
        { limit: of(3, { key: () => 'k' }) },
        { limit: of(3, { key: () => 'k' }) }
      ],
      ['several limits', { limit: { limits: [of1(3), of1(5)] } }, { limit: { limits: [of1(3), of1(5)] } }],
      ['a policy', { limit: 'login' }, { limit: 'login' }],
      ['a limit in the config', { config: { limit: of(3) } }, { limit: of(3) }],
      ['a limit on GET alone', { limit: of(3) }, {}],
      ['a policy on GET alone', { limit: 'login' }, {}],
      [
        'a limit that runs late',
        { limit: of(3, { hook: 'preHandler' }) },
        { limit: of(3, { hook: 'preHandler' }) }
      ],
      ['a late limit on GET alone', { limit: of(3, { key: 'user' }) }, {}]
    ])('with %s counts with it', async (_what, GET, HEAD) => {
      const app = await served({ GET, HEAD })
      expect((await told(app, 'HEAD', 'GET', 'HEAD', 'GET', 'HEAD')).map((text) => text.slice(0, 3))).toEqual(
        ['200', '200', '200', '429', '429']
      )
    })

    it('with no limit at all counts with it in the plugin’s', async () => {
      expect(await told(await served({ GET: {}, HEAD: {} }), ...both, ...both)).toEqual([
        '200/8',
        '200/7',
        '200/6',
        '200/5'
      ])
    })

    it('is not limited where GET is not', async () => {
      expect(await told(await served({ GET: { limit: false }, HEAD: {} }), ...both)).toEqual(['200', '200'])
    })

    it('keeps what differs: another limit, or none', async () => {
      const other = await served({ GET: { limit: of(5) }, HEAD: { limit: of(1) } })
      expect(await told(other, 'HEAD', 'HEAD', 'GET')).toEqual(['200/0', '429/0', '200/4'])
      const off = await served({ GET: { limit: of(1) }, HEAD: { limit: false } })
      expect(await told(off, 'GET', 'GET', 'HEAD')).toEqual(['200/0', '429/0', '200'])
      const alone = await served({ GET: {}, HEAD: { limit: of(1) } })
      expect(await told(alone, 'HEAD', 'HEAD', 'GET')).toEqual(['200/0', '429/0', '200/8'])
    })
  }
)

function of1(limit: number) {
  return { limit, window: `${limit}h` }
}

describe('HEAD routes', () => {
  it('belong to the GET route of their own version', async () => {
    const app = Fastify({ exposeHeadRoutes: false })
    await app.register(rateLimit)
    for (const method of ['HEAD', 'GET'] as const)
      for (const version of ['1.0.0', '2.0.0'])
        app.route({ method, url: '/x', limit: of(2), constraints: { version }, handler })
    const ask = async (method: Method, version: string) => {
      const answer = await app.inject({ url: '/x', method, headers: { 'accept-version': version } })
      return `${answer.statusCode}/${answer.headers['ratelimit-remaining']}`
    }
    expect([await ask('GET', '1.0.0'), await ask('HEAD', '2.0.0')]).toEqual(['200/1', '200/1'])
    expect([await ask('HEAD', '1.0.0'), await ask('GET', '2.0.0')]).toEqual(['200/0', '200/0'])
    expect([await ask('GET', '1.0.0'), await ask('HEAD', '2.0.0')]).toEqual(['429/0', '429/0'])
  })

  it('belong to the GET route of their own path where a slash tells two apart', async () => {
    const app = Fastify({ exposeHeadRoutes: false })
    await app.register(rateLimit)
    app.get('/x', { limit: of(2) }, handler)
    app.get('/x/', { limit: of(9) }, handler)
    app.head('/x', { limit: of(2) }, handler)
    expect(await told(app, 'GET', 'HEAD', 'HEAD')).toEqual(['200/1', '200/0', '429/0'])
  })

  it('of a route of both methods, and others, are that route', async () => {
    const app = Fastify()
    await app.register(rateLimit)
    app.route({ method: ['HEAD', 'GET', 'POST'], url: '/x', limit: of(2), handler })
    expect(await told(app, 'GET', 'HEAD', 'GET')).toEqual(['200/1', '200/0', '429/0'])
  })

  it('without a GET route have their own limit', async () => {
    const app = Fastify()
    await app.register(rateLimit, of(9))
    app.head('/x', { limit: of(1) }, handler)
    expect(await told(app, 'HEAD', 'HEAD', 'GET')).toEqual(['200/0', '429/0', '404/8'])
  })
})
