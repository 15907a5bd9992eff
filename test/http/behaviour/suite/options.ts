import { ServerResponse } from 'node:http'
import { setImmediate } from 'node:timers/promises'
import { parseList } from 'structured-headers'
import { describe, expect, it } from 'vitest'
import { memoryStore } from '../../../../src/memory/store.js'
import { header, quotaFields } from '../client.js'
import { describeBeyondHost } from '../extent.js'
import {
  type AppSpec,
  type CommonRequest,
  type Framework,
  gate,
  type Handler,
  manualClock,
  type Options,
  type Running,
  servers,
  start,
  until
} from '../harness.js'

const minute = { window: '1m', now: () => start } as const
const as = (user: string, more: Record<string, string> = {}) => ({ headers: { 'X-User': user, ...more } })

/** Options as a program that is not type-checked may give them. */
const untyped = (options: object) => options as Options

/** The response of Node below a framework's. */
function nodeResponse(response: unknown): ServerResponse {
  const { raw, res } = response as { raw?: ServerResponse; res?: ServerResponse }
  return raw ?? (res instanceof ServerResponse ? res : (response as ServerResponse))
}

/** What the options of a limiter do. */
export function options(framework: Framework): void {
  const run = servers(framework)
  const remaining = async (app: Running) => header(await app.get(), 'RateLimit-Remaining')

  describeBeyondHost(framework, 'limit', () => {
    const sync = (request: CommonRequest) => Number(request.headers['x-limit'])
    const functions: [string, (request: CommonRequest) => unknown][] = [
      ['a function', sync],
      ['an async function', async (request) => Number(request.headers['x-limit'])]
    ]

    it.each(functions)(
      'CFG-01: %s that returns 0 denies, without a wait; others are served',
      async (_name, limit) => {
        const app = await run({ global: untyped({ ...minute, limit, key: 'header:x-user' }) })
        const denied = await app.send(as('a', { 'X-Limit': '0' }))
        expect(denied.status).toBe(429)
        expect(header(denied, 'RateLimit-Limit')).toBe('0')
        expect(header(denied, 'RateLimit-Remaining')).toBe('0')
        expect(header(denied, 'Retry-After')).toBeUndefined()
        expect((await app.send(as('b', { 'X-Limit': '5' }))).status).toBe(200)
      }
    )

    it('CFG-01: 0 denies whatever the strategy, and a limit that comes back counts on', async () => {
      for (const strategy of ['fixed-window', 'sliding-window', 'sliding-log', 'token-bucket', 'gcra']) {
        const app = await run({ global: untyped({ ...minute, limit: sync, strategy, key: 'header:x-user' }) })
        const limits = ['2', '0', '2', '0', '2']
        expect(await app.statuses(limits.map((limit) => as('a', { 'X-Limit': limit })))).toEqual([
          200, 429, 200, 429, 429
        ])
      }
    })

    it.each(functions)('%s that returns Infinity admits, and nothing is told of it', async (_name, limit) => {
      const app = await run({ global: untyped({ ...minute, limit }) })
      for (let i = 0; i < 5; i++) {
        const answer = await app.get('/', { 'X-Limit': 'Infinity' })
        expect(answer.status).toBe(200)
        expect(quotaFields(answer)).toEqual([])
      }
    })

    it('a limit that shrinks denies at once, one that grows admits more', async () => {
      for (const strategy of ['fixed-window', 'sliding-window', 'sliding-log', 'token-bucket', 'gcra']) {
        const app = await run({ global: untyped({ ...minute, limit: sync, strategy }) })
        const limits = ['3', '3', '2', '3', '3', '5', '5', '5']
        expect([strategy, await app.statuses(limits.map((limit) => as('', { 'X-Limit': limit })))]).toEqual([
          strategy,
          strategy === 'token-bucket' || strategy === 'gcra'
            ? [200, 200, 429, 200, 429, expect.any(Number), expect.any(Number), expect.any(Number)]
            : [200, 200, 429, 200, 429, 200, 200, 429]
        ])
      }
    })

    it('a route may compute its own', async () => {
      const app = await run({
        routes: [{ path: '/', limit: { ...minute, limit: async () => 1 } }]
      })
      expect(await app.statuses([{}, {}])).toEqual([200, 429])
    })

    it('tiers may be computed each', async () => {
      const app = await run({
        global: {
          limits: [
            { limit: () => 5, window: '1m' },
            { limit: async () => 2, window: '1h' }
          ],
          now: () => start
        }
      })
      const answer = await app.get()
      expect(header(answer, 'RateLimit-Policy')).toBe('5;w=60, 2;w=3600')
      expect(await app.statuses([{}, {}])).toEqual([200, 429])
    })
  })

  it('H3: of tiers one without a limit is left out, the others are told', async () => {
    const limits = [
      { name: 'free', limit: () => Number.POSITIVE_INFINITY, window: '1m' },
      { name: 'hour', limit: 5, window: '1h' }
    ]
    const six = await run({ global: { limits, now: () => start } })
    const answer = await six.get()
    expect(header(answer, 'RateLimit-Policy')).toBe('5;w=3600')
    expect(header(answer, 'RateLimit-Remaining')).toBe('4')
    const eleven = await run({ global: { limits, now: () => start, headers: 'draft-11' } })
    expect(header(await eleven.get(), 'RateLimit')).toBe('"hour";r=4;t=3600')
    expect(await eleven.statuses(Array(5).fill({}))).toEqual([200, 200, 200, 200, 429])
  })

  describeBeyondHost(framework, 'names of computed tiers', () => {
    it('are unique, and do not claim a limit that is not', async () => {
      const app = await run({
        global: {
          limits: [
            { limit: () => 5, window: '1m' },
            { limit: () => 9, window: '1m', strategy: 'sliding-log' },
            { limit: 7, window: () => '1h' }
          ],
          now: () => start,
          headers: 'draft-11'
        }
      })
      const policies = parseList(header(await app.get(), 'RateLimit-Policy')!)
      expect(new Set(policies.map(([name]) => name)).size).toBe(3)
      for (const [name, parameters] of policies) {
        const claimed = /^(\d+)-per-/.exec(String(name))
        if (claimed) expect(Number(claimed[1])).toBe(parameters.get('q'))
      }
    })
  })

  describeBeyondHost(framework, 'window', () => {
    it('a function, sync or async, as ms or text: each length has counters of its own', async () => {
      const windows: unknown[] = ['1m', '1h', '1m', '1h', '1h']
      for (const wrap of [(value: unknown) => value, async (value: unknown) => value]) {
        let at = 0
        const app = await run({
          global: untyped({ limit: 1, now: () => start, window: () => wrap(windows[at++]) })
        })
        expect(await app.statuses(windows.map(() => ({})))).toEqual([200, 200, 429, 429, 429])
      }
    })

    it('one length is one length, however it is written', async () => {
      const windows: unknown[] = ['1m', 60_000, '60s', '1 minute', '60000ms']
      let at = 0
      const app = await run({ global: untyped({ limit: 1, now: () => start, window: () => windows[at++] }) })
      expect(await app.statuses(windows.map(() => ({})))).toEqual([200, 429, 429, 429, 429])
    })

    it('is told in the headers', async () => {
      const app = await run({ global: untyped({ limit: 1, now: () => start, window: async () => '2m' }) })
      expect(header(await app.get(), 'RateLimit-Policy')).toBe('1;w=120')
      expect(header(await app.get(), 'Retry-After')).toBe(String(120 - ((start / 1000) % 120)))
    })

    it('FST-03: durations are parsed', async () => {
      for (const [window, seconds] of [
        ['1 minute', 60],
        ['500ms', 1],
        ['2h', 7200],
        [60_000, 60],
        ['1d', 86_400]
      ] as const) {
        const app = await run({ routes: [{ path: '/', limit: { limit: 3, window, now: () => start } }] })
        expect(header(await app.get(), 'RateLimit-Policy')).toBe(`3;w=${seconds}`)
        expect(await app.statuses([{}, {}, {}])).toEqual([200, 200, 429])
      }
    })
  })

  describeBeyondHost(framework, 'cost', () => {
    it('CFG-07: a batch is charged as a whole or not at all', async () => {
      for (const cost of [
        (request: { headers: object }) => Number((request.headers as Record<string, string>)['x-items']),
        async (request: { headers: object }) => Number((request.headers as Record<string, string>)['x-items'])
      ]) {
        const app = await run({ global: untyped({ limit: 10, ...minute, cost }) })
        const found: unknown[] = []
        for (const items of ['4', '4', '4', '2']) {
          const answer = await app.get('/', { 'X-Items': items })
          found.push([answer.status, header(answer, 'RateLimit-Remaining')])
        }
        expect(found).toEqual([
          [200, '6'],
          [200, '2'],
          [429, '2'],
          [200, '0']
        ])
      }
    })

    it('a number counts for every request', async () => {
      const app = await run({ global: { limit: 10, ...minute, cost: 4 } })
      expect(await app.statuses([{}, {}, {}])).toEqual([200, 200, 429])
    })

    it('a function that returns 0 charges nothing: admitted unless the key is blocked, headers as they stand', async () => {
      const itemsIn = ({ headers }: CommonRequest) => Number(headers['x-items'])
      for (const cost of [itemsIn, async (request: CommonRequest) => itemsIn(request)])
        for (const limit of [3, () => 3]) {
          const app = await run({ global: untyped({ limit, ...minute, cost, block: '5m' }) })
          const found: unknown[] = []
          for (const items of ['0', '2', '0', '1', '0', '0', '1', '0']) {
            const answer = await app.get('/', { 'X-Items': items })
            const wait = header(answer, 'Retry-After')
            found.push([answer.status, header(answer, 'RateLimit-Remaining'), wait])
          }
          expect(found).toEqual([
            [200, '3', undefined],
            [200, '1', undefined],
            [200, '1', undefined],
            [200, '0', undefined],
            [200, '0', undefined],
            [200, '0', undefined],
            [429, '0', '300'],
            [429, '0', '300']
          ])
        }
    })

    it('what costs nothing gives nothing back', async () => {
      const app = await run({
        global: { limit: 3, ...minute, cost: ({ headers }) => Number(headers['x-items']) },
        routes: [
          {
            path: '/',
            handler: async ({ request }) => {
              await request.rateLimit!.charge(0)
              if (request.headers['x-items'] === '0') await request.rateLimit!.refund()
            }
          }
        ]
      })
      const left: unknown[] = []
      for (const items of ['2', '0', '0', '1'])
        left.push(header(await app.get('/', { 'X-Items': items }), 'RateLimit-Remaining'))
      expect(left).toEqual(['1', '1', '1', '0'])
    })

    it.each([-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, '1', null, undefined, 2 ** 53, {}, true, 1n])(
      'one that is no whole number of at least 0, %s, never admits',
      async (value) => {
        for (const cost of [() => value, async () => value]) {
          const app = await run({ global: untyped({ limit: 10, ...minute, cost }), collectErrors: true })
          for (const status of await app.statuses([{}, {}])) expect([429, 500]).toContain(status)
        }
      }
    )

    it.each([0, -1, 1.5, '1', null, Number.POSITIVE_INFINITY, Number.NaN])(
      'a fixed one of %j is refused',
      async (cost) => {
        await expect(
          framework.build({ global: untyped({ limit: 1, ...minute, cost }) })
        ).rejects.toMatchObject({
          code: 'HEADGATE_BAD_OPTION',
          message: expect.stringMatching(/`cost`(?!.*limit)/)
        })
      }
    )
  })

  describeBeyondHost(framework, 'skip', () => {
    it('EXP-02: async decisions are awaited; what is skipped has no fields and no count', async () => {
      for (const skip of [
        (request: { headers: object }) => (request.headers as Record<string, string>)['x-user'] === 'b',
        async (request: { headers: object }) => (request.headers as Record<string, string>)['x-user'] === 'b'
      ]) {
        const app = await run({ global: { limit: 1, ...minute, skip } })
        expect(await app.statuses([as('a'), as('a'), as('b'), as('b')])).toEqual([200, 429, 200, 200])
        expect(quotaFields(await app.send(as('b')))).toEqual([])
      }
    })

    it.each(['false', 'no', 1, {}, [], Symbol('s')])(
      'CFG-01: what is true by mistake, %s, is an error and skips nothing',
      async (value) => {
        let reached = 0
        for (const skip of [() => value, async () => value]) {
          const app = await run({
            global: untyped({ limit: 1, ...minute, skip }),
            routes: [{ path: '/', handler: () => void reached++ }],
            collectErrors: true
          })
          expect((await app.get()).status).toBe(500)
          expect(app.errors).toMatchObject([
            { code: 'HEADGATE_BAD_OPTION', message: expect.stringMatching(/`skip`.*true or false/) }
          ])
        }
        expect(reached).toBe(0)
      }
    )

    it.each([false, undefined, null, 0, '', Number.NaN])('%j skips nothing', async (value) => {
      for (const skip of [() => value, async () => value]) {
        const app = await run({ global: untyped({ limit: 1, ...minute, skip }) })
        expect(await app.statuses([{}, {}])).toEqual([200, 429])
      }
    })

    it('is asked once a request', async () => {
      let asked = 0
      const app = await run({
        global: {
          limit: 9,
          ...minute,
          skip: () => {
            asked++
            return false
          }
        }
      })
      await app.statuses([{}, {}, { method: 'HEAD' }])
      expect(asked).toBe(3)
    })

    it('comes before everything else that a request is asked', async () => {
      const fail = () => {
        throw new Error('asked')
      }
      const app = await run({
        global: untyped({
          limit: fail,
          ...minute,
          key: fail,
          cost: fail,
          skip: () => true,
          deny: ['127.0.0.1']
        }),
        collectErrors: true
      })
      expect(await app.statuses([{}, {}])).toEqual([200, 200])
    })
  })

  describe('countOnly', () => {
    const byStatus: Handler = ({ request, send }) => send(Number(request.headers['x-status'] ?? 200))
    // In Koa nothing is sent before the handler ends.
    it.skipIf(framework.name === 'koa').each<['failures' | 'successes', number, number]>([
      ['failures', 401, 200],
      ['successes', 200, 500]
    ])('%s goes by the status that was sent, whatever is set afterwards', async (countOnly, sent, set) => {
      const handler: Handler = ({ send }) => {
        send(sent)
        try {
          send(set)
        } catch {
          // What was sent already may be an error.
        }
      }
      const app = await run({ global: { limit: 2, ...minute, countOnly }, routes: [{ path: '/', handler }] })
      expect(await app.statuses([{}, {}, {}])).toEqual([sent, sent, 429])
    })

    const spec = (countOnly: Options['countOnly'], limit = 2, more: object = {}): AppSpec => ({
      global: untyped({ limit, ...minute, countOnly, ...more }),
      routes: [
        { path: '/', handler: byStatus },
        { path: '/free', limit: false }
      ]
    })
    const status = (code: number) => ({ headers: { 'X-Status': String(code) } })

    it('`failures`: successes are given back', async () => {
      const app = await run(spec('failures'))
      expect(await app.statuses([200, 200, 302, 401, 200, 500, 200].map(status))).toEqual([
        200, 200, 302, 401, 200, 500, 429
      ])
    })

    it('`successes`: failures are given back', async () => {
      const app = await run(spec('successes'))
      expect(await app.statuses([401, 404, 500, 200, 401, 200, 401].map(status))).toEqual([
        401, 404, 500, 200, 401, 200, 429
      ])
    })

    it('a function sees request and status', async () => {
      const seen: unknown[] = []
      const app = await run(
        spec((request, _response, code) => {
          seen.push([request.url, code])
          return code === 418
        })
      )
      expect(await app.statuses([200, 418, 500, 418, 200].map(status))).toEqual([200, 418, 500, 418, 429])
      expect(seen).toEqual([
        ['/', 200],
        ['/', 418],
        ['/', 500],
        ['/', 418]
      ])
    })

    it('an async function is awaited', async () => {
      const app = await run(
        spec((async (_request: unknown, _response: unknown, code: number) => code === 418) as never)
      )
      expect(await app.statuses([200, 200, 200, 418, 200, 418, 200].map(status))).toEqual([
        200, 200, 200, 418, 200, 418, 429
      ])
    })

    it('EXP-04: denied requests earn nothing back', async () => {
      const app = await run(spec('successes'))
      expect(await app.statuses(Array(23).fill({}))).toEqual([200, 200, ...Array(21).fill(429)])
    })

    it('EXP-05: what is under way counts; it is given back after completion', async () => {
      const done = gate()
      let waiting = 0
      const app = await run({
        global: { limit: 5, ...minute, countOnly: 'failures' },
        routes: [
          {
            path: '/',
            handler: async () => {
              waiting++
              await done.promise
            }
          }
        ]
      })
      const answers = Array.from({ length: 6 }, () => app.get())
      await until(() => waiting === 5)
      const denied = await Promise.race(answers)
      expect(denied.status).toBe(429)
      done.open()
      const statuses = (await Promise.all(answers)).map((answer) => answer.status).sort()
      expect(statuses).toEqual([200, 200, 200, 200, 200, 429])
      expect((await app.get()).status).toBe(200)
    })

    it('STO-02: a refund after its window gives nothing to the next', async () => {
      const clock = manualClock()
      const done = gate()
      let reached = 0
      const app = await run({
        global: { limit: 2, window: 300, now: clock.read, countOnly: 'failures' },
        routes: [
          {
            path: '/slow',
            handler: async () => {
              reached++
              await done.promise
            }
          },
          { path: '/', handler: ({ send }) => send(500) }
        ]
      })
      const slow = app.get('/slow')
      await until(() => reached === 1)
      clock.pass(500)
      done.open()
      await slow
      expect(await app.statuses([{}, {}, {}])).toEqual([500, 500, 429])
    })

    it('a request whose client goes away counts', async () => {
      const [reached, left, done] = [gate(), gate(), gate()]
      const app = await run({
        global: { limit: 1, ...minute, countOnly: 'failures' },
        routes: [
          {
            path: '/',
            handler: async ({ response }) => {
              nodeResponse(response).once('close', left.open)
              reached.open()
              await done.promise
            }
          }
        ]
      })
      const opened = app.open()
      opened.answer.catch(() => {})
      await reached.promise
      opened.abort()
      await left.promise
      done.open()
      // A refund that must not come has no event to wait for: turns in which it could.
      for (let turn = 0; turn < 5; turn++) await setImmediate()
      expect((await app.get()).status).toBe(429)
    })

    /** Sends a request whose client goes away while it is served. */
    const abort = async (global: Options) => {
      const [reached, left, done] = [gate(), gate(), gate()]
      const app = await run({
        global,
        routes: [
          {
            path: '/',
            handler: async ({ response }) => {
              nodeResponse(response).once('close', left.open)
              reached.open()
              await done.promise
            }
          }
        ]
      })
      const opened = app.open()
      opened.answer.catch(() => {})
      await reached.promise
      opened.abort()
      await left.promise
      done.open()
      for (let turn = 0; turn < 5; turn++) await setImmediate()
      return app
    }

    it.each([
      ['failures', undefined, 429],
      ['failures', 'counted', 429],
      ['failures', 'failure', 429],
      ['failures', 'success', 200],
      ['successes', undefined, 429],
      ['successes', 'counted', 429],
      ['successes', 'failure', 200],
      ['successes', 'success', 429]
    ] as const)(
      '`%s`, and `aborted` %j: the next request of a client that went away gets %i',
      async (countOnly, aborted, next) => {
        const app = await abort({ limit: 1, ...minute, countOnly, aborted })
        expect((await app.get()).status).toBe(next)
      }
    )

    it('a function is asked of an aborted request by the status that stands for it', async () => {
      for (const [aborted, expected] of [
        ['counted', []],
        ['failure', [499]],
        ['success', [200]]
      ] as const) {
        const seen: number[] = []
        const countOnly = (_request: unknown, _response: unknown, status: number) => {
          seen.push(status)
          return false
        }
        const app = await abort({ limit: 1, ...minute, countOnly, aborted })
        expect(seen).toEqual(expected)
        expect((await app.get()).status).toBe(aborted === 'counted' ? 429 : 200)
      }
    })

    it.each([undefined, null, 0, 1, '', 'false', {}, Number.NaN])(
      'a function that returns %j, by mistake, gives nothing back, and is warned of once',
      async (value) => {
        for (const countOnly of [() => value, async () => value]) {
          const app = await run({ global: untyped({ limit: 2, ...minute, countOnly }) })
          expect(await app.statuses([{}, {}, {}])).toEqual([200, 200, 429])
          expect(await app.warnings()).toEqual([
            {
              code: 'HEADGATE_COUNT_FAILED',
              message: expect.stringMatching(/`countOnly`.*stays counted.*true or false/)
            }
          ])
        }
      }
    )

    it('eleven limiters and more listen to one response once for all', async () => {
      const leaks: unknown[] = []
      const hear = (warning: Error & { emitter?: unknown }) => {
        if (warning.name === 'MaxListenersExceededWarning' && warning.emitter !== process) leaks.push(warning)
      }
      process.on('warning', hear)
      const listeners: number[] = []
      const counting = (i: number): Options =>
        ({ name: `limit-${i}`, limit: 9, ...minute, countOnly: 'failures' }) as const
      const holding = (i: number): Options => ({
        ...{ name: `shaped-${i}`, limit: 9, window: 9, now: () => start },
        ...{ strategy: 'leaky-bucket', burst: 5, countOnly: () => true }
      })
      for (const count of [1, 12]) {
        const limits = Array.from({ length: count }, (_, i) => [counting(i), holding(i)]).flat()
        const handler: Handler = ({ response }) => {
          const { listenerCount } = nodeResponse(response)
          const of = (event: string) => listenerCount.call(nodeResponse(response), event)
          listeners.push(of('finish') + of('close'))
        }
        const app = await run({ routes: [{ path: '/', also: limits, handler }] })
        for (const answer of await Promise.all([app.get(), app.get(), app.get()]))
          expect(answer.status).toBe(200)
        expect(header(await app.get(), 'RateLimit-Remaining')).not.toBeUndefined()
      }
      await setImmediate()
      process.off('warning', hear)
      expect(leaks).toEqual([])
      expect(new Set(listeners).size).toBe(1)
    })

    it.each(['fixed-window', 'sliding-window', 'sliding-log', 'token-bucket', 'gcra'])(
      'with a computed limit, %s gives back what was charged and no more',
      async (strategy) => {
        for (const limit of [10, () => 10, async () => 10]) {
          const app = await run(spec('failures', limit as number, { strategy }))
          await app.statuses([500, 500, 500, 500].map(status))
          await app.statuses([200, 200, 200].map(status))
          const answer = await app.send(status(500))
          expect([strategy, header(answer, 'RateLimit-Remaining')]).toEqual([strategy, '5'])
        }
      }
    )

    it.each([
      ['token-bucket', 4, 4, '5'],
      ['token-bucket', 7, 1, '3'],
      ['gcra', 4, 4, '5'],
      ['gcra', 7, 1, '3']
    ])(
      '%s pays back by time what it did, before a refund and after (%i and %i units)',
      async (strategy, other, own, left) => {
        const found: unknown[] = []
        for (const limit of [10, () => 10]) {
          const clock = manualClock()
          const done = gate()
          let reached = 0
          const app = await run({
            global: untyped({
              limit,
              window: '1m',
              strategy,
              now: clock.read,
              countOnly: 'failures',
              cost: (request: CommonRequest) => Number(request.headers['x-cost'] ?? 1)
            }),
            routes: [
              {
                path: '/slow',
                handler: async () => {
                  reached++
                  await done.promise
                }
              },
              { path: '/', handler: ({ send }) => send(500) }
            ]
          })
          await app.get('/', { 'X-Cost': String(other) })
          const slow = app.get('/slow', { 'X-Cost': String(own) })
          await until(() => reached === 1)
          // 8 units are charged, 2 of them paid back by time. What is given back is what is still owed of the request.
          clock.pass(12_000)
          done.open()
          await slow
          found.push(header(await app.get(), 'RateLimit-Remaining'))
        }
        expect(found).toEqual([left, left])
      }
    )

    it('gives back the whole cost', async () => {
      const app = await run(spec('failures', 4, { cost: () => 3 }))
      expect(await app.statuses([200, 200, 200, 500, 200].map(status))).toEqual([200, 200, 200, 500, 429])
    })
  })

  describe('request.rateLimit', () => {
    it('has the decision, and is charged for what shows late; the headers follow', async () => {
      const seen: unknown[] = []
      const app = await run({
        global: { limit: 50, ...minute },
        routes: [
          {
            path: '/',
            handler: async ({ request: { rateLimit } }) => {
              seen.push(rateLimit!.allowed, rateLimit!.limit, rateLimit!.remaining, rateLimit!.key)
              await rateLimit!.charge(17)
              seen.push(rateLimit!.remaining)
            }
          }
        ]
      })
      const answer = await app.get()
      expect(seen).toEqual([true, 50, 49, '127.0.0.1', 32])
      expect(header(answer, 'RateLimit-Remaining')).toBe('32')
      expect(header(await app.get(), 'RateLimit-Remaining')).toBe('14')
    })

    it('is charged as far as anything is left, never past full', async () => {
      const clock = manualClock()
      const app = await run({
        global: { limit: 10, window: '1m', now: clock.read },
        routes: [{ path: '/', handler: ({ request }) => request.rateLimit!.charge(1000) }]
      })
      const answer = await app.get()
      expect([answer.status, header(answer, 'RateLimit-Remaining')]).toEqual([200, '0'])
      expect(header(answer, 'Retry-After')).toBeUndefined()
      const denied = await app.get()
      expect([denied.status, header(denied, 'Retry-After')]).toEqual([429, '60'])
      clock.pass(60_000)
      expect((await app.get()).status).toBe(200)
    })

    it('is given back on demand, what was charged late included, and once only', async () => {
      const app = await run({
        global: { limit: 10, ...minute },
        routes: [
          {
            path: '/',
            handler: async ({ request }) => {
              await request.rateLimit!.charge(4)
              await request.rateLimit!.refund()
              await request.rateLimit!.refund()
            }
          },
          { path: '/plain' }
        ]
      })
      await app.get('/plain')
      await app.get('/')
      expect(header(await app.get('/plain'), 'RateLimit-Remaining')).toBe('8')
    })

    it.each([
      ['fixed-window', '8'],
      ['sliding-window', '8'],
      ['sliding-log', '8'],
      ['token-bucket', '9'],
      ['gcra', '9']
    ])('gives back each charge as of its own time (%s)', async (strategy, left) => {
      for (const limit of [10, () => 10]) {
        const clock = manualClock()
        const app = await run({
          global: untyped({ limit, window: '1m', strategy, now: clock.read }),
          routes: [
            {
              path: '/',
              handler: async ({ request }) => {
                clock.pass(10_000)
                await request.rateLimit!.charge(3)
                await request.rateLimit!.refund()
              }
            },
            { path: '/plain' }
          ]
        })
        await app.get('/plain')
        clock.pass(10_000)
        await app.get('/')
        // Two requests are left, at 0 and 20 s; a bucket has paid back the first by then.
        expect(header(await app.get('/plain'), 'RateLimit-Remaining')).toBe(left)
      }
    })

    it.each([-1, 1.5, '3', Number.NaN, undefined])('refuses to charge %j', async (cost) => {
      const app = await run({
        global: { limit: 10, ...minute },
        routes: [{ path: '/', handler: ({ request }) => request.rateLimit!.charge(cost as number) }],
        collectErrors: true
      })
      expect((await app.get()).status).toBe(500)
      expect(app.errors).toMatchObject([{ code: 'HEADGATE_BAD_COST' }])
    })

    it('tells of several limiters: the latest, and by `previous` the others', async () => {
      const seen: unknown[] = []
      const app = await run({
        global: [
          { name: 'a', limit: 9, ...minute },
          { name: 'b', limit: 5, ...minute }
        ],
        routes: [
          {
            path: '/',
            handler: ({ request: { rateLimit } }) => {
              seen.push(
                rateLimit!.policy.name,
                rateLimit!.previous!.policy.name,
                rateLimit!.previous!.previous
              )
            }
          }
        ]
      })
      await app.get()
      expect(seen).toEqual(['b', 'a', undefined])
    })

    it('is left empty where a request is not limited', async () => {
      const seen: unknown[] = []
      const app = await run({
        global: { limit: 1, ...minute },
        routes: [
          { path: '/', limit: false, handler: ({ request }) => void seen.push(request.rateLimit ?? null) }
        ]
      })
      await app.get()
      expect(seen).toEqual([null])
    })

    it('charging after the response was sent charges, and breaks nothing', async () => {
      let late: (() => unknown) | undefined
      const app = await run({
        global: { limit: 10, ...minute },
        routes: [
          {
            path: '/',
            handler: ({ request }) => {
              late ??= () => request.rateLimit!.charge(5)
            }
          }
        ]
      })
      await app.get()
      await late!()
      expect(await remaining(app)).toBe('3')
    })
  })

  describeBeyondHost(framework, 'shadow', () => {
    it('decides and records, but never denies and sends no fields', async () => {
      const seen: unknown[] = []
      const app = await run({
        global: {
          limit: 1,
          ...minute,
          shadow: (request, rateLimit) => void seen.push([request.url, rateLimit.allowed])
        },
        routes: [{ path: '/', handler: ({ request }) => void seen.push(request.rateLimit!.allowed) }]
      })
      for (let i = 0; i < 3; i++) {
        const answer = await app.get()
        expect([answer.status, quotaFields(answer)]).toEqual([200, []])
      }
      expect(seen).toEqual([true, ['/', false], false, ['/', false], false])
    })

    it('never holds back, and does not refuse the addresses of the deny list', async () => {
      const app = await run({
        global: {
          limit: 1,
          window: '1h',
          strategy: 'leaky-bucket',
          burst: 2,
          now: () => start,
          shadow: true,
          deny: ['127.0.0.1']
        }
      })
      expect(await app.statuses([{}, {}, {}, {}])).toEqual([200, 200, 200, 200])
    })

    it('beside one that enforces, only that one is told of', async () => {
      const tight: Options = { name: 'tight', limit: 1, ...minute, shadow: true, headers: 'draft-11' }
      const wide: Options = { name: 'wide', limit: 3, ...minute, headers: 'draft-11' }
      for (const global of [
        [tight, wide],
        [wide, tight]
      ]) {
        const app = await run({ global })
        expect(await app.statuses([{}, {}])).toEqual([200, 200])
        const answer = await app.get()
        expect(header(answer, 'RateLimit')).toBe('"wide";r=0;t=60')
        expect(header(answer, 'RateLimit-Policy')).toBe('"wide";q=3;w=60')
        expect(await app.statuses([{}])).toEqual([429])
      }
    })

    it('sends no fields either when it is charged late', async () => {
      const app = await run({
        global: { limit: 5, ...minute, shadow: true },
        routes: [{ path: '/', handler: ({ request }) => request.rateLimit!.charge(2) }]
      })
      expect(quotaFields(await app.get())).toEqual([])
      const beside = await run({
        global: [
          { limit: 9, ...minute },
          { name: 'shadow', limit: 5, ...minute, shadow: true, headers: 'draft-11' }
        ],
        routes: [{ path: '/', handler: ({ request }) => request.rateLimit!.charge(2) }]
      })
      const answer = await beside.get()
      expect(header(answer, 'RateLimit')).toBeUndefined()
      expect(header(answer, 'RateLimit-Remaining')).toBe('8')
      expect(header(answer, 'RateLimit-Policy')).toBe('9;w=60')
    })

    it.each([1, 'yes', {}, null])('%j is refused', async (shadow) => {
      await expect(
        framework.build({ global: untyped({ limit: 1, ...minute, shadow }) })
      ).rejects.toMatchObject({
        code: 'HEADGATE_BAD_OPTION',
        message: expect.stringContaining('`shadow`')
      })
    })
  })

  describeBeyondHost(framework, 'several limits', () => {
    it('CON-05: a denial takes nothing from the other tier, in either order', async () => {
      const tiers = [
        { limit: 1, window: '1s' },
        { limit: 3, window: '1m' }
      ]
      for (const limits of [tiers, [...tiers].reverse()]) {
        const clock = manualClock()
        const app = await run({ global: { limits, now: clock.read } })
        expect(await app.statuses(Array(10).fill({}))).toEqual([200, ...Array(9).fill(429)])
        const later: number[] = []
        for (let i = 0; i < 3; i++) {
          clock.pass(1100)
          later.push((await app.get()).status)
        }
        expect(later).toEqual([200, 200, 429])
      }
    })

    it('a full table never forgets who is at the limit, whatever fake keys come', async () => {
      const store = memoryStore({ maxKeys: 64 })
      const app = await run({ global: { limit: 1, ...minute, key: 'header:x-user', store } })
      expect(await app.statuses([as('attacker'), as('attacker')])).toEqual([200, 429])
      await app.pipelined(Array.from({ length: 2000 }, (_, i) => [`X-User: fake-${i}`]))
      expect(await app.statuses([as('attacker')])).toEqual([429])
    })

    it('STO-12: two limiters on one store keep apart', async () => {
      const store = memoryStore()
      const app = await run({
        global: { limit: 10, window: '30d', store, now: () => start },
        routes: [{ path: '/a' }, { path: '/b', limit: { limit: 5, window: '1h', store, now: () => start } }]
      })
      expect(header(await app.get('/a'), 'RateLimit-Remaining')).toBe('9')
      expect(await app.statuses(Array(6).fill({ path: '/b' }))).toEqual([200, 200, 200, 200, 200, 429])
      expect(header(await app.get('/a'), 'RateLimit-Remaining')).toBe('8')
    })
  })

  describeBeyondHost(framework, 'block and countDenied', () => {
    it('WIN-12: a block is applied on the first violation and then over', async () => {
      const clock = manualClock()
      const app = await run({ global: { limit: 1, window: '20s', block: '120s', now: clock.read } })
      const at = async (ms: number) => {
        clock.now = start + ms
        const answer = await app.get()
        return [answer.status, header(answer, 'Retry-After'), header(answer, 'RateLimit-Remaining')]
      }
      expect(await at(0)).toEqual([200, undefined, '0'])
      expect(await at(1000)).toEqual([429, '120', '0'])
      expect(await at(21_000)).toEqual([429, '100', '0'])
      expect(await at(120_900)).toEqual([429, '1', '0'])
      expect(await at(121_100)).toEqual([200, undefined, '0'])
    })

    it('countDenied: who hammers stays out', async () => {
      const clock = manualClock()
      const app = await run({
        global: { limit: 2, window: '10s', strategy: 'sliding-log', countDenied: true, now: clock.read }
      })
      expect(await app.statuses([{}, {}, {}])).toEqual([200, 200, 429])
      for (let i = 0; i < 5; i++) {
        clock.pass(4000)
        expect((await app.get()).status).toBe(429)
      }
      clock.pass(10_000)
      expect((await app.get()).status).toBe(200)
    })
  })

  describeBeyondHost(framework, 'wrong options throw at construction', () => {
    const nearest: [object, string][] = [
      [{ limit: 1, windowSec: 60 }, 'window'],
      [{ max: 1, window: '1m' }, 'limit'],
      [{ limit: 1, window: '1m', keyGenerator: () => 'k' }, 'key'],
      [{ limit: 1, window: '1m', stratgey: 'gcra' }, 'strategy'],
      [{ limit: 1, window: '1m', Skip: () => true }, 'skip'],
      [{ limit: 1, window: '1m', standardHeaders: true }, 'headers'],
      [{ limit: 1, window: '1m', handler: () => {} }, 'onLimited'],
      [{ limit: 1, window: '1m', exposeHeader: true }, 'exposeHeaders'],
      [{ limit: 1, window: '1m', ipv6subnet: 64 }, 'ipv6Subnet']
    ]
    it.each(nearest)('CFG-02: %j: the near name is %s', async (wrong, near) => {
      await expect(framework.build({ global: untyped(wrong) })).rejects.toMatchObject({
        code: 'HEADGATE_UNKNOWN_OPTION',
        message: expect.stringContaining(`\`${near}\``)
      })
      await expect(
        framework.build({ routes: [{ path: '/', limit: untyped(wrong) }] }),
        'on a route'
      ).rejects.toMatchObject({ code: 'HEADGATE_UNKNOWN_OPTION' })
    })

    const values: [string, unknown][] = [
      ...[
        Number.NaN,
        -1,
        0,
        '5x',
        '5',
        undefined,
        null,
        1.5,
        Number.POSITIVE_INFINITY,
        true,
        [],
        2 ** 53
      ].map((value): [string, unknown] => ['limit', value]),
      ...[
        Number.NaN,
        -5,
        0,
        'soon',
        '60',
        '',
        '-1m',
        Number.POSITIVE_INFINITY,
        undefined,
        null,
        true,
        '0s',
        0.5
      ].map((value): [string, unknown] => ['window', value]),
      ...['gcrra', '', 5, null, {}].map((value): [string, unknown] => ['strategy', value]),
      ...[0, -1, '3', 1.5].map((value): [string, unknown] => ['burst', value]),
      ...[true, 'yes', null].map((value): [string, unknown] => ['skip', value]),
      ...['errors', true, null, []].map((value): [string, unknown] => ['countOnly', value]),
      ...['failures', true, null, 499, 'failure'].map((value): [string, unknown] => ['aborted', value]),
      ...[31, 129, '64', true, 56.5, null].map((value): [string, unknown] => ['ipv6Subnet', value]),
      ...['X-Forwarded-For', true, null, 'x-real-ip'].map((value): [string, unknown] => ['forwarded', value]),
      ...[1, 'true', null].map((value): [string, unknown] => ['exposeHeaders', value]),
      ...['seconds', null, 5].map((value): [string, unknown] => ['retryAfterFormat', value]),
      ...[5, {}, true].map((value): [string, unknown] => ['message', value]),
      ...['stop', {}, null].map((value): [string, unknown] => ['onLimited', value]),
      ...['redis', {}, null].map((value): [string, unknown] => ['store', value]),
      ...[5, 'now', null].map((value): [string, unknown] => ['now', value]),
      ...[1, 'yes', null].map((value): [string, unknown] => ['countDenied', value]),
      ...[0, -1, 'long', null, true].map((value): [string, unknown] => ['block', value]),
      ...[[], {}, 'x', null].map((value): [string, unknown] => ['limits', value]),
      ...['headers', 'name', 'key', 'align'].map((name): [string, unknown] => [name, null]),
      ...[null, 5].map((value): [string, unknown] => ['allow', value]),
      ...[null, 5].map((value): [string, unknown] => ['deny', value])
    ]
    it.each(values)('CFG-02, CFG-04: `%s` of %s names option and value', async (option, value) => {
      const base =
        option === 'burst' ? { limit: 1, window: '1m', strategy: 'gcra' } : { limit: 1, window: '1m' }
      const wrong = option === 'limits' ? { limits: value } : { ...base, [option]: value }
      const error = await framework.build({ global: untyped(wrong) }).then(
        async (built) => {
          await built.close()
          return undefined
        },
        (reason: Error & { code?: string }) => reason
      )
      expect(error?.code).toMatch(/^HEADGATE_(BAD_OPTION|UNKNOWN_STRATEGY)$/)
      expect(error?.message).toContain(option)
    })

    it('CFG-01: a limit of 0 says how to deny everybody and how to switch off', async () => {
      await expect(framework.build({ global: { limit: 0, window: '1m' } })).rejects.toMatchObject({
        message: expect.stringMatching(/function.*(skip|leave it out)/)
      })
    })

    it('options of other strategies are refused', async () => {
      for (const wrong of [
        { limit: 1, window: '1m', burst: 3 },
        { limit: 1, window: '1m', strategy: 'gcra', align: 'clock' },
        { limit: 1, window: '1m', strategy: 'gcra', delayAfter: 1 }
      ])
        await expect(framework.build({ global: untyped(wrong) })).rejects.toMatchObject({
          code: 'HEADGATE_BAD_OPTION'
        })
    })

    it('names of tiers are unique regardless of case', async () => {
      const limits = [
        { name: 'Login', limit: 1, window: '1m' },
        { name: 'login', limit: 2, window: '1h' }
      ]
      await expect(framework.build({ global: { limits } })).rejects.toMatchObject({
        code: 'HEADGATE_POLICY_CLASH'
      })
    })
  })
}
