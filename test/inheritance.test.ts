import 'reflect-metadata'
import { createServer } from 'node:http'
import { Controller, Get, UseGuards } from '@nestjs/common'
import express, { type RequestHandler } from 'express'
import Fastify, { type FastifyInstance } from 'fastify'
import { describe, expect, it } from 'vitest'
import { rateLimit } from '../src/express/index.js'
import plugin from '../src/fastify/index.js'
import { limitsOf, Limit as PlainLimit } from '../src/index.js'
import { Limit, limitGuard, RateLimitModule } from '../src/nest/index.js'
import { nestApps } from './nest/app.js'
import { block } from './support/readme.js'

type Options = object

/** A server with two routes, `/a` and `/b`, that an inner limit is for; within what says the outer options, if anything. */
interface Case {
  readonly outer: Options
  readonly inner: Options
}

/** Serves a case, and asks. Throws where the server does not start. */
type Serve = (given: Case) => Promise<(path: string) => Promise<{ status: number; policy: string | null }>>

const now = () => 0
const minute = { window: '1m' } as const
const handler = async () => 'ok'
const start = nestApps()

/** What is inherited, by the first column of the table. The other columns are found by asking servers. */
const rows: Readonly<Record<string, Serve>> = {
  "Fastify: a route's `limit`": onFastify(({ outer, inner }, app) => {
    app.register(plugin, outer)
    for (const path of ['/a', '/b']) app.get(path, { config: { limit: inner as never } }, handler)
  }),
  'Fastify: one of `policies`': onFastify(({ outer, inner }, app) => {
    app.register(plugin, { ...outer, policies: { mine: inner as never } })
    for (const path of ['/a', '/b']) app.get(path, { config: { limit: 'mine' } }, handler)
  }),
  'Fastify: `app.limit(options)`': onFastify(async ({ outer, inner }, app) => {
    await app.register(plugin, outer)
    const limit = app.limit(inner as never)
    for (const path of ['/a', '/b']) app.get(path, { onRequest: limit }, handler)
  }),
  'Fastify: a nested registration': onFastify(({ outer, inner }, app) => {
    app.register(plugin, outer)
    app.register(async (child) => {
      child.register(plugin, inner)
      for (const path of ['/a', '/b']) child.get(path, handler)
    })
  }),
  'Fastify: a second registration in one scope': onFastify(({ outer, inner }, app) => {
    app.register(plugin, outer)
    app.register(plugin, { now, ...inner })
    for (const path of ['/a', '/b']) app.get(path, handler)
  }),
  'Express: `rateLimit(options)`': onExpress(({ outer, inner }) => {
    const limit = rateLimit({ now, ...inner } as never)
    return { first: rateLimit({ limit: 99, ...minute, ...outer } as never), a: limit, b: limit }
  }),
  'NestJS: `@Limit` on a class': onNest(({ outer, inner }, { owner }) => {
    Limit(inner)(owner)
    return outer
  }),
  'NestJS: `@Limit` on a method': onNest(({ outer, inner }, { owner, methods }) => {
    const { statusCode, now: clock, ...rest } = outer as { statusCode?: number; now?: () => number }
    // Part of the settings from the class, the others from the module.
    Limit({ limit: 99, ...minute, ...rest, ...(statusCode === undefined ? {} : { statusCode }) })(owner)
    for (const method of methods) Limit(inner)(owner.prototype, method, descriptorOf(owner, method))
    return { now: clock }
  }),
  'NestJS: one of `policies`': onNest(({ outer, inner }, { owner, methods }) => {
    for (const method of methods) Limit('mine')(owner.prototype, method, descriptorOf(owner, method))
    return { ...outer, policies: { mine: inner } }
  }),
  'NestJS: `limitGuard(options)`': onNest(({ outer, inner }, { owner }) => {
    UseGuards(limitGuard({ now, ...inner } as never))(owner)
    return outer
  }),
  'plain classes: `@Limit` on a method': onExpress(({ outer, inner }) => {
    class Reports {
      a() {}
      b() {}
    }
    PlainLimit({ limit: 99, ...minute, ...outer })(Reports)
    for (const method of ['a', 'b'])
      PlainLimit(inner)(Reports.prototype, method, descriptorOf(Reports, method))
    const { a, b } = limitsOf(Reports, (options) => rateLimit(options as never))
    return { a: a[0]!, b: b[0]! }
  })
}

