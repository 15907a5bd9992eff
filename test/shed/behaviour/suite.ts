import { type AddressInfo, connect } from 'node:net'
import { describe, expect, it } from 'vitest'
import { header } from '../../http/behaviour/client.js'
import { type Framework, manualClock, servers, until } from '../../http/behaviour/harness.js'
import type { Options, Route, ShedFramework, ShedServer, Waiting } from './frameworks.js'

/** The priority that a request says it is of. */
const byHeader: Options['priority'] = ({ headers }) => headers['x-priority'] as string | undefined

const of = (priority: string) => ({ 'x-priority': priority })

/** What every framework does with load. */
export function shedding(framework: ShedFramework): void {
  const start = servers({} as Framework)
  const serve = async (options: Options, routes: readonly Route[] = [{ path: '/' }]) => {
    let built: ShedServer | undefined
    const app = await start(
      framework.build(options, routes).then((made) => {
        built = made
        return made
      })
    )
    const { port } = built!.server.address() as AddressInfo
    return Object.assign(app, { state: built!.state, port })
  }

  /** A server whose requests wait until the test answers them, with room for so many. */
  const waiting = async (options: Options, more: readonly Route[] = []) => {
    const held: Waiting[] = []
    const app = await serve({ priority: byHeader, ...options }, [
      { path: '/', handler: (one) => void held.push(one) },
      ...more
    ])
    return Object.assign(app, { held })
  }

  /** A gauge that tests set, and samples that they take by moving the clock. */
  const gauged = async (options: Partial<Options> = {}, routes?: readonly Route[]) => {
    const clock = manualClock()
    const load = { value: 0 }
    const health = { gauge: () => load.value, sampleInterval: '1s' }
    const app = await serve({ priority: byHeader, now: clock.read, health, ...options } as Options, routes)
    return Object.assign(app, {
      /** So many samples of a load. */
      sample(value: number, times = 1) {
        load.value = value
        for (let i = 0; i < times; i++) {
          clock.pass(1000)
          app.state()
        }
      },
      /** How many of so many requests of a priority are served. */
      async served(priority: string, count = 8): Promise<number> {
        const statuses = await app.statuses(Array.from({ length: count }, () => ({ headers: of(priority) })))
        expect(statuses.every((status) => status === 200 || status === 503)).toBe(true)
        return statuses.filter((status) => status === 200).length
      }
    })
  }

  describe('room in flight', () => {
    it('is for so many at once, and is free again when they are answered', async () => {
      const app = await waiting({ concurrency: 2 })
      const first = [app.open(), app.open()]
      await until(() => app.held.length === 2)
      expect((await app.get()).status).toBe(503)
      expect(app.state()).toMatchObject({ inFlight: 2, isShedding: true, reasons: ['concurrency'] })
      app.held[0]!.send()
      expect((await first[0]!.answer).status).toBe(200)
      await until(() => app.state().inFlight === 1)
      const third = app.open()
      await until(() => app.held.length === 3)
      for (const one of app.held.slice(1)) one.send()
      expect([(await first[1]!.answer).status, (await third.answer).status]).toEqual([200, 200])
      await until(() => app.state().inFlight === 0)
    })

    it('is kept for whom it is reserved', async () => {
      const app = await waiting({ concurrency: 4, reserve: { critical: 0.5 } })
      const opened = [app.open({ headers: of('normal') }), app.open({ headers: of('background') })]
      await until(() => app.held.length === 2)
      expect((await app.get('/', of('normal'))).status).toBe(503)
      opened.push(app.open({ headers: of('critical') }), app.open({ headers: of('critical') }))
      await until(() => app.held.length === 4)
      expect((await app.get('/', of('critical'))).status).toBe(503)
      for (const one of app.held) one.send()
      for (const { answer } of opened) expect((await answer).status).toBe(200)
    })

    it('is free again when a client leaves that waits for an answer', async () => {
      const app = await waiting({ concurrency: 1 })
      const opened = app.open()
      await until(() => app.held.length === 1)
      const left = new AbortController()
      app.held[0]!.raw.on('close', () => left.abort())
      expect(left.signal.aborted).toBe(false)
      opened.abort()
      await expect(opened.answer).rejects.toThrow()
      await until(() => app.state().inFlight === 0)
      // What stops work that is for nobody any more.
      expect(left.signal.aborted).toBe(true)
    })

    it('is free again when a client leaves in the middle of the body', async () => {
      const app = await waiting({ concurrency: 1 })
      const opened = app.open()
      await until(() => app.held.length === 1)
      const { raw, hijack } = app.held[0]!
      hijack()
      raw.writeHead(200, { 'Content-Length': '10' })
      raw.write('half')
      expect((await app.get()).status).toBe(503)
      opened.abort()
      await expect(opened.answer).rejects.toThrow()
      await until(() => app.state().inFlight === 0)
    })

    it('is free again when a client leaves that has written several requests at once', async () => {
      const app = await waiting({ concurrency: 10 })
      const socket = connect(app.port, '127.0.0.1')
      socket.on('error', () => {})
      socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(5))
      await until(() => app.held.length === 5)
      expect(app.state().inFlight).toBe(5)
      socket.destroy()
      await until(() => app.state().inFlight === 0)
    })

    it('is free again after a response that a handler has taken over', async () => {
      const app = await waiting({ concurrency: 1 })
      const opened = app.open()
      await until(() => app.held.length === 1)
      const { raw, hijack } = app.held[0]!
      hijack()
      raw.end('by hand')
      expect((await opened.answer).body).toBe('by hand')
      await until(() => app.state().inFlight === 0)
    })

    it('is free again after a handler that throws', async () => {
      const thrower = () => {
        throw new Error('of the handler')
      }
      const app = await serve({ concurrency: 1 }, [{ path: '/', handler: thrower }])
      for (let i = 0; i < 3; i++) expect((await app.get()).status).toBe(500)
      await until(() => app.state().inFlight === 0)
    })
  })

  describe('health', () => {
    it('sheds a share of the lowest priority first, then of the next, and none of the highest', async () => {
      const app = await gauged()
      expect([await app.served('background'), await app.served('normal')]).toEqual([8, 8])
      app.sample(1)
      expect(await app.served('background')).toBe(6)
      expect(await app.served('normal')).toBe(8)
      expect(app.state()).toMatchObject({
        isShedding: true,
        isHealthy: true,
        level: 0.25,
        shares: { critical: 0, normal: 0, background: 0.25 },
        reasons: ['gauge'],
        gauge: 1
      })
      app.sample(1, 4)
      expect([await app.served('background'), await app.served('normal')]).toEqual([0, 6])
      app.sample(1, 10)
      expect(app.state()).toMatchObject({ level: 2, isHealthy: false })
      expect([await app.served('normal'), await app.served('critical')]).toEqual([0, 8])
    })

    it('sheds no less until the load has eased well, and comes back slowly', async () => {
      const app = await gauged()
      app.sample(1, 2)
      app.sample(0.9, 30)
      expect(await app.served('background')).toBe(4)
      app.sample(0.5)
      expect(app.state().level).toBe(0.45)
      app.sample(0.5, 9)
      expect(app.state()).toMatchObject({ level: 0, isShedding: false, reasons: [] })
      expect(await app.served('background')).toBe(8)
    })

    it('sheds the highest, too, where that is asked for', async () => {
      const app = await gauged({ shedHighest: true })
      app.sample(2, 6)
      expect(await app.served('critical')).toBe(0)
    })

    it('sheds requests that say nothing as normal ones', async () => {
      const app = await gauged({ priority: undefined })
      app.sample(1, 4)
      expect((await app.get()).status).toBe(200)
      app.sample(1, 4)
      expect((await app.get()).status).toBe(503)
    })

    it('sheds by how many are in flight, the lowest from half of the threshold on', async () => {
      const app = await waiting({ health: { inFlight: 2 } })
      const opened = [app.open({ headers: of('normal') })]
      await until(() => app.held.length === 1)
      expect((await app.get('/', of('background'))).status).toBe(503)
      opened.push(app.open({ headers: of('normal') }))
      await until(() => app.held.length === 2)
      expect((await app.get('/', of('normal'))).status).toBe(503)
      expect(app.state().reasons).toEqual(['inFlight'])
      opened.push(app.open({ headers: of('critical') }))
      await until(() => app.held.length === 3)
      for (const one of app.held) one.send()
      for (const { answer } of opened) expect((await answer).status).toBe(200)
    })
  })

  describe('what is never shed', () => {
    it('is on a health path, whatever its query', async () => {
      const paths = ['/', '/healthz', '/healthz/deep']
      const app = await gauged(
        { healthPaths: ['/healthz'] },
        paths.map((path) => ({ path }))
      )
      app.sample(2, 10)
      const statuses = await app.statuses(
        ['/', '/healthz', '/healthz?deep=1', '/healthz/deep'].map((path) => ({ path }))
      )
      expect(statuses).toEqual([503, 200, 200, 503])
    })

    it('is skipped, and counts as in flight', async () => {
      const held: Waiting[] = []
      const app = await serve({ concurrency: 1, skip: ({ headers }) => headers['x-probe'] === 'yes' }, [
        { path: '/', handler: (one) => void held.push(one) }
      ])
      const probes = [0, 1].map(() => app.open({ headers: { 'x-probe': 'yes' } }))
      await until(() => held.length === 2)
      expect(app.state().inFlight).toBe(2)
      expect((await app.get()).status).toBe(503)
      for (const one of held) one.send()
      for (const { answer } of probes) expect((await answer).status).toBe(200)
    })

    it.runIf(framework.hasRoutes)('is a route that says so', async () => {
      const app = await gauged({ priority: undefined }, [
        { path: '/' },
        { path: '/never', shed: false },
        { path: '/pay', shed: { priority: 'critical' } },
        { path: '/batch', shed: { priority: 'background' } }
      ])
      app.sample(1, 4)
      const statuses = (...paths: string[]) => app.statuses(paths.map((path) => ({ path })))
      expect(await statuses('/', '/never', '/pay', '/batch')).toEqual([200, 200, 200, 503])
      app.sample(1, 4)
      expect(await statuses('/', '/never', '/pay', '/batch')).toEqual([503, 200, 200, 503])
    })
  })

  describe('the answer', () => {
    const shedAll = async (options: Partial<Options> = {}, routes?: readonly Route[]) => {
      const app = await gauged({ shedHighest: true, ...options }, routes)
      app.sample(2, 6)
      return app
    }

    it('is a 503 that says when to come again, and is not stored', async () => {
      const app = await shedAll()
      const answer = await app.get()
      expect(answer.status).toBe(503)
      expect([header(answer, 'retry-after'), header(answer, 'cache-control')]).toEqual(['10', 'no-store'])
      expect(answer.headers['content-type']).toContain(framework.denialType)
      expect(answer.body).toContain('The server is short of capacity, retry in 10 s.')
    })

    it('is text, JSON or problem details, as the request accepts it', async () => {
      const app = await shedAll({ retryAfter: '1500ms', message: 'Busy' })
      const text = await app.get('/', { accept: 'text/plain' })
      expect([text.headers['content-type'], text.body]).toEqual(['text/plain; charset=utf-8', 'Busy'])
      const json = await app.get('/', { accept: 'application/json' })
      expect(JSON.parse(json.body)).toEqual({
        error: 'Service Unavailable',
        message: 'Busy',
        statusCode: 503,
        retryAfter: 2
      })
      const problem = await app.get('/', { accept: 'application/problem+json' })
      expect(problem.headers['content-type']).toBe('application/problem+json')
      expect(JSON.parse(problem.body)).toEqual({
        type: 'https://iana.org/assignments/http-problem-types#temporary-reduced-capacity',
        title: 'Temporary Reduced Capacity',
        status: 503,
        detail: 'Busy',
        'violated-policies': []
      })
      expect(header(problem, 'retry-after')).toBe('2')
    })

    it('has a message of each request', async () => {
      const app = await shedAll({ message: (_request, { priority, reason }) => `${priority}: ${reason}` })
      for (const priority of ['critical', 'background'])
        expect((await app.get('/', { ...of(priority), accept: 'text/plain' })).body).toBe(
          `${priority}: gauge`
        )
    })

    it('is what `onShed` returns, or the built-in one where that is nothing', async () => {
      const seen: unknown[] = []
      const app = await shedAll({
        onShed: ({ headers }, _response, { priority, reason, retryAfterMs, state }) => {
          seen.push([priority, reason, retryAfterMs, state.isShedding])
          return headers['x-own'] ? { busy: true } : undefined
        }
      })
      const own = await app.get('/', { ...of('normal'), 'x-own': '1' })
      expect([own.status, JSON.parse(own.body), header(own, 'retry-after')]).toEqual([
        503,
        { busy: true },
        '10'
      ])
      expect((await app.get()).body).toContain('short of capacity')
      expect(seen[0]).toEqual(['normal', 'gauge', 10_000, true])
    })

    it.runIf(framework.hasRoutes)('is what `onShed` of the route returns', async () => {
      const app = await shedAll({ onShed: () => ({ by: 'all' }) }, [
        { path: '/' },
        { path: '/own', shed: { onShed: () => ({ by: 'route' }) } }
      ])
      expect(JSON.parse((await app.get('/')).body)).toEqual({ by: 'all' })
      expect(JSON.parse((await app.get('/own')).body)).toEqual({ by: 'route' })
    })

    it('is none where it only looks on', async () => {
      const seen: unknown[] = []
      const app = await shedAll({ shadow: (_request, { priority }) => void seen.push(priority) })
      expect(await app.served('normal', 3)).toBe(3)
      expect(seen).toEqual(['normal', 'normal', 'normal'])
    })
  })

  describe('functions that fail', () => {
    it.each<[string, Partial<Options>]>([
      [
        'a `priority` that throws',
        {
          priority: () => {
            throw new Error('no priority')
          }
        }
      ],
      ['a `priority` that returns a promise', { priority: (async () => 'critical') as never }],
      ['a `skip` that returns a promise', { skip: (async () => true) as never }],
      ['a `skip` that returns a text', { skip: (() => 'false') as never }]
    ])('are errors of the request: %s', async (_what, options) => {
      const app = await serve({ concurrency: 10, ...options })
      expect((await app.get()).status).toBe(500)
      expect(app.state().inFlight).toBe(0)
    })

    it('have an unknown priority count as the lowest, and be told of once', async () => {
      const app = await gauged()
      app.sample(1, 4)
      expect([await app.served('urgent'), await app.served('normal')]).toEqual([0, 8])
      const warnings = await app.warnings('HEADGATE_UNKNOWN_PRIORITY')
      expect(warnings.map(({ message }) => message)).toEqual([
        '`priority` returned "urgent", which counts as the lowest, \'background\': give one of the `priorities`, ' +
          "'critical', 'normal', 'background'."
      ])
    })

    it('have the last reading stand for a gauge that throws', async () => {
      let isBroken = false
      const clock = manualClock()
      const gauge = () => {
        if (isBroken) throw new Error('no reading')
        return 1
      }
      const app = await serve({ now: clock.read, health: { gauge } })
      for (const broken of [false, true, true]) {
        isBroken = broken
        clock.pass(1000)
        app.state()
      }
      expect(app.state().level).toBe(0.75)
      expect(await app.warnings('HEADGATE_HEALTH_FAILED')).toHaveLength(1)
    })
  })
}
