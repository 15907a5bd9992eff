import { describe, expect, it } from 'vitest'
import type { WindowOptions } from '../../../../src/core/policy-options.js'
import { header, quotaFields } from '../client.js'
import { describeBeyondHost } from '../extent.js'
import {
  type Framework,
  gate,
  manualClock,
  type Options,
  servers,
  start,
  timers,
  turns,
  until,
  watchLongTimers,
  within
} from '../harness.js'

const minute = { window: '1m', now: () => start } as const

/** Each strategy, so that a fresh key is admitted `limit` units at once. */
function rules(limit: number): [string, Partial<WindowOptions>][] {
  return [
    ['fixed-window', {}],
    ['fixed-window first-request', { align: 'first-request' }],
    ['sliding-window', { strategy: 'sliding-window' }],
    ['sliding-log', { strategy: 'sliding-log' }],
    ['token-bucket', { strategy: 'token-bucket' }],
    ['gcra', { strategy: 'gcra' }],
    ['leaky-bucket', { strategy: 'leaky-bucket', burst: limit - 1, delayAfter: limit - 1 }]
  ]
}

const strategies = rules(1).map(([name]) => name)
const rule = (name: string, limit: number): Options =>
  ({ limit, ...minute, ...rules(limit).find(([known]) => known === name)![1] }) as Options

