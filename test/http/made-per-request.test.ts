import { createServer, IncomingMessage, type RequestListener, type Server, ServerResponse } from 'node:http'
import { createRequire } from 'node:module'
import { Socket } from 'node:net'
import express, { type Express } from 'express'
import Fastify from 'fastify'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { forgetWarnings, turns } from './behaviour/harness.js'

const express4 = createRequire(import.meta.url)('express4') as typeof express
const of = { limit: 5, window: '1d' } as const

type Root = typeof import('../../src/index.js')
type OnExpress = typeof import('../../src/express/index.js')
type OnFastify = typeof import('../../src/fastify/index.js')

let heard: unknown[] = []
const hear = (warning: Error & { code?: string }) => void heard.push(warning.code)
const closing: (() => unknown)[] = []
let root: Root
let rateLimit: OnExpress['rateLimit']
let plugin: OnFastify['rateLimit']

// It is said once a process: each test has a copy of the package.
beforeEach(async () => {
  vi.resetModules()
  forgetWarnings()
  root = await import('../../src/index.js')
  rateLimit = (await import('../../src/express/index.js')).rateLimit
  plugin = (await import('../../src/fastify/index.js')).rateLimit
  heard = []
  process.on('warning', hear)
})

afterEach(async () => {
  vi.useRealTimers()
  for (const close of closing.splice(0)) await close()
  process.off('warning', hear)
})

/** What has been warned of. */
async function warnings(): Promise<unknown[]> {
  await turns()
  return heard
}

const said = ['HEADGATE_MADE_PER_REQUEST']

/** Something that answers requests. */
type Ask = (path?: string) => Promise<number>

