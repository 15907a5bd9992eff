import websocket from '@fastify/websocket'
import Fastify, { type FastifyInstance } from 'fastify'
import { afterEach, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { type ShedPluginOptions, shed } from '../../src/fastify/index.js'
import { gate, manualClock, timers, until } from '../http/behaviour/harness.js'

const open: FastifyInstance[] = []
afterEach(async () => {
  for (const app of open.splice(0)) await app.close()
})

/** A server with the plugin, and a gauge that the test sets. */
async function served(
  options: Partial<ShedPluginOptions> = {},
  more: (app: FastifyInstance) => unknown = () => {}
) {
  const clock = manualClock()
  const load = { value: 0 }
  const app = Fastify()
  open.push(app)
  await app.register(shed, {
    now: clock.read,
    health: { gauge: () => load.value, healthCheck: () => true },
    ...options
  } as ShedPluginOptions)
  app.get('/', async () => 'ok')
  await more(app)
  await app.ready()
  return {
    app,
    status: async (url: string) => (await app.inject(url)).statusCode,
    press(value: number, times: number) {
      load.value = value
      for (let i = 0; i < times; i++) {
        clock.pass(1000)
        void app.pressure
      }
    }
  }
}

describe('the plugin', () => {
  it('sheds unknown paths and routes of all scopes, whenever they were declared', async () => {
    const app = Fastify()
    open.push(app)
    app.get('/before', async () => 'ok')
    app.get('/never', { config: { shed: false } }, async () => 'ok')
    // Not awaited: it loads after the routes beside it.
    app.register(shed, { health: { healthCheck: () => false } })
    app.register(async (scope) => void scope.get('/scoped', async () => 'ok'))
    const statuses = []
    for (const url of ['/before', '/never', '/scoped', '/unknown'])
      statuses.push((await app.inject(url)).statusCode)
    expect(statuses).toEqual([503, 200, 503, 503])
  })

  it('sheds in a scope what that scope asks for', async () => {
    const app = Fastify()
    open.push(app)
    await app.register(shed, { concurrency: 10 })
    await app.register(async (scope) => {
      await scope.register(shed, { health: { healthCheck: () => false } })
      scope.get('/inner', async () => [scope.pressure.isHealthy, app.pressure.isHealthy])
      scope.get('/state', { config: { shed: false } }, async () => [
        scope.pressure.isHealthy,
        app.pressure.isHealthy
      ])
    })
    app.get('/outer', async () => 'ok')
    expect((await app.inject('/outer')).statusCode).toBe(200)
    expect((await app.inject('/inner')).statusCode).toBe(503)
    expect((await app.inject('/state')).json()).toEqual([false, true])
  })

  it.each([true, 'yes', { priority: 'urgent' }, { onshed: () => 1 }, { onShed: 5 }])(
    'refuses a route with the `shed` %j',
    async (said) => {
      const app = Fastify()
      open.push(app)
      await app.register(shed, { concurrency: 1 })
      expect(() => app.get('/', { config: { shed: said as never } }, async () => 'ok')).toThrow(
        /shed|priority|onShed/
      )
    }
  )

  it.each([5, 'status', [], { url: 'status' }])('refuses the `statusRoute` %j', async (statusRoute) => {
    const app = Fastify()
    await expect(
      async () => await app.register(shed, { concurrency: 1, statusRoute } as never)
    ).rejects.toThrow('statusRoute')
  })

  it('refuses a `pressure` that is not its own', async () => {
    const app = Fastify()
    app.decorate('pressure', 5 as never)
    await expect(async () => await app.register(shed, { concurrency: 1 })).rejects.toThrow('decorated')
  })

  it('starts whatever the health check does, and sheds until it has said yes', async () => {
    const answer = gate<boolean>()
    const app = Fastify({ pluginTimeout: 200 })
    open.push(app)
    await app.register(shed, { health: { healthCheck: () => answer.promise } })
    app.get('/', async () => 'ok')
    await app.ready()
    expect((await app.inject('/')).statusCode).toBe(503)
    answer.open(true)
    await until(() => app.pressure.isHealthy)
    expect((await app.inject('/')).statusCode).toBe(200)
  })

  it('stops its timers with the server, and keeps no process alive', async () => {
    const before = timers()
    let asked = 0
    const app = Fastify()
    const healthCheck = () => ++asked > 0
    await app.register(shed, {
      health: { healthCheck, healthCheckInterval: 1, eventLoopDelay: 100, sampleInterval: 1 }
    })
    await app.ready()
    expect(timers()).toBe(before)
    await until(() => asked > 2)
    await app.close()
    const last = asked
    // Had a timer been left, it would be called before this one.
    await new Promise((resolve) => setTimeout(resolve, 3))
    expect(asked).toBe(last)
  })

  it('counts an upgrade for as long as its socket lives', async () => {
    const app = Fastify()
    open.push(app)
    await app.register(websocket)
    await app.register(shed, { concurrency: 1 })
    app.get(
      '/ws',
      { websocket: true },
      (socket) => void socket.on('message', (text) => socket.send(String(text)))
    )
    app.get('/', async () => 'ok')
    const url = await app.listen({ port: 0, host: '127.0.0.1' })
    const socket = new WebSocket(`${url.replace('http', 'ws')}/ws`)
    await new Promise((resolve) => socket.once('open', resolve))
    expect(app.pressure.inFlight).toBe(1)
    expect((await fetch(url)).status).toBe(503)
    socket.terminate()
    await until(() => app.pressure.inFlight === 0)
    expect((await fetch(url)).status).toBe(200)
  })
})

describe('the status route', () => {
  it('is never shed, and says 503 only of a worker that is not healthy', async () => {
    const { app, press, status } = await served({ statusRoute: true })
    expect((await app.inject('/status')).json()).toEqual({ status: 'ok' })
    press(1, 5)
    const shedding = await app.inject('/status')
    expect([shedding.statusCode, shedding.json()]).toEqual([200, { status: 'shedding' }])
    press(1, 3)
    expect(await status('/')).toBe(503)
    const full = await app.inject('/status')
    expect([full.statusCode, full.json()]).toEqual([503, { status: 'unavailable', reasons: ['gauge'] }])
    expect([full.headers['retry-after'], full.headers['cache-control']]).toEqual(['10', 'no-store'])
  })

  it('tells what the health check says, which it asks anew', async () => {
    let well: boolean | object = true
    const { app, status } = await served({
      statusRoute: { url: '/alive', config: { mark: 1 } as never },
      health: { healthCheck: async () => well }
    })
    well = { queue: 3 }
    expect((await app.inject('/alive')).json()).toEqual({ status: 'ok', queue: 3 })
    well = false
    expect([await status('/'), await status('/alive'), await status('/')]).toEqual([200, 503, 503])
  })
})
