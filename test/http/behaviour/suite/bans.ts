import { describe, expect, it } from 'vitest'
import type { BansPage } from '../../../../src/core/bans/listing.js'
import { type Answer, type Ask, header } from '../client.js'
import { type Framework, manualClock, type Options, peerField, servers } from '../harness.js'

const minute = 60_000
const hour = 60 * minute

const from = (address: string, headers: Record<string, string> = {}): Ask => ({
  headers: { [peerField]: address, ...headers }
})

const waitsOf = (answers: readonly Answer[]) => answers.map((answer) => header(answer, 'Retry-After'))

/** Who is banned, what it is told, and what is seen of it by hand. */
export function bans(framework: Framework): void {
  const run = servers(framework)
  const start = async (options: Partial<Options> = {}) => {
    const clock = manualClock()
    const one = {
      limit: 1,
      window: '1m',
      ban: { after: 2, within: '10m', for: '1h', growth: 2 },
      now: clock.read,
      ...options
    } as Options
    const handler = ({ request, send }: { request: { headers: object }; send(status: number): void }) =>
      send('x-wrong' in request.headers ? 401 : 200)
    const app = await run({
      instances: { one },
      globalInstances: ['one'],
      routes: [{ path: '/', handler: handler as never }]
    })
    const send = async (count: number, ask: Ask = from('203.0.113.7')) => {
      const answers: Answer[] = []
      for (let i = 0; i < count; i++) answers.push(await app.send(ask))
      return answers
    }
    return { clock, limiter: app.limiters.one!, send }
  }

  describe('a ban', () => {
    it('begins with the last of so many denials, is told as abnormal usage, and ends', async () => {
      const { clock, send } = await start()
      const ask = from('203.0.113.7', { Accept: 'application/problem+json' })
      const answers = await send(4, ask)
      expect(waitsOf(answers)).toEqual([undefined, '60', '3600', '3600'])
      const types = answers.slice(1).map(({ body }) => JSON.parse(body).type.split('#')[1])
      expect(types).toEqual(['quota-exceeded', 'abnormal-usage-detected', 'abnormal-usage-detected'])
      clock.pass(hour - 1000)
      expect(waitsOf(await send(1, ask))).toEqual(['1'])
      clock.pass(1000)
      expect(waitsOf(await send(3, ask))).toEqual([undefined, '60', '7200'])
    })

    it('is of one client alone', async () => {
      const { send } = await start()
      await send(4)
      expect((await send(1, from('203.0.113.8'))).map(({ status }) => status)).toEqual([200])
    })

    it('comes of failures alone, where they alone count', async () => {
      const { clock, send } = await start({ limit: 2, countOnly: 'failures' } as never)
      const wrong = from('203.0.113.7', { 'X-Wrong': '1' })
      const statuses = async (count: number, ask?: Ask) =>
        (await send(count, ask)).map(({ status }) => status)
      expect(await statuses(10)).toEqual(Array(10).fill(200))
      expect(await statuses(3, wrong)).toEqual([401, 401, 429])
      expect(waitsOf(await send(2))).toEqual(['3600', '3600'])
      clock.pass(hour)
      expect(await statuses(5)).toEqual(Array(5).fill(200))
    })

    it('is only tried where the limiter is', async () => {
      const { send, limiter } = await start({ shadow: true })
      expect((await send(6)).map(({ status }) => status)).toEqual(Array(6).fill(200))
      expect((await limiter.bans()).bans).toHaveLength(1)
    })
  })

  describe('by hand', () => {
    it('bans are listed, and lifted by what the list calls them', async () => {
      const { limiter, send } = await start()
      await send(3)
      await limiter.block({ ip: '2001:db8::1' }, '2h')
      const { bans: found, next } = await limiter.bans()
      expect([...found].sort((a, b) => a.remainingMs - b.remainingMs)).toEqual([
        { key: '203.0.113.7', remainingMs: hour },
        { key: '2001:db8::/56', remainingMs: 2 * hour }
      ])
      expect(next).toBeNull()
      expect(await limiter.reset('203.0.113.7')).toBe(true)
      expect((await limiter.bans({ limit: 1000 })).bans).toHaveLength(1)
      expect(waitsOf(await send(3))).toEqual([undefined, '60', '3600'])
      await limiter.clear()
      expect(await limiter.bans()).toEqual({ bans: [], next: null })
      await expect((async () => limiter.bans({ after: 'x' }))()).rejects.toMatchObject({
        code: 'HEADGATE_BAD_OPTION'
      })
    })

    it('a penalty charges a client, and a reward gives back', async () => {
      const { limiter, send } = await start({ limit: 10, ban: undefined } as never)
      const who = { ip: '203.0.113.7' }
      expect(await limiter.penalty(who, 9)).toMatchObject({ remaining: 1 })
      expect((await send(2)).map(({ status }) => status)).toEqual([200, 429])
      expect(await limiter.reward(who, 100)).toMatchObject({ remaining: 10 })
      expect(await limiter.penalty(who, 20)).toMatchObject({ allowed: false, retryAfterMs: 2 * minute })
      expect(waitsOf(await send(1))).toEqual(['120'])
    })
  })

  describe('windows that are computed', () => {
    it('list the bans of each, and take penalties by what is known', async () => {
      const { limiter, send } = await start({
        window: ({ headers }) => (headers['x-plan'] === 'paid' ? '1m' : '1h')
      })
      await send(3)
      await send(3, from('203.0.113.7', { 'X-Plan': 'paid' }))
      const keys: string[] = []
      let after: string | null = null
      do {
        const page: BansPage = await limiter.bans({ after, limit: 1 })
        keys.push(...page.bans.map(({ key }) => key))
        after = page.next
      } while (after !== null)
      expect(keys).toEqual(['203.0.113.7', '203.0.113.7'])
      await limiter.reset('203.0.113.7')
      expect(await limiter.penalty('203.0.113.7', 1)).toMatchObject({ remaining: 0 })
    })
  })
}
