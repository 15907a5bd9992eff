import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fastifyStatic from '@fastify/static'
import websocket from '@fastify/websocket'
import Fastify, { type FastifyInstance, type InjectOptions, type RouteOptions } from 'fastify'
import fp from 'fastify-plugin'
import { afterAll, describe, expect, it } from 'vitest'
import rateLimit from '../../src/fastify/index.js'
import { start } from '../http/behaviour/harness.js'

const of = (limit: number, more: object = {}) => ({ limit, window: '1m', now: () => start, ...more })
const handler = async () => 'ok'
const misuse = expect.objectContaining({ code: 'HEADGATE_MISUSE' })

async function statuses(app: FastifyInstance, ...asks: (string | InjectOptions)[]): Promise<number[]> {
  const found: number[] = []
  for (const ask of asks) found.push((await app.inject(ask)).statusCode)
  return found
}

/** What a test is told of a server that should not have started. */
async function started(app: FastifyInstance): Promise<string> {
  await app.ready()
  return 'it started'
}

/** A plugin that changes every route that is declared after it. */
const changing = (change: (route: RouteOptions) => void) =>
  fp(async (app: FastifyInstance) => void app.addHook('onRoute', change))

const head = (url: string): InjectOptions => ({ url, method: 'HEAD' })

/** How the plugin, a hook that changes routes, and the routes may follow each other. */
const orders: readonly (readonly [
  string,
  (
    app: FastifyInstance,
    change: (route: RouteOptions) => void,
    routes: (app: FastifyInstance) => void
  ) => unknown
])[] = [
  [
    'after the plugin',
    async (app, change, routes) => {
      await app.register(rateLimit, { ...of(3), policies: { login: of(1) } })
      app.addHook('onRoute', change)
      routes(app)
    }
  ],
  [
    'before the plugin',
    async (app, change, routes) => {
      app.addHook('onRoute', change)
      await app.register(rateLimit, { ...of(3), policies: { login: of(1) } })
      routes(app)
    }
  ],
  [
    'before the routes, and the plugin after them',
    (app, change, routes) => {
      app.addHook('onRoute', change)
      routes(app)
      app.register(rateLimit, { ...of(3), policies: { login: of(1) } })
    }
  ],
  [
    'in a child, after the plugin',
    async (app, change, routes) => {
      await app.register(rateLimit, { ...of(3), policies: { login: of(1) } })
      app.register(async (child) => {
        child.addHook('onRoute', change)
        child.register(async (grandchild) => routes(grandchild))
      })
    }
  ],
  [
    'in another plugin, none awaited',
    (app, change, routes) => {
      app.register(rateLimit, { ...of(3), policies: { login: of(1) } })
      app.register(changing(change))
      app.register(async (child) => routes(child))
    }
  ]
]

describe.each(orders)('FST-14: an onRoute hook %s', (_order, arrange) => {
  async function served(
    change: (route: RouteOptions) => void,
    options: object = {}
  ): Promise<FastifyInstance> {
    const app = Fastify()
    await arrange(app, change, (scope) => void scope.get('/', options, handler))
    await app.ready()
    return app
  }

  it('sets a limit on a route that has none', async () => {
    const app = await served((route) => {
      route.limit = of(2)
    })
    expect(await statuses(app, '/', head('/'), '/')).toEqual([200, 200, 429])
  })

  it('replaces a limit, by another, by a name, by an object that replaces the config', async () => {
    const changes: ((route: RouteOptions) => void)[] = [
      (route) => {
        route.limit = of(1)
      },
      (route) => {
        route.limit = 'login'
      },
      (route) => {
        delete route.limit
        route.config = { limit: of(1) }
      }
    ]
    for (const change of changes) {
      const app = await served(change, { limit: of(9) })
      expect(await statuses(app, '/', head('/'), '/')).toEqual([200, 429, 429])
    }
  })

  it('switches a limit off', async () => {
    const off = await served(
      (route) => {
        route.limit = false
      },
      { limit: of(1) }
    )
    expect(await statuses(off, '/', '/', head('/'))).toEqual([200, 200, 200])
    const config = await served((route) => {
      route.config = { ...route.config, limit: false }
    })
    expect(await statuses(config, '/', '/', '/', '/')).toEqual([200, 200, 200, 200])
  })

  it('takes a limit away: the plugin’s holds', async () => {
    const app = await served(
      (route) => {
        delete route.limit
      },
      { limit: of(1) }
    )
    expect(await statuses(app, '/', '/', '/', '/')).toEqual([200, 200, 200, 429])
  })

  it('replaces the config of a route that has a limit, which keeps it', async () => {
    const app = await served(
      (route) => {
        route.config = { mine: 1 } as object
      },
      { limit: of(1) }
    )
    expect(await statuses(app, '/', '/')).toEqual([200, 429])
  })

  it('changes the route of GET alone: its HEAD counts with it', async () => {
    for (const options of [{}, { limit: of(9) }]) {
      const app = await served((route) => {
        if (route.method === 'GET') route.limit = of(2)
      }, options)
      expect(await statuses(app, '/', head('/'), '/', head('/'))).toEqual([200, 200, 429, 429])
    }
  })

  it('adds hooks: a limit by user runs after them', async () => {
    const authenticate = async (request: object & { headers: Record<string, unknown> }) => {
      Object.assign(request, { user: request.headers['x-user'] })
    }
    const app = await served(
      (route) => {
        route.preHandler = [authenticate as never].concat((route.preHandler as never) ?? [])
      },
      { limit: of(1, { key: 'user' }) }
    )
    const as = (user: string) => ({ url: '/', headers: { 'x-user': user } })
    expect(await statuses(app, as('a'), as('b'), as('a'))).toEqual([200, 200, 429])
  })

  it('sets what can be no limit: the server does not start', async () => {
    const change = (route: RouteOptions) => {
      route.limit = of(0)
    }
    await expect(served(change)).rejects.toMatchObject({ code: 'HEADGATE_BAD_OPTION' })
  })

  it('declares another route with the options of the one that it is told of', async () => {
    const app = Fastify()
    const routes = (scope: FastifyInstance) => {
      scope.addHook('onRoute', function (route) {
        if (route.url === '/') this.route({ ...route, url: '/copy', exposeHeadRoute: false })
      })
      scope.get('/', { limit: of(1, { key: 'user' }), exposeHeadRoute: false }, handler)
    }
    await arrange(app, () => {}, routes)
    expect(await statuses(app, '/', '/copy', '/', '/copy')).toEqual([200, 200, 429, 429])
  })
})