describe('the table of what is inherited', () => {
  const table = block('table: inheritance')
    .trim()
    .split('\n')
    .slice(2)
    .map((line) =>
      line
        .slice(1, -1)
        .split('|')
        .map((cell) => cell.trim())
    )

  it('has these rows', () => {
    expect(table.map(([what]) => what)).toEqual(Object.keys(rows))
  })

  it.each(table)('%s: from %s', async (what, from, settings, limit, counter) => {
    const serve = rows[what!]!
    expect([await settingsOf(serve), await limitOf(serve), await counterOf(serve)]).toEqual([
      settings,
      limit,
      counter === 'one for each' ? 'apart' : 'together'
    ])
    expect(from === 'nothing').toBe(settings === 'not inherited')
  })
})

/** Whether the status of a denial is the outer one. */
async function settingsOf(serve: Serve): Promise<string> {
  const ask = await serve({ outer: { now, statusCode: 420 }, inner: { limit: 1, ...minute } })
  expect((await ask('/a')).status).toBe(200)
  const { status } = await ask('/a')
  expect([420, 429]).toContain(status)
  return status === 420 ? 'inherited' : 'not inherited'
}

/** Whether the inner limit may leave out its window. */
async function limitOf(serve: Serve): Promise<string> {
  try {
    const ask = await serve({ outer: { now, limit: 99, window: '1h' }, inner: { limit: 7 } })
    const { policy } = await ask('/a')
    expect(policy).toContain('7;w=3600')
    return 'inherited'
  } catch (error) {
    expect(error).toMatchObject({ code: 'HEADGATE_BAD_OPTION', message: expect.stringContaining('window') })
    return 'must be given'
  }
}

/** Whether the routes that the limit is for count together. */
async function counterOf(serve: Serve): Promise<string> {
  const ask = await serve({ outer: { now }, inner: { limit: 1, ...minute } })
  expect((await ask('/a')).status).toBe(200)
  return (await ask('/b')).status === 200 ? 'apart' : 'together'
}

function onFastify(build: (given: Case, app: FastifyInstance) => unknown): Serve {
  return async (given) => {
    const app = Fastify()
    await build(given, app)
    await app.ready()
    return async (path) => {
      const { statusCode, headers } = await app.inject(path)
      return { status: statusCode, policy: String(headers['ratelimit-policy']) }
    }
  }
}

function onExpress(
  build: (given: Case) => { first?: RequestHandler; a: RequestHandler; b: RequestHandler }
): Serve {
  return async (given) => {
    const { first, a, b } = build(given)
    const app = express()
    if (first) app.use(first)
    app.get('/a', a, (_request, response) => void response.end('ok'))
    app.get('/b', b, (_request, response) => void response.end('ok'))
    return async (path) => {
      const server = createServer(app).listen(0, '127.0.0.1')
      await new Promise((resolve) => server.once('listening', resolve))
      const { port } = server.address() as { port: number }
      const { status, headers } = await fetch(`http://127.0.0.1:${port}${path}`)
      server.closeAllConnections()
      server.close()
      return { status, policy: headers.get('ratelimit-policy') }
    }
  }
}

interface Controllers {
  readonly owner: abstract new () => object
  readonly methods: readonly string[]
}

/** `build` puts limits on a controller, and returns the options of the module. */
function onNest(build: (given: Case, controllers: Controllers) => object): Serve {
  return async (given) => {
    class Reports {
      a() {
        return 'ok'
      }
      b() {
        return 'ok'
      }
    }
    const methods = ['a', 'b']
    for (const method of methods) Get(method)(Reports.prototype, method, descriptorOf(Reports, method))
    Controller()(Reports)
    const options = build(given, { owner: Reports, methods })
    const app = await start('express', {
      imports: [RateLimitModule.forRoot(options as never)],
      controllers: [Reports]
    })
    return async (path) => {
      const { status, headers } = await app.request(path)
      return { status, policy: headers.get('ratelimit-policy') }
    }
  }
}

function descriptorOf(owner: abstract new () => object, method: string): PropertyDescriptor {
  return Object.getOwnPropertyDescriptor(owner.prototype, method)!
}
