import { describe, expect, it } from 'vitest'
import { type Answer, type Ask, header, lines } from '../client.js'
import {
  type CommonRequest,
  type Framework,
  gate,
  type Options,
  servers,
  start,
  turns,
  until
} from '../harness.js'

const hour = { window: '1h', now: () => start } as const
const user = 'header:x-user' as const
const server = () => 'server'

const by = (name: string, more: Record<string, string> = {}): Ask => ({
  headers: { 'x-user': name, ...more }
})

/** What of each policy is left, as headers of draft-11 tell it. */
function left(answer: Answer): Record<string, number> {
  const members = lines(answer, 'RateLimit').flatMap((line) => line.split(', '))
  return Object.fromEntries(
    members.map((member) => {
      const [, name, rest] = /^"([^"]*)";r=(\d+)/.exec(member)!
      return [name!, Number(rest)]
    })
  )
}

/** Limits with keys of their own, and several limiters on one request: a denied request is charged nowhere. */
export function severalKeys(framework: Framework): void {
  const run = servers(framework)
  const limits = (...list: unknown[]) =>
    ({ headers: 'draft-11', now: () => start, limits: list }) as unknown as Options

  describe('limits with keys of their own', () => {
    it('hold each for its key', async () => {
      const app = await run({
        global: limits({ limit: 2, window: '1h', key: user }, { limit: 3, window: '1h', key: server })
      })
      expect(await app.statuses([by('a'), by('a'), by('a'), by('b'), by('b'), by('c')])).toEqual([
        200, 200, 429, 200, 429, 429
      ])
    })

    it('charge a request that one of them denies to nobody', async () => {
      const app = await run({
        global: limits(
          { name: 'each', limit: 1, window: '1h', key: user },
          { name: 'all', limit: 9, window: '1h', key: server }
        )
      })
      await app.get('/', by('a').headers)
      for (let i = 0; i < 5; i++) {
        const denied = await app.send(by('a'))
        expect(denied.status).toBe(429)
        expect(left(denied)).toEqual({ each: 0, all: 8 })
        expect(Number(header(denied, 'Retry-After'))).toBeGreaterThan(3000)
      }
      expect(left(await app.send(by('b')))).toEqual({ each: 0, all: 7 })
    })

    it('charge nothing where a later one denies, either', async () => {
      const app = await run({
        global: limits(
          { name: 'each', limit: 5, window: '1h', key: user },
          { name: 'all', limit: 1, window: '1h', key: server }
        )
      })
      await app.send(by('a'))
      expect(left(await app.send(by('b')))).toEqual({ each: 5, all: 0 })
    })

    it('name in the body those that deny', async () => {
      const app = await run({
        global: limits(
          { name: 'each', limit: 1, window: '1h', key: user },
          { name: 'all', limit: 9, window: '1h', key: server }
        )
      })
      await app.send(by('a'))
      const denied = await app.send(by('a', { accept: 'application/problem+json' }))
      expect(JSON.parse(denied.body)).toMatchObject({ 'violated-policies': ['each'] })
    })

    it('take each its own cost', async () => {
      const cost = ({ headers }: CommonRequest) => Number(headers['x-points'])
      const app = await run({
        global: limits(
          { name: 'requests', limit: 3, window: '1h', key: server },
          { name: 'points', limit: 10, window: '1h', key: server, cost }
        )
      })
      const asking = (points: number) => by('a', { 'x-points': String(points) })
      expect(left(await app.send(asking(4)))).toEqual({ requests: 2, points: 6 })
      expect(left(await app.send(asking(7)))).toEqual({ requests: 2, points: 6 })
      expect(left(await app.send(asking(6)))).toEqual({ requests: 1, points: 0 })
      expect(left(await app.send(asking(0)))).toEqual({ requests: 0, points: 0 })
      expect((await app.send(asking(0))).status).toBe(429)
    })

    it('wait for keys and costs that come late', async () => {
      const app = await run({
        global: limits(
          {
            name: 'each',
            limit: 1,
            window: '1h',
            key: async ({ headers }: CommonRequest) => headers['x-user']!
          },
          { name: 'all', limit: 9, window: '1h', key: server, cost: async () => 4 }
        )
      })
      expect(await app.statuses([by('a'), by('a'), by('b'), by('c')])).toEqual([200, 429, 200, 429])
    })

    it('hold beside computed limits, of other windows', async () => {
      const limit = ({ headers }: CommonRequest) => Number(headers['x-limit'])
      const app = await run({
        global: limits(
          { name: 'each', limit, window: '1h', key: user },
          { name: 'all', limit: 3, window: '1d', key: server }
        )
      })
      const of = (name: string, most: number) => by(name, { 'x-limit': String(most) })
      expect(
        await app.statuses([of('a', 1), of('a', 1), of('a', 2), of('b', 0), of('b', 9), of('b', 9)])
      ).toEqual([200, 429, 200, 429, 200, 429])
    })

    it('count what is in flight beside windows, and give it back where a window denies', async () => {
      const held: ReturnType<typeof gate<void>>[] = []
      const app = await run({
        instances: {
          one: limits(
            { name: 'each', limit: 2, window: '1h', key: user },
            { name: 'busy', concurrency: 2, key: server }
          )
        },
        routes: [
          {
            path: '/',
            instances: ['one'],
            handler: async () => {
              const one = gate<void>()
              held.push(one)
              await one.promise
            }
          }
        ]
      })
      const [first, second] = [app.send(by('a')), app.send(by('a'))]
      await until(() => held.length === 2)
      expect((await app.send(by('b'))).status).toBe(429)
      held[0]!.open()
      await first
      // A window denies: the permit is free again.
      expect((await app.send(by('a'))).status).toBe(429)
      const third = app.send(by('b'))
      await until(() => held.length === 3)
      for (const one of held) one.open()
      expect([(await second).status, (await third).status]).toEqual([200, 200])
      expect(left(await third)).toMatchObject({ each: 1 })
      await turns()
    })

    it('are given back all by `refund`, and charged all by `charge`', async () => {
      const app = await run({
        global: limits(
          { name: 'each', limit: 5, window: '1h', key: user },
          { name: 'all', limit: 9, window: '1h', key: server, cost: 2 }
        ),
        after: [
          ({ request }) => {
            if (request.headers['x-back'] !== undefined) void request.rateLimit!.refund()
          }
        ]
      })
      await app.send(by('a', { 'x-back': '1' }))
      await turns()
      expect(left(await app.send(by('a')))).toEqual({ each: 4, all: 7 })
    })

    it('ban the keys that deny, and no others', async () => {
      const app = await run({
        instances: {
          one: {
            ...limits(
              { name: 'each', limit: 1, window: '1h', key: user },
              { name: 'all', limit: 9, window: '1h', key: server }
            ),
            ban: { after: 2, within: '1h', for: '1d' }
          } as never
        },
        routes: [{ path: '/', instances: ['one'] }]
      })
      expect(await app.statuses([by('a'), by('a'), by('b')])).toEqual([200, 429, 200])
      const banned = await app.send(by('a', { accept: 'application/problem+json' }))
      expect(Number(header(banned, 'Retry-After'))).toBe(86_400)
      expect(JSON.parse(banned.body)).toMatchObject({
        type: expect.stringContaining('abnormal-usage-detected')
      })
      expect((await app.limiters.one!.bans()).bans.map(({ key }) => key)).toEqual(['a'])
      expect(await app.limiters.one!.reset({ header: 'a' })).toBe(true)
      expect(await app.statuses([by('a')])).toEqual([200])
      expect(await app.limiters.one!.penalty({ header: 'c' }, 1)).toMatchObject({ limit: 1, remaining: 0 })
      expect(await app.limiters.one!.reward({ header: 'c' }, 1)).toMatchObject({ limit: 1, remaining: 1 })
    })

    it.each([{ ban: { after: 1, for: '1d' } }, { block: '1d' }])(
      'have nobody pay for what another did under a key that both share: %j',
      async (settings) => {
        const app = await run({
          instances: {
            one: {
              ...limits(
                { name: 'each', limit: 9, window: '1h', key: user },
                { name: 'all', limit: 2, window: '1h', key: server }
              ),
              ...settings
            } as never
          },
          routes: [{ path: '/', instances: ['one'] }]
        })
        await app.statuses([by('a'), by('a'), by('a'), by('a')])
        const denied = await app.send(by('b'))
        expect(denied.status).toBe(429)
        expect(Number(header(denied, 'Retry-After'))).toBeLessThanOrEqual(3600)
        expect((await app.limiters.one!.bans()).bans).toEqual([])
      }
    )

    it.each([-1, 1.5, '3', undefined, null, Number.NaN])(
      'charge nothing, and take nothing in flight, for a cost that is none: %s',
      async (cost) => {
        const held: ReturnType<typeof gate<void>>[] = []
        const app = await run({
          instances: {
            one: limits(
              { name: 'busy', concurrency: 1, key: server },
              { name: 'each', limit: 2, window: '1h', key: user },
              { name: 'odd', limit: 9, window: '1h', key: server, cost: () => cost }
            ),
            sound: limits({ limit: 9, window: '1h' })
          },
          collectErrors: true,
          routes: [{ path: '/', instances: ['one'], handler: () => void held.push(gate<void>()) }]
        })
        expect(await app.statuses([by('a'), by('a'), by('a'), by('a')])).toEqual([500, 500, 500, 500])
        const { tiers } = await app.limiters.one!.peek({ header: 'a' })
        expect(tiers.map(({ remaining }) => remaining)).toEqual([2])
        expect(held).toEqual([])
      }
    )

    it('tell the wait of what was charged for a denial, where that is asked for', async () => {
      const app = await run({
        global: {
          ...limits(
            { name: 'all', limit: 1, window: '1h', strategy: 'sliding-log', key: server },
            { name: 'each', limit: 1, window: '1d', strategy: 'sliding-log', key: user }
          ),
          countDenied: true
        } as never
      })
      await app.send(by('a'))
      // The denial has taken what the day of this user had.
      expect(Number(header(await app.send(by('b')), 'Retry-After'))).toBeGreaterThan(86_000)
    })

    it('are looked up, reset and blocked by hand by what is known of somebody', async () => {
      const app = await run({
        instances: {
          one: limits(
            { name: 'address', limit: 3, window: '1h' },
            { name: 'account', limit: 2, window: '1h', key: user },
            { name: 'all', limit: 9, window: '1h', key: server }
          )
        },
        routes: [{ path: '/', instances: ['one'] }]
      })
      const limiter = app.limiters.one!
      expect(limiter.policies.map(({ name }) => name)).toEqual(['address', 'account', 'all'])
      await app.send(by('a'))
      expect(await limiter.peek({ header: 'a' })).toMatchObject({ limit: 2, remaining: 1 })
      expect(await limiter.peek({ ip: '127.0.0.1' })).toMatchObject({ remaining: 2 })
      expect(await limiter.reset({ header: 'a' })).toBe(true)
      expect(await limiter.reset({ header: 'a' })).toBe(false)
      expect(await limiter.peek({ header: 'a' })).toMatchObject({ remaining: 2 })
      await limiter.block({ header: 'a' }, '1h')
      expect(await app.statuses([by('a'), by('b')])).toEqual([429, 200])
      await limiter.clear()
      expect(await app.statuses([by('a')])).toEqual([200])
    })
  })

  describe('a limit that is only watched', () => {
    it('tells of what it would have denied, and no client of itself', async () => {
      const told: unknown[] = []
      const app = await run({
        global: limits(
          { name: 'real', limit: 3, window: '1h', key: server },
          {
            name: 'tried',
            limit: 1,
            window: '1h',
            key: user,
            shadow: (_request: unknown, { policy }: { policy: { name: string } }) => told.push(policy.name)
          }
        )
      })
      const [first, second] = [await app.send(by('a')), await app.send(by('a'))]
      expect([left(first), left(second)]).toEqual([{ real: 2 }, { real: 1 }])
      expect(told).toEqual(['tried'])
    })

    it('knows its clients also where the others do not ask for them', async () => {
      const told: string[] = []
      const app = await run({
        global: limits(
          { name: 'real', limit: 9, window: '1h', key: server },
          {
            limit: 1,
            window: '1h',
            key: 'ip',
            shadow: (_request: unknown, { key }: { key: string }) => told.push(key)
          }
        )
      })
      await app.statuses([by('a'), by('a')])
      expect(told).toEqual(['127.0.0.1'])
    })

    it('is charged nothing for what the others deny', async () => {
      const told: unknown[] = []
      const app = await run({
        global: limits(
          { name: 'real', limit: 1, window: '1h', key: user },
          { name: 'tried', limit: 3, window: '1h', key: server, shadow: () => told.push(1) }
        )
      })
      expect(await app.statuses([by('a'), by('a'), by('a'), by('a'), by('b'), by('c')])).toEqual([
        200, 429, 429, 429, 200, 200
      ])
      expect(told).toEqual([])
      await app.send(by('d'))
      expect(told).toEqual([1])
    })
  })

  describe('two limiters on one request', () => {
    const first = { name: 'first', limit: 5, ...hour, key: server, headers: 'draft-11' }
    const second = { name: 'second', limit: 1, ...hour, key: user, headers: 'draft-11' }

    it('charge nobody for what the second denies', async () => {
      const app = await run({
        instances: { first, second } as never,
        routes: [{ path: '/', instances: ['first', 'second'] }]
      })
      await app.send(by('a'))
      for (let i = 0; i < 3; i++) expect(left(await app.send(by('a')))).toEqual({ first: 4, second: 0 })
      expect(left(await app.send(by('b')))).toEqual({ first: 3, second: 0 })
    })

    it('charge nobody for an address that the second refuses', async () => {
      const app = await run({
        instances: { first, second: { ...second, deny: ['127.0.0.1'] } } as never,
        routes: [{ path: '/', instances: ['first', 'second'] }]
      })
      expect(await app.statuses([by('a'), by('a')])).toEqual([403, 403])
      expect(await app.limiters.first!.peek('server')).toMatchObject({ remaining: 5 })
    })

    it('give back all that was charged meanwhile', async () => {
      const app = await run({
        instances: { first: { ...first, cost: 2 }, second } as never,
        routes: [{ path: '/', instances: ['first', 'second'] }]
      })
      await app.send(by('a'))
      await app.send(by('a'))
      expect(await app.limiters.first!.peek('server')).toMatchObject({ remaining: 3 })
    })

    it('charge a first that counts what is denied, and tell the longest wait of both', async () => {
      const app = await run({
        instances: {
          first: { ...first, limit: 2, window: '1d', strategy: 'sliding-window', countDenied: true },
          second
        } as never,
        routes: [{ path: '/', instances: ['first', 'second'] }]
      })
      await app.send(by('a'))
      const denied = await app.send(by('a'))
      expect(left(denied)).toEqual({ first: 0, second: 0 })
      // The hour of the second is no help: the first has nothing left.
      expect(Number(header(denied, 'Retry-After'))).toBeGreaterThan(3600)
    })
  })
}