async function listening(server: Server): Promise<Ask> {
  server.listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  closing.push(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as { port: number }
  return async (path = '/') => (await fetch(`http://127.0.0.1:${port}${path}`)).status
}

/** Hands a request to a listener at once, with no server between. */
function dispatched(listener: RequestListener, url: string): Promise<number> {
  const socket = Object.defineProperty(new Socket(), 'remoteAddress', { value: '127.0.0.1' })
  const request = Object.assign(new IncomingMessage(socket), { url, method: 'GET' })
  const response = new ServerResponse(request)
  return new Promise((resolve) => {
    response.end = () => {
      resolve(response.statusCode)
      return response
    }
    listener(request, response)
  })
}

/** In turn. */
async function statuses(ask: Ask, ...paths: readonly string[]): Promise<number[]> {
  const found: number[] = []
  for (const path of paths) found.push(await ask(path))
  return found
}

const thrice = ['/', '/', '/'] as const
const all200 = [200, 200, 200]

const pass = (call: (next: (error?: unknown) => void) => void) =>
  new Promise<void>((resolve, reject) => call((error) => (error ? reject(error) : resolve())))

/** Servers whose handlers do something with each request, by framework and client. */
const servers: Readonly<
  Record<string, (work: (request: object, response: object) => unknown) => Promise<Ask>>
> = {
  async express5(work) {
    const app = express()
    app.get('/', async (request, response) => {
      await work(request, response)
      response.end('ok')
    })
    return listening(createServer(app))
  },
  async express4(work) {
    const app = express4()
    app.get('/', (request, response, next) => {
      Promise.resolve(work(request, response)).then(() => response.end('ok'), next)
    })
    return listening(createServer(app))
  },
  async 'express5 without a server'(work) {
    const app = express()
    app.get('/', async (request, response) => {
      await work(request, response)
      response.end('ok')
    })
    return (path = '/') => dispatched(app, path)
  },
  async fastify(work) {
    const app = Fastify()
    app.get('/', async (request, reply) => {
      await work(request, reply)
      return 'ok'
    })
    await app.ready()
    return listening(app.server)
  },
  async 'fastify by inject'(work) {
    const app = Fastify()
    app.addHook('preHandler', async (request, reply) => {
      await work(request, reply)
    })
    app.get('/', async () => 'ok')
    return async (path = '/') => (await app.inject(path)).statusCode
  },
  async 'a server of Node'(work) {
    return listening(
      createServer(async (request, response) => {
        await work(request, response)
        response.end('ok')
      })
    )
  }
}

describe.each(Object.keys(servers))('a limiter that is made for each request, on %s', (name) => {
  const isFastify = name.startsWith('fastify')
  const serve = servers[name]!

  it.each(['at once', 'once something was awaited'])(
    'by guard.limit, %s, is warned of once',
    async (when) => {
      const ask = await serve(async (request, response) => {
        if (when !== 'at once') await turns()
        await pass((next) => root.guard.limit('ip', 5, '1d')(request, response, next))
      })
      expect(await statuses(ask, ...thrice)).toEqual(all200)
      expect(await warnings()).toEqual(said)
    }
  )

  it.skipIf(isFastify)('by rateLimit is warned of once, at the second request', async () => {
    const ask = await serve((request, response) =>
      pass((next) => rateLimit(of)(request as never, response as never, next))
    )
    await ask()
    expect(await warnings()).toEqual([])
    await ask()
    expect(await warnings()).toEqual(said)
    await statuses(ask, ...thrice)
    expect(await warnings()).toEqual(said)
  })

  it('by createLimiter is warned of once', async () => {
    const ask = await serve(() => void root.createLimiter(of).consume('key'))
    expect(await statuses(ask, ...thrice, ...thrice)).toEqual([...all200, ...all200])
    expect(await warnings()).toEqual(said)
  })

  it('beside one that is not, is warned of', async () => {
    const kept = root.guard.limit('ip', 99, '1d')
    const ask = await serve(async (request, response) => {
      await pass((next) => kept(request, response, next))
      await pass((next) => root.guard.limit('ip', 5, '1d')(request, response, next))
    })
    expect(await statuses(ask, ...thrice)).toEqual(all200)
    expect(await warnings()).toEqual(said)
  })

  it('but is kept for its tenant, is not', async () => {
    const limiters = new Map<string, ReturnType<Root['guard']['limit']>>()
    const ask = await serve((request, response) => {
      const [, tenant] = String((request as { url: string }).url).split('?')
      const limiter = limiters.get(tenant!) ?? root.guard.limit('ip', 5, '1d')
      limiters.set(tenant!, limiter)
      return pass((next) => limiter(request, response, next))
    })
    await statuses(ask, '/?a', '/?a', '/?b', '/?c', '/?b', '/?d')
    expect(await warnings()).toEqual([])
  })
})

it('`app.limit` in a handler is warned of once', async () => {
  const app = Fastify()
  await app.register(plugin)
  app.get('/', async (request, reply) => {
    await pass((next) => app.limit(of)(request, reply, next as never))
    return 'ok'
  })
  for (const path of thrice) await app.inject(path)
  expect(await warnings()).toEqual(said)
})

describe('what is made in time', () => {
  const timers = [
    ['fake timers', () => vi.useFakeTimers()],
    [
      'fake timers of all kinds',
      () =>
        vi.useFakeTimers({
          toFake: ['setImmediate', 'setTimeout', 'setInterval', 'Date', 'hrtime']
        })
    ],
    [
      'neither setImmediate nor timers that can be unreferenced',
      () => {
        vi.stubGlobal('setImmediate', undefined)
        vi.stubGlobal('clearImmediate', undefined)
        vi.stubGlobal('setTimeout', () => 1)
        vi.stubGlobal('setInterval', () => 1)
      }
    ]
  ] as const
  afterEach(() => vi.unstubAllGlobals())

  it.each(timers)('is not warned of under %s', (_name, fake) => {
    fake()
    for (const limiter of [rateLimit(of), root.guard.limit('ip', 5, '1d')]) {
      let passed = 0
      // What servers give, as timers do not go on.
      const app = {}
      for (let i = 0; i < 3; i++) {
        const response = {
          setHeader() {},
          getHeader() {},
          on() {},
          headersSent: false,
          writableEnded: false
        }
        limiter(
          { app, headers: {}, method: 'GET', socket: { remoteAddress: '127.0.0.1' } } as never,
          response as never,
          () => passed++
        )
      }
      expect(passed).toBe(3)
    }
    root.createLimiter(of).consume('key')
    vi.useRealTimers()
    vi.unstubAllGlobals()
    return expect(warnings()).resolves.toEqual([])
  })

  it('is not warned of where inject drives it in the turn that made it', async () => {
    for (let i = 0; i < 3; i++) {
      const app = express()
      app.use(rateLimit(of), root.guard.limit('ip', 5, '1d'), (_request, response) => void response.end('ok'))
      const onFastify = Fastify()
      onFastify.register(plugin, of)
      onFastify.get('/', { onRequest: root.guard.limit('ip', 5, '1d') }, async () => 'ok')
      await Promise.all([dispatched(app, '/'), onFastify.inject('/')])
    }
    expect(await warnings()).toEqual([])
  })

  /** Builds an application of several limiters. */
  const builds: Readonly<Record<string, () => RequestListener>> = {
    express: () => {
      const app = express()
      app.use(rateLimit(of), root.guard.limit('ip', 5, '1d'))
      for (const path of ['/a', '/b', '/c'])
        app.use(path, rateLimit(of), (_request, response) => void response.end('ok'))
      app.use((_request, response) => void response.end('ok'))
      return app
    },
    fastify: () => {
      const app = Fastify()
      app.register(plugin, of)
      app.get('/*', { onRequest: root.guard.limit('ip', 5, '1d') }, async () => 'ok')
      const ready = app.ready()
      return (request, response) => void ready.then(() => app.routing(request, response))
    }
  }

  it.each(Object.keys(builds))('is not warned of where the first request has %s built', async (name) => {
    for (let i = 0; i < 3; i++) {
      let app: RequestListener | undefined
      const ask = await listening(
        createServer((request, response) => {
          app ??= builds[name]!()
          app(request, response)
        })
      )
      expect(await statuses(ask, '/', '/a', '/b', '/c', '/')).toEqual([200, 200, 200, 200, 200])
    }
    expect(await warnings()).toEqual([])
  })

  it('is not warned of where applications and routers are built by the request that first needs them', async () => {
    const lazily = (build: () => Express): RequestListener => {
      let built: Express | undefined
      return (request, response) => {
        built ??= build()
        built(request, response)
      }
    }
    const app = express()
    app.use(rateLimit(of))
    for (const path of ['/a', '/b', '/c'])
      app.use(
        path,
        lazily(() => builds.express!() as Express)
      )
    app.use('/router', (request, response, next) => {
      const router = express.Router()
      router.use(root.guard.limit('ip', 5, '1d'), (_request, answer) => void answer.end('ok'))
      app.use('/later', router)
      router(request, response, next)
    })
    const ask = await listening(createServer(app))
    expect(await statuses(ask, '/a', '/b', '/c', '/router', '/later')).toEqual([200, 200, 200, 200, 200])
    expect(await warnings()).toEqual([])
  })
})
