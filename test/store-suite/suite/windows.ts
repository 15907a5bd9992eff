import { describe, expect, it } from 'vitest'
import type { MakeStore } from '../clocked-store.js'
import { admitted, everyStrategy, inTurn, s, seconds, suited } from './limiter-on.js'

/** When it counts. */
export function windowCases(name: string, makeStore: MakeStore): void {
  const { on } = suited(makeStore)

  describe(`${name}: windows`, () => {
    it('WIN-01: windows longer than 2^31 − 1 ms work', async () => {
      const { hit, hitsAt, at } = on({ limit: 1, window: '365d', align: 'first-request' })
      expect(admitted(await hitsAt([0, 50]))).toEqual([200, 429])
      expect((await hit(50)).retryAfterMs).toBe(365 * 86_400 * s - 50)
      await at(50).block('B', 1e12)
      expect(await hit(1e12 + 49, 'B')).toMatchObject({ allowed: false, retryAfterMs: 1 })
      expect((await hit(1e12 + 50, 'B')).allowed).toBe(true)
    })

    it('WIN-02: each key has its own window', async () => {
      const { hit, hits, hitsAt } = on({ limit: 2, window: '60s', align: 'first-request' })
      await hit(0)
      await hits(2, 50 * s, 'B')
      expect(admitted(await hitsAt([61 * s, 111 * s], 'B'))).toEqual([429, 200])
    })

    it.each(['clock', 'first-request'] as const)(
      'WIN-03: hits do not extend a window (%s)',
      async (align) => {
        const { hit, hitsAt } = on({ limit: 3, window: '10s', align })
        expect(admitted(await hitsAt([0, 4 * s, 8 * s]))).toEqual([200, 200, 200])
        expect(await hit(10_001)).toMatchObject({ allowed: true, remaining: 2 })
      }
    )

    it('WIN-05: the sliding counter weighs the previous window', async () => {
      const { hits, hitsAt } = on({ strategy: 'sliding-window', limit: 10, window: '60s' })
      expect(admitted(await hits(10, 59 * s))).toEqual(Array(10).fill(200))
      expect(admitted(await hitsAt([61 * s, 120_100]))).toEqual([429, 200])
    })

    it.each(everyStrategy)('WIN-08: %s admits what remaining says, and no more', async (_, extra) => {
      const { at, hits } = on({ ...extra, limit: 100, window: '60s' })
      await hits(50, 55 * s)
      await hits(10, 65 * s)
      const { remaining } = await at(65 * s).peek('A')
      expect(admitted(await hits(remaining + 1, 65 * s))).toEqual([...Array(remaining).fill(200), 429])
    })

    it.each([
      ['sliding-log', 10],
      ['sliding-window', 10],
      ['fixed-window', 19]
    ])('WIN-09: no double burst at the edge: %s', async (strategy, most) => {
      const { hits } = on({ strategy, limit: 10, window: '60s' })
      const decisions = [...(await hits(9, 59 * s)), ...(await hits(10, 61 * s))]
      expect(decisions.filter(({ allowed }) => allowed).length).toBe(most)
    })

    it('WIN-10: refused requests do not prolong the refusal', async () => {
      const log = on({ strategy: 'sliding-log', limit: 2, window: '4s' })
      const times = Array.from({ length: 12 }, (_, i) => i * 1001)
      expect(admitted(await log.hitsAt(times))).toEqual(Array(3).fill([200, 200, 429, 429]).flat())
      for (const strategy of ['token-bucket', 'gcra']) {
        const bucket = on({ strategy, limit: 2, window: '4s' })
        const long = await bucket.hitsAt(Array.from({ length: 4000 }, (_, i) => i * 1001))
        const rate = long.filter(({ allowed }) => allowed).length / ((4000 * 1001) / 4000)
        expect(rate).toBeGreaterThan(1.99)
        expect(rate).toBeLessThan(2.01)
      }
    })

    it.each(['fixed-window', 'sliding-log'])('WIN-11: refusal ends with the window: %s', async (strategy) => {
      const { hit, hitsAt } = on({ strategy, limit: 10, window: '10s' })
      const first = await hitsAt(Array.from({ length: 10 }, (_, i) => i * s))
      expect(admitted(first)).toEqual(Array(10).fill(200))
      const denied = await hit(9500)
      expect([denied.allowed, seconds(denied)]).toEqual([false, 1])
      expect((await hit(10_001)).allowed).toBe(true)
    })

    it.each(everyStrategy)(
      'WIN-12: a block applies on first violation and then clears: %s',
      async (_, extra) => {
        const { hit, hitsAt } = on({ ...extra, limit: 1, window: '20s', block: '120s' })
        expect((await hit(0)).allowed).toBe(true)
        const denied = await hitsAt([1 * s, 21 * s, 120_900])
        expect(admitted(denied)).toEqual([429, 429, 429])
        expect(denied.map(seconds)).toEqual([120, 100, 1])
        expect(await hit(121_100)).toMatchObject({ allowed: true, limit: 1, remaining: 0 })
        expect((await hit(121_100)).allowed).toBe(false)
      }
    )

    it.each(everyStrategy)('WIN-15: a clock that steps back locks nobody out: %s', async (_, extra) => {
      const { hit, hits } = on({ ...extra, limit: 5, window: '60s' })
      const later = 30 * s
      await hit(later)
      const back = later - 3600 * s
      const decisions = await hits(5, back)
      expect(admitted(decisions)).toEqual([200, 200, 200, 200, 429])
      expect(seconds(decisions[4]!)).toBeGreaterThanOrEqual(1)
      expect(seconds(decisions[4]!)).toBeLessThanOrEqual(60)
      expect((await hit(back + 60 * s)).allowed).toBe(true)
    })

    it.each(['token-bucket', 'gcra'])(
      'WIN-19: polling faster than one token still earns tokens: %s',
      async (strategy) => {
        const { hit, hitsAt } = on({ strategy, limit: 1, window: '10s' })
        await hit(0)
        const polls = await hitsAt(Array.from({ length: 30 }, (_, i) => (i + 1) * s))
        const passed = polls.flatMap(({ allowed }, i) => (allowed ? [i + 1] : []))
        expect(passed).toEqual([10, 20, 30])
      }
    )

    it.each(['token-bucket', 'gcra'])(
      'WIN-20: the wait counts the partly earned token: %s',
      async (strategy) => {
        const { hit } = on({ strategy, limit: 1, window: '1s' })
        await hit(0)
        const denied = await hit(200)
        expect(denied).toMatchObject({ allowed: false, retryAfterMs: 800 })
        expect(seconds(denied)).toBe(1)
      }
    )

    it('WIN-25: the default permits an immediate burst of L', async () => {
      const decisions = await on({ limit: 60, window: '60s' }).hits(61, 5 * s)
      expect(admitted(decisions)).toEqual([...Array(60).fill(200), 429])
    })

    it.each(everyStrategy)('WIN-26: a peek is read-only: %s', async (_, extra) => {
      const { limiter, hits, hit, at } = on({ ...extra, limit: 2, window: '60s' })
      expect(await at(s).peek('A')).toMatchObject({ allowed: true, remaining: 2, resetMs: 0 })
      await hits(2, s)
      const looks = await inTurn(Array(5).fill('A'), async (key) => limiter.peek(key))
      for (const look of looks) expect(look).toMatchObject({ allowed: false, remaining: 0 })
      const denied = await hit(s)
      expect(denied.allowed).toBe(false)
      expect((await limiter.peek('A')).retryAfterMs).toBe(denied.retryAfterMs)
    })

    it('WIN-26: a peek sees blocks', async () => {
      const { limiter, hit, at } = on({ limit: 2, window: '60s', block: '5m' })
      await at(0).block('B', '10s')
      expect(await limiter.peek('B')).toMatchObject({ allowed: false, remaining: 0, retryAfterMs: 10_000 })
      await hit(0, 'A', 2)
      const denied = await hit(s)
      expect(denied.retryAfterMs).toBe(300_000)
      expect((await limiter.peek('A')).retryAfterMs).toBe(300_000)
      expect(await at(11 * s).peek('B')).toMatchObject({ allowed: true, remaining: 2 })
    })
  })
}
