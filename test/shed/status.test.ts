import { createServer, request as httpRequest } from 'node:http'
import type { AddressInfo } from 'node:net'
import createFastify from 'fastify'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { shed as expressShed } from '../../src/express/index.js'
import { shed as fastifyShed } from '../../src/fastify/index.js'
import type { HealthOptions, ShedState } from '../../src/shed/public.js'
import { expressVersions } from '../http/behaviour/express.js'
import { manualClock, unhandledDuring, until, within } from '../http/behaviour/harness.js'

const closing: (() => unknown)[] = []
let told: { mock: { calls: unknown[][] } }
beforeEach(() => {
  told = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
})
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
  vi.restoreAllMocks()
})

interface Served {
  readonly state: () => ShedState
  readonly url: string
}

type Serve = (health: HealthOptions, now?: () => number) => Promise<Served>

function onExpress(version: 'express4' | 'express5'): Serve {
  return async (health, now) => {
    const shedder = expressShed({ health, now })
    const app = expressVersions[version]()
    app.get('/status', shedder.statusHandler)
    app.use(shedder)
    app.get('/', (_request: unknown, response: { end(body: string): void }) => response.end('ok'))
    const server = createServer(app)
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    closing.push(() => {
      shedder.close()
      server.closeAllConnections()
      server.close()
    })
    return { state: () => shedder.state, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
  }
}

const onFastify: Serve = async (health, now) => {
  const app = createFastify()
  closing.push(() => app.close())
  await app.register(fastifyShed, { health, now, statusRoute: true })
  app.get('/', async () => 'ok')
  return { state: () => app.pressure, url: await app.listen({ port: 0, host: '127.0.0.1' }) }
}

const serves: [string, Serve][] = [
  ['express4', onExpress('express4')],
  ['express5', onExpress('express5')],
  ['fastify', onFastify]
]

const statusOf = async (url: string) => {
  const response = await fetch(`${url}/status`)
  return [response.status, await response.json()]
}

describe.each(serves)('the status on %s', (_name, serve) => {
  it('answers 503 within an interval where the check hangs, and agrees with the state', async () => {
    let hangs = true
    const healthCheck = () => (hangs ? new Promise<boolean>(() => {}) : true)
    const { url, state } = await serve({ healthCheck, healthCheckInterval: 50 })
    for (let i = 0; i < 3; i++) {
      const answer = await within(statusOf(url), 2000)
      expect(answer).toEqual([503, { status: 'unavailable', reasons: ['healthCheck'] }])
      expect(state().isHealthy).toBe(false)
    }
    hangs = false
    await until(() => state().isHealthy)
    expect(await statusOf(url)).toEqual([200, { status: 'ok' }])
    expect((await fetch(url)).status).toBe(200)
  })

  it.each<[string, () => object]>([
    ['a BigInt', () => ({ lag: 10n })],
    ['a circle', circle],
    ['a `toJSON` that throws', () => ({ toJSON: refuse })],
    ['a `toJSON` that throws deep in it', () => ({ deep: [{ toJSON: refuse }] })],
    ['a getter that throws', () => Object.defineProperty({}, 'lag', { get: refuse, enumerable: true })],
    ['a `toJSON` that gives a text', () => new Date(0)],
    ['a `toJSON` that gives nothing', () => ({ toJSON() {} })]
  ])('leaves out the fields of an object that is no JSON, and says so once: %s', async (_what, made) => {
    const unhandled = await unhandledDuring(async () => {
      const { url } = await serve({ healthCheck: made })
      for (let i = 0; i < 2; i++) expect(await within(statusOf(url), 2000)).toEqual([200, { status: 'ok' }])
    })
    expect(unhandled).toEqual([])
    const messages = told.mock.calls.map(([message]) => String(message))
    expect(messages).toHaveLength(1)
    expect(messages[0]).toMatch(
      /^The object that `healthCheck` returned is no JSON, so the status is sent without/
    )
  })

  it('has the JSON of the object, under our own `status` and `reasons`', async () => {
    const load = { value: 0 }
    const clock = manualClock()
    const said = {
      status: 'hax',
      reasons: ['hax'],
      queue: 3,
      since: new Date(0),
      toJSON: undefined as unknown
    }
    const health = { healthCheck: () => said, gauge: () => load.value }
    const { url, state } = await serve(health, clock.read)
    expect(await statusOf(url)).toEqual([
      200,
      { status: 'ok', reasons: ['hax'], queue: 3, since: '1970-01-01T00:00:00.000Z' }
    ])
    said.toJSON = () => ({ status: 'hax', short: true })
    expect(await statusOf(url)).toEqual([200, { status: 'ok', short: true }])
    load.value = 2
    for (let i = 0; i < 4; i++) {
      clock.pass(1000)
      state()
    }
    delete said.toJSON
    const [code, body] = await statusOf(url)
    expect([code, body]).toMatchObject([503, { status: 'unavailable', reasons: ['gauge'], queue: 3 }])
    expect(state().isHealthy).toBe(false)
  })

  it('agrees with the state at the moment of its answer', async () => {
    let well = false
    const { url, state } = await serve({ healthCheck: () => well, healthCheckInterval: '1h' })
    for (const next of [true, false, true]) {
      well = next
      const [code] = await statusOf(url)
      expect([code, state().isHealthy]).toEqual([next ? 200 : 503, next])
    }
  })

  it('fails as other handlers do where a clock of the user throws', async () => {
    vi.spyOn(console, 'error').mockImplementation(() => {})
    let isBroken = false
    const now = () => {
      if (isBroken) throw new Error('no time')
      return 0
    }
    const { url } = await serve({ healthCheck: () => true }, now)
    isBroken = true
    const unhandled = await unhandledDuring(async () => {
      expect(
        await within(
          fetch(`${url}/status`).then(({ status }) => status),
          2000
        )
      ).toBe(500)
    })
    expect(unhandled).toEqual([])
  })
})

function refuse(): never {
  throw new Error('no')
}

function circle(): object {
  const one: { self?: object } = {}
  one.self = one
  return one
}

describe('a handler of the status without Express', () => {
  it('answers HEAD, and a failure with 500', async () => {
    let isBroken = false
    const now = () => {
      if (isBroken) throw new Error('no time')
      return 0
    }
    const shedder = expressShed({ health: { healthCheck: () => true }, now })
    const server = createServer((request, response) => shedder.statusHandler(request, response))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    closing.push(() => {
      shedder.close()
      server.closeAllConnections()
      server.close()
    })
    const { port } = server.address() as AddressInfo
    const head = () =>
      new Promise((resolve, reject) => {
        httpRequest({ port, method: 'HEAD' }, (response) => {
          response.resume()
          resolve(response.statusCode)
        })
          .on('error', reject)
          .end()
      })
    expect(await head()).toBe(200)
    isBroken = true
    expect(await within(head(), 2000)).toBe(500)
  })
})