describe('a route that is changed once it is made', () => {
  it.each(['plugin first', 'route first'])('has at the start what it has by then, %s', async (order) => {
    for (const [limit, expected] of [
      [of(2), [200, 200, 429, 429]],
      ['login', [200, 429, 429, 429]],
      [false, [200, 200, 200, 200]]
    ] as const) {
      const app = Fastify()
      const plugin = async () => {
        await app.register(rateLimit, { ...of(9), policies: { login: of(1) } })
      }
      let made!: RouteOptions
      if (order === 'plugin first') await plugin()
      app.addHook('onRoute', (route) => {
        if (route.method === 'GET') made = route
      })
      app.get('/', { limit: of(5) }, handler)
      if (order === 'route first') await plugin()
      made.limit = limit
      expect(await statuses(app, '/', '/', '/', '/')).toEqual(expected)
    }
  })

  it.each([
    [
      'a limit where there was none',
      {},
      (route: RouteOptions) => {
        route.limit = of(1)
      }
    ],
    [
      'a limit that must run later',
      { limit: of(1) },
      (route: RouteOptions) => {
        route.limit = of(1, { key: 'user' })
      }
    ],
    [
      'hooks without the limit’s',
      { limit: of(1, { key: 'user' }) },
      (route: RouteOptions) => {
        route.preHandler = []
      }
    ]
  ])('cannot have %s: the server does not start', async (_what, options, change) => {
    const app = Fastify()
    await app.register(rateLimit, of(9))
    const made: RouteOptions[] = []
    app.addHook('onRoute', (route) => void made.push(route))
    app.get('/', options, handler)
    app.register(async () => {
      for (const route of made) change(route)
    })
    await expect(started(app)).rejects.toThrow(misuse)
  })
})

describe('routes of other plugins', () => {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-static-'))
  afterAll(() => rmSync(folder, { recursive: true }))
  writeFileSync(join(folder, 'page.txt'), 'page')

  it.each(['before', 'after'])(
    '@fastify/static, registered %s: the limit that a hook gives them',
    async (when) => {
      const app = Fastify()
      const files = () => void app.register(fastifyStatic, { root: folder })
      if (when === 'before') files()
      app.register(rateLimit, of(9))
      app.register(
        changing((route) => {
          if (route.url.endsWith('*')) route.limit = of(2)
        })
      )
      if (when === 'after') files()
      const expected = when === 'after' ? [200, 200, 429] : [200, 200, 200]
      expect(await statuses(app, '/page.txt', head('/page.txt'), '/page.txt')).toEqual(expected)
    }
  )

  it('@fastify/websocket: that of a route of both kinds, as its handler of HTTP is asked', async () => {
    const app = Fastify()
    await app.register(websocket)
    await app.register(rateLimit, of(9))
    app.addHook('onRoute', (route) => {
      route.limit = of(1)
    })
    app.register(async (scope) => {
      scope.route({ method: 'GET', url: '/ws', handler, wsHandler: () => {} })
    })
    expect(await statuses(app, '/ws', head('/ws'), '/ws')).toEqual([200, 429, 429])
    await app.close()
  })
})
