import Fastify from 'fastify'
import { describe, expect, it, vi } from 'vitest'
import { shed as express } from '../../src/express/index.js'
import { shed as fastify } from '../../src/fastify/index.js'
import * as nest from '../../src/nest/index.js'

const sick = { health: { healthCheck: () => false } }

describe('copies of the package, and several shedders, in one process', () => {
  it('shed each for itself on one server, and the latest tells of its pressure', async () => {
    vi.resetModules()
    const { shed: copy } = await import('../../src/fastify/index.js')
    expect(copy).not.toBe(fastify)
    const app = Fastify()
    await app.register(fastify, { concurrency: 10 })
    await app.register(copy, sick)
    app.get('/', async () => 'ok')
    app.get('/never', { config: { shed: false } }, async () => 'ok')
    expect((await app.inject('/')).statusCode).toBe(503)
    expect((await app.inject('/never')).statusCode).toBe(200)
    expect(app.pressure.isHealthy).toBe(false)
    await app.close()
  })

  it('read the `@Shed` of one another', async () => {
    vi.resetModules()
    const { Shed } = await import('../../src/nest/index.js')
    expect(Shed).not.toBe(nest.Shed)
    const guard = nest.shed(sick)
    class Reports {
      never() {}
    }
    const { prototype } = Reports
    Shed.skip()(prototype, 'never', Object.getOwnPropertyDescriptor(prototype, 'never')!)
    const response = { setHeader() {}, on() {}, closed: false, destroyed: false }
    const context = {
      getType: () => 'http',
      getHandler: () => prototype.never,
      getClass: () => Reports,
      getArgByIndex: (index: number) => (index === 0 ? { headers: {}, url: '/' } : response)
    }
    expect(guard.canActivate(context as never)).toBe(true)
    expect(guard.state.inFlight).toBe(1)
    guard.close()
  })

  it('count each what it meets', async () => {
    const [one, other] = [express({ concurrency: 1 }), express({ concurrency: 1 })]
    const meet = (middleware: typeof one, request: object) => {
      let passed = false
      const response = { on() {}, closed: false, destroyed: false }
      middleware(request as never, response as never, () => {
        passed = true
      })
      return passed
    }
    const request = { headers: {}, url: '/' }
    expect([meet(one, request), meet(one, request), meet(other, request)]).toEqual([true, true, true])
    expect([one.state.inFlight, other.state.inFlight]).toEqual([1, 1])
  })
})