/** How limiters live with requests, routes and servers. */
export function lifecycle(framework: Framework): void {
  const run = servers(framework)

  describeBeyondHost(framework, 'how much is admitted', () => {
    it.each(strategies)(
      'CON-01: of 200 at once exactly the limit, each remaining once (%s)',
      async (name) => {
        for (const key of ['ip', async () => 'k'] as const) {
          const app = await run({ global: { ...rule(name, 5), key } as Options })
          const answers = await Promise.all(Array.from({ length: 200 }, () => app.get()))
          const admitted = answers.filter((answer) => answer.status === 200)
          expect(answers.filter((answer) => answer.status === 429)).toHaveLength(195)
          expect(admitted.map((answer) => header(answer, 'RateLimit-Remaining')).sort()).toEqual([
            '0',
            '1',
            '2',
            '3',
            '4'
          ])
        }
      }
    )

    it.each(strategies)('WIN-24: exactly the first L, the last with 0 remaining (%s)', async (name) => {
      for (const limit of [1, 2, 10]) {
        const app = await run({ global: rule(name, limit) })
        const statuses: number[] = []
        const left: unknown[] = []
        for (let i = 0; i < limit + 2; i++) {
          const answer = await app.get()
          statuses.push(answer.status)
          left.push(header(answer, 'RateLimit-Remaining'))
        }
        expect(statuses).toEqual([...Array(limit).fill(200), 429, 429])
        expect(left).toEqual([...Array.from({ length: limit }, (_, i) => String(limit - 1 - i)), '0', '0'])
      }
    })

    it('WIN-15: a clock that steps back gives nothing back and locks nobody out', async () => {
      for (const name of strategies) {
        const clock = manualClock()
        const app = await run({ global: { ...rule(name, 5), now: clock.read } })
        await app.get()
        clock.pass(-3_600_000)
        expect([name, await app.statuses(Array(5).fill({}))]).toEqual([name, [200, 200, 200, 200, 429]])
        const wait = Number(header(await app.get(), 'Retry-After'))
        expect(wait).toBeGreaterThanOrEqual(1)
        // A sliding window that is full of this window's units admits in the next, once its share has faded.
        expect(wait).toBeLessThanOrEqual(name === 'sliding-window' ? 72 : 60)
        clock.pass(wait * 1000)
        expect((await app.get()).status).toBe(200)
      }
    })
  })

  describe('who counts what', () => {
    it('NST-07: a global limit counts all routes together', async () => {
      const app = await run({
        global: { limit: 2, ...minute },
        routes: [{ path: '/a' }, { path: '/b' }, { path: '/c' }]
      })
      expect(await app.statuses(['/a', '/b', '/c'].map((path) => ({ path })))).toEqual([200, 200, 429])
    })

    it('NST-07: limits of routes count each for themselves', async () => {
      const own = () => ({ limit: 2, ...minute })
      const app = await run({
        routes: [
          { path: '/a', limit: own() },
          { path: '/b', limit: own() },
          { path: '/c', limit: own() }
        ]
      })
      expect(await app.statuses(['/a', '/b', '/c'].map((path) => ({ path })))).toEqual([200, 200, 200])
    })

    it('NST-08: failed logins are counted', async () => {
      const app = await run({
        global: { limit: 3, ...minute },
        after: [
          ({ request, send }) => {
            if (request.headers.authorization !== 'right') send(401)
          }
        ]
      })
      expect(await app.statuses(Array(5).fill({}))).toEqual([401, 401, 401, 429, 429])
    })

    it('FST-01: unknown paths are limited where the limit is global, together with the known ones', async () => {
      const app = await run({ global: { limit: 2, ...minute } })
      expect(await app.statuses(Array(4).fill({ path: '/nope' }))).toEqual([404, 404, 429, 429])
      expect((await app.get('/')).status).toBe(429)
    })

    it('EXP-06: an instance that a request meets twice counts it once', async () => {
      for (const key of ['ip', async () => 'k'] as const) {
        const app = await run({
          instances: { one: { limit: 4, ...minute, key, headers: 'draft-11' } as Options },
          globalInstances: ['one'],
          routes: [{ path: '/', instances: ['one'] }]
        })
        const first = await app.get()
        expect(header(first, 'RateLimit')).toBe('"default";r=3;t=60')
        expect(await app.statuses(Array(4).fill({}))).toEqual([200, 200, 200, 429])
      }
    })

    it('counts it once also where another library has put its own at `request.rateLimit` meanwhile', async () => {
      const seen: unknown[] = []
      const foreign = { limit: 99, used: 1, remaining: 98, key: 'theirs' }
      const app = await run({
        instances: { one: { limit: 4, ...minute, headers: 'draft-11' } },
        globalInstances: ['one'],
        routes: [
          {
            path: '/',
            also: [
              {
                ...{ limit: 9, ...minute },
                skip: (request) => {
                  Object.assign(request, { rateLimit: foreign })
                  return true
                }
              }
            ],
            instances: ['one'],
            handler: async ({ request }) => {
              seen.push(request.rateLimit?.remaining, request.rateLimit?.previous)
              await request.rateLimit?.charge(1)
            }
          }
        ]
      })
      expect(header(await app.get(), 'RateLimit')).toBe('"default";r=2;t=60')
      expect(header(await app.get(), 'RateLimit')).toBe('"default";r=0;t=60')
      expect((await app.get()).status).toBe(429)
      expect(seen).toEqual([3, undefined, 1, undefined])
    })

    it('knows what an earlier limiter decided, whatever has replaced `request.rateLimit`', async () => {
      const seen: unknown[] = []
      const foreign = { previous: { tiers: 5 }, origin: null }
      const app = await run({
        global: { name: 'a', limit: 9, ...minute, headers: 'draft-11' },
        routes: [
          {
            path: '/',
            also: [
              {
                ...{ name: 'b', limit: 5, ...minute, headers: 'draft-11' },
                key: (request) => {
                  Object.assign(request, { rateLimit: foreign })
                  return 'k'
                }
              } as Options
            ],
            handler: ({ request }) => {
              seen.push(request.rateLimit?.policy.name, request.rateLimit?.previous?.policy.name)
            }
          }
        ]
      })
      expect(header(await app.get(), 'RateLimit')).toBe('"a";r=8;t=60, "b";r=4;t=60')
      expect(seen).toEqual(['b', 'a'])
    })

    it('an instance on several routes counts them together', async () => {
      const app = await run({
        instances: { one: { limit: 2, ...minute } },
        routes: [{ path: '/a', instances: ['one'] }, { path: '/b', instances: ['one'] }, { path: '/c' }]
      })
      expect(await app.statuses(['/a', '/b', '/a', '/c'].map((path) => ({ path })))).toEqual([
        200, 200, 429, 200
      ])
    })

    it('a limiter beside the route’s is not dropped: both decide', async () => {
      const app = await run({
        routes: [
          {
            path: '/',
            limit: { name: 'own', limit: 3, ...minute },
            also: [{ name: 'beside', limit: 2, ...minute }]
          }
        ]
      })
      expect(await app.statuses([{}, {}, {}])).toEqual([200, 200, 429])
    })

    it('EXP-08: HEAD counts with GET', async () => {
      for (const spec of [
        { global: { limit: 2, ...minute } },
        { routes: [{ path: '/', limit: { limit: 2, ...minute } }] }
      ]) {
        const app = await run(spec)
        const found: unknown[] = []
        for (const method of ['GET', 'HEAD', 'GET', 'HEAD']) {
          const answer = await app.send({ method })
          found.push([answer.status, header(answer, 'RateLimit-Remaining')])
        }
        expect(found).toEqual([
          [200, '1'],
          [200, '0'],
          [429, '0'],
          [429, '0']
        ])
      }
    })

    it('`limit: false` is not limited, beside a global limit', async () => {
      const app = await run({
        global: { limit: 1, ...minute },
        routes: [{ path: '/' }, { path: '/health', limit: false }]
      })
      expect(await app.statuses([{}, {}, ...Array(3).fill({ path: '/health' })])).toEqual([
        200, 429, 200, 200, 200
      ])
      expect(quotaFields(await app.get('/health'))).toEqual([])
    })

    it('CFG-05: a limiter made for each request is warned of, once', async () => {
      const app = await run(framework.buildPerRequest(() => ({ limit: 1, ...minute })))
      await app.statuses([{}, {}, {}])
      expect(await app.warnings('HEADGATE_MADE_PER_REQUEST')).toHaveLength(1)
    })
  })

  describe('holding back', () => {
    const shaping = (more: object): Options =>
      ({ limit: 1, strategy: 'leaky-bucket', now: () => start, ...more }) as Options

    it('what is beyond the rate comes out at the rate, in order; what is beyond the burst is denied', async () => {
      const order: string[] = []
      const app = await run({
        global: shaping({ window: 8, burst: 2 }),
        routes: [{ path: '/:id', handler: ({ request }) => void order.push(request.url!) }]
      })
      await app.get('/warm-up-of-another-address', { 'X-Test-Peer': '203.0.113.1' })
      order.length = 0
      const from = performance.now()
      const times: number[] = []
      const answers = ['/1', '/2', '/3', '/4'].map(async (path, i) => {
        const answer = await app.get(path)
        times[i] = performance.now() - from
        return answer
      })
      const statuses = (await Promise.all(answers)).map((answer) => answer.status)
      expect(statuses.filter((status) => status === 200)).toHaveLength(3)
      expect(order).toHaveLength(3)
      expect(statuses[3]).toBe(429)
      expect(order).toEqual(['/1', '/2', '/3'])
      expect(times[1]).toBeGreaterThanOrEqual(7)
      expect(times[2]).toBeGreaterThanOrEqual(15)
    })

    it('the first `delayAfter` are not held', async () => {
      const app = await run({ global: shaping({ window: '1h', burst: 3, delayAfter: 2 }) })
      expect(await app.statuses([{}, {}, {}])).toEqual([200, 200, 200])
      const held = app.open()
      held.answer.catch(() => {})
      expect(await within(held.answer, 15)).toBe('pending')
      expect((await app.get()).status).toBe(429)
      held.abort()
    })

    it('a client that goes away while it is held leaves no timer, and its handler is not reached', async () => {
      const watch = watchLongTimers()
      let reached = 0
      const app = await run({
        global: shaping({ window: '1h', burst: 1 }),
        routes: [{ path: '/', handler: () => void reached++ }]
      })
      await app.get()
      const held = app.open()
      held.answer.catch(() => {})
      await until(() => watch.running() === 1)
      held.abort()
      await until(() => watch.running() === 0)
      watch.stop()
      expect(reached).toBe(1)
    })

    it('nor does one that was gone already when it came to be held', async () => {
      const ready = gate()
      let asked = 0
      let reached = 0
      const app = await run({
        global: shaping({
          window: '1h',
          burst: 1,
          key: async () => {
            if (asked++ > 0) await ready.promise
            return 'k'
          }
        }),
        routes: [{ path: '/', handler: () => void reached++ }]
      })
      await app.get()
      const held = app.open()
      held.answer.catch(() => {})
      await until(() => asked === 2)
      held.abort()
      // The server learns of the abort from its socket: a moment for that, before timers are watched.
      await new Promise((resolve) => setTimeout(resolve, 10))
      const watch = watchLongTimers()
      ready.open()
      await turns()
      watch.stop()
      expect(watch.running()).toBe(0)
      expect(reached).toBe(1)
    })

    it('§5: a hold of more than 24.8 days is one, not none', async () => {
      let reached = 0
      const overflows: unknown[] = []
      const hear = (warning: Error) => warning.name === 'TimeoutOverflowWarning' && overflows.push(warning)
      process.on('warning', hear)
      const app = await run({
        global: shaping({ window: '30d', burst: 1 }),
        routes: [{ path: '/', handler: () => void reached++ }]
      })
      await app.get()
      const held = app.open()
      held.answer.catch(() => {})
      expect(await within(held.answer, 30)).toBe('pending')
      expect(reached).toBe(1)
      held.abort()
      await turns()
      process.off('warning', hear)
      expect(overflows).toEqual([])
    })
  })

  describe('what stays behind', () => {
    it('MEM-02, MEM-04: requests leave no timers', async () => {
      const app = await run({ global: { limit: 50, ...minute } })
      await app.get()
      await turns()
      const before = timers()
      await app.statuses(Array(100).fill({}))
      await turns()
      expect(timers()).toBeLessThanOrEqual(before)
    })

    it('right use brings no warning', async () => {
      const app = await run({
        global: { limit: 5, ...minute },
        policies: { login: { limit: 2, ...minute } },
        routes: [
          { path: '/', limit: 'login' },
          { path: '/a', limit: { limit: 1, ...minute } },
          { path: '/b', also: [{ limit: 1, ...minute }] }
        ]
      })
      await app.statuses(['/', '/a', '/b', '/c'].map((path) => ({ path })))
      expect(await app.warnings()).toEqual([])
    })
  })
}
