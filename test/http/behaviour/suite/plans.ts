import { describe, expect, it } from 'vitest'
import { type Ask, header } from '../client.js'
import { type CommonRequest, type Framework, type Options, servers, start } from '../harness.js'

const planOf = ({ headers }: CommonRequest) => headers['x-plan'] as string | undefined
const as = (plan: string | undefined, user = 'u'): Ask => ({
  headers: { 'x-user': user, ...(plan === undefined ? {} : { 'x-plan': plan }) }
})
const base = { plan: planOf, key: 'header:x-user', headers: 'draft-11', now: () => start } as const

/** Limits by the plan that a request has. */
export function plans(framework: Framework): void {
  const run = servers(framework)
  const serve = (options: object) =>
    run({
      instances: { one: { ...base, ...options } as unknown as Options },
      routes: [{ path: '/', instances: ['one'] }],
      collectErrors: true
    })

  describe('plans', () => {
    it('allow each what it says', async () => {
      const app = await serve({
        plans: {
          free: { limit: 1, window: '1h' },
          pro: {
            limits: [
              { limit: 2, window: '1h' },
              { limit: 3, window: '1d' }
            ]
          },
          none: { limit: 0, window: '1h' },
          all: { limit: Number.POSITIVE_INFINITY, window: '1h' }
        }
      })
      const of = (plan: string, times: number) => Array(times).fill(as(plan, plan))
      expect(await app.statuses(of('free', 2))).toEqual([200, 429])
      expect(await app.statuses(of('pro', 3))).toEqual([200, 200, 429])
      expect(await app.statuses(of('none', 1))).toEqual([429])
      expect(await app.statuses(of('all', 9))).toEqual(Array(9).fill(200))
    })

    it('name their policy after themselves', async () => {
      const app = await serve({ plans: { free: { limit: 9, window: '1h' } } })
      expect(header(await app.send(as('free')), 'RateLimit-Policy')).toBe('"free";q=9;w=3600')
    })

    it('keep what a key has used where they count alike, whatever the limits are', async () => {
      const app = await serve({
        plans: {
          free: { limit: 2, window: '1h' },
          pro: { limit: 5, window: 3_600_000 },
          none: { limit: 0, window: '1h' }
        }
      })
      expect(await app.statuses([as('free'), as('free'), as('free')])).toEqual([200, 200, 429])
      expect(header(await app.send(as('pro')), 'RateLimit')).toMatch(/^"pro";r=2;t=\d+$/)
      expect(await app.statuses([as('none'), as('free'), as('pro'), as('pro'), as('pro')])).toEqual([
        429, 429, 200, 200, 429
      ])
    })

    it('keep it also where bursts differ', async () => {
      const app = await serve({
        plans: {
          free: { limit: 1, window: '1h', strategy: 'token-bucket', burst: 2 },
          pro: { limit: 1, window: '1h', strategy: 'token-bucket', burst: 4 },
          plain: { limit: 1, window: '1h', strategy: 'token-bucket' }
        }
      })
      expect(await app.statuses([as('free'), as('free'), as('free')])).toEqual([200, 200, 429])
      expect(await app.statuses([as('pro'), as('pro'), as('pro'), as('plain')])).toEqual([200, 200, 429, 429])
    })

    it('start fresh where they count by another window or strategy', async () => {
      const app = await serve({
        plans: {
          free: { limit: 1, window: '1h' },
          daily: { limit: 1, window: '1d' },
          smooth: { limit: 1, window: '1h', strategy: 'gcra' }
        }
      })
      const all = [as('free'), as('daily'), as('smooth')]
      expect(await app.statuses([...all, ...all])).toEqual([200, 200, 200, 429, 429, 429])
    })

    it('may come late, and by default', async () => {
      const app = await serve({
        plan: async (request: CommonRequest) => planOf(request),
        defaultPlan: 'free',
        plans: { free: { limit: 1, window: '1h' }, pro: { limit: 2, window: '1h' } }
      })
      expect(await app.statuses([as(undefined), as(undefined), as('pro'), as('pro')])).toEqual([
        200, 429, 200, 429
      ])
    })

    it('have limits of their own keys, costs and functions', async () => {
      const app = await serve({
        plans: {
          free: {
            limits: [
              { limit: 2, window: '1h' },
              { limit: 3, window: '1h', key: () => 'all', cost: 2 }
            ]
          },
          pro: { limit: ({ headers }: CommonRequest) => Number(headers['x-seats'] ?? 1), window: '1h' }
        }
      })
      expect(await app.statuses([as('free'), as('free', 'v'), as('pro'), as('pro')])).toEqual([
        200, 429, 200, 429
      ])
    })

    it('that are not known are an error with the near name, and are not served', async () => {
      const app = await serve({ plans: { free: { limit: 1, window: '1h' } } })
      expect(await app.statuses([as('fre'), as('constructor'), as(undefined)])).toEqual([500, 500, 500])
      expect(app.errors).toEqual([
        expect.objectContaining({
          code: 'HEADGATE_UNKNOWN_PLAN',
          message: expect.stringContaining("did you mean 'free'?")
        }),
        expect.objectContaining({
          code: 'HEADGATE_UNKNOWN_PLAN',
          message: expect.stringContaining('known are free')
        }),
        expect.objectContaining({
          code: 'HEADGATE_UNKNOWN_PLAN',
          message: expect.stringContaining('defaultPlan')
        })
      ])
    })

    it('are looked up by hand once a key has had one', async () => {
      const app = await serve({
        plans: { free: { limit: 5, window: '1h' }, pro: { limit: 9, window: '1h' } }
      })
      await app.send(as('pro', 'ada'))
      expect(await app.limiters.one!.peek({ header: 'ada' })).toMatchObject({ limit: 9, remaining: 8 })
      expect(await app.limiters.one!.reset({ header: 'ada' })).toBe(true)
    })
  })

  describe('a computed burst', () => {
    it('holds for its request', async () => {
      const burst = ({ headers }: CommonRequest) => Number(headers['x-burst'])
      const app = await run({
        global: {
          limit: 1,
          window: '1h',
          strategy: 'token-bucket',
          burst,
          now: () => start
        } as unknown as Options,
        collectErrors: true
      })
      const with_ = (value: string): Ask => ({ headers: { 'x-burst': value } })
      expect(
        await app.statuses([with_('2'), with_('2'), with_('2'), with_('4'), with_('4'), with_('4')])
      ).toEqual([200, 200, 429, 200, 200, 429])
      expect(await app.statuses([with_('0'), with_('x')])).toEqual([500, 500])
      expect(app.errors[0]).toMatchObject({ code: 'HEADGATE_BAD_LIMIT' })
    })
  })
}
