import { describe, expect, it } from 'vitest'
import { admitted, everyStrategy, limiterOn, type MakeStore, s, seconds } from './limiter-on.js'

/** When it counts. */
export function windowCases(name: string, makeStore: MakeStore): void {
  const on = (options: Parameters<typeof limiterOn>[0], store = makeStore()) => limiterOn(options, store)

  describe(`${name}: windows`, () => {
    it('WIN-01: windows longer than 2^31 − 1 ms work', () => {
      const { hit, at, limiter } = on({ limit: 1, window: '365d', align: 'first-request' })
      expect(admitted([hit(0), hit(50)])).toEqual([200, 429])
      expect(hit(50).retryAfterMs).toBe(365 * 86_400 * s - 50)
      at(50)
      limiter.block('B', 1e12)
      expect(hit(1e12 + 49, 'B')).toMatchObject({ allowed: false, retryAfterMs: 1 })
      expect(hit(1e12 + 50, 'B').allowed).toBe(true)
    })

    it('WIN-02: each key has its own window', () => {
      const { hit, hits } = on({ limit: 2, window: '60s', align: 'first-request' })
      hit(0)
      hits(2, 50 * s, 'B')
      expect(admitted([hit(61 * s, 'B'), hit(111 * s, 'B')])).toEqual([429, 200])
    })

    it.each(['clock', 'first-request'] as const)('WIN-03: hits do not extend a window (%s)', (align) => {
      const { hit } = on({ limit: 3, window: '10s', align })
      expect(admitted([hit(0), hit(4 * s), hit(8 * s)])).toEqual([200, 200, 200])
      expect(hit(10_001)).toMatchObject({ allowed: true, remaining: 2 })
    })

    it('WIN-05: the sliding counter weighs the previous window', () => {
      const { hits, hit } = on({ strategy: 'sliding-window', limit: 10, window: '60s' })
      expect(admitted(hits(10, 59 * s))).toEqual(Array(10).fill(200))
      expect(admitted([hit(61 * s), hit(120_100)])).toEqual([429, 200])
    })

    it.each(everyStrategy)('WIN-08: %s admits what remaining says, and no more', (_, extra) => {
      const { at, hits } = on({ ...extra, limit: 100, window: '60s' })
      hits(50, 55 * s)
      hits(10, 65 * s)
      const { remaining } = at(65 * s).peek('A')
      expect(admitted(hits(remaining + 1, 65 * s))).toEqual([...Array(remaining).fill(200), 429])
    })

    it.each([
      ['sliding-log', 10],
      ['sliding-window', 10],
      ['fixed-window', 19]
    ])('WIN-09: no double burst at the edge: %s', (strategy, most) => {
      const { hits } = on({ strategy, limit: 10, window: '60s' })
      const passed = admitted([...hits(9, 59 * s), ...hits(10, 61 * s)]).filter((status) => status === 200)
      expect(passed.length).toBe(most)
    })

    it('WIN-10: refused requests do not prolong the refusal', () => {
      const log = on({ strategy: 'sliding-log', limit: 2, window: '4s' })
      const times = Array.from({ length: 12 }, (_, i) => i * 1001)
      expect(admitted(times.map((ms) => log.hit(ms)))).toEqual(Array(3).fill([200, 200, 429, 429]).flat())
      for (const strategy of ['token-bucket', 'gcra']) {
        const bucket = on({ strategy, limit: 2, window: '4s' })
        const long = Array.from({ length: 4000 }, (_, i) => bucket.hit(i * 1001).allowed)
        const rate = long.filter(Boolean).length / ((4000 * 1001) / 4000)
        expect(rate).toBeGreaterThan(1.99)
        expect(rate).toBeLessThan(2.01)
      }
    })

    it.each(['fixed-window', 'sliding-log'])('WIN-11: refusal ends with the window: %s', (strategy) => {
      const { hit } = on({ strategy, limit: 10, window: '10s' })
      const first = Array.from({ length: 10 }, (_, i) => hit(i * s))
      expect(admitted(first)).toEqual(Array(10).fill(200))
      const denied = hit(9500)
      expect([denied.allowed, seconds(denied)]).toEqual([false, 1])
      expect(hit(10_001).allowed).toBe(true)
    })

    it.each(everyStrategy)('WIN-12: a block applies on first violation and then clears: %s', (_, extra) => {
      const { hit } = on({ ...extra, limit: 1, window: '20s', block: '120s' })
      expect(hit(0).allowed).toBe(true)
      const denied = [hit(1 * s), hit(21 * s), hit(120_900)]
      expect(admitted(denied)).toEqual([429, 429, 429])
      expect(denied.map(seconds)).toEqual([120, 100, 1])
      expect(hit(121_100)).toMatchObject({ allowed: true, limit: 1, remaining: 0 })
      expect(hit(121_100).allowed).toBe(false)
    })

    it.each(everyStrategy)('WIN-15: a clock that steps back locks nobody out: %s', (_, extra) => {
      const { hit, hits } = on({ ...extra, limit: 5, window: '60s' })
      const later = 30 * s
      hit(later)
      const back = later - 3600 * s
      const decisions = hits(5, back)
      expect(admitted(decisions)).toEqual([200, 200, 200, 200, 429])
      expect(seconds(decisions[4]!)).toBeGreaterThanOrEqual(1)
      expect(seconds(decisions[4]!)).toBeLessThanOrEqual(60)
      expect(hit(back + 60 * s).allowed).toBe(true)
    })

    it.each(['token-bucket', 'gcra'])(
      'WIN-19: polling faster than one token still earns tokens: %s',
      (strategy) => {
        const { hit } = on({ strategy, limit: 1, window: '10s' })
        hit(0)
        const passed = Array.from({ length: 30 }, (_, i) => i + 1).filter((n) => hit(n * s).allowed)
        expect(passed).toEqual([10, 20, 30])
      }
    )

    it.each(['token-bucket', 'gcra'])('WIN-20: the wait counts the partly earned token: %s', (strategy) => {
      const { hit } = on({ strategy, limit: 1, window: '1s' })
      hit(0)
      const denied = hit(200)
      expect(denied).toMatchObject({ allowed: false, retryAfterMs: 800 })
      expect(seconds(denied)).toBe(1)
    })

    it('WIN-25: the default permits an immediate burst of L', () => {
      expect(admitted(on({ limit: 60, window: '60s' }).hits(61, 5 * s))).toEqual([
        ...Array(60).fill(200),
        429
      ])
    })

    it.each(everyStrategy)('WIN-26: a peek is read-only: %s', (_, extra) => {
      const { limiter, hits, hit, at } = on({ ...extra, limit: 2, window: '60s' })
      expect(at(s).peek('A')).toMatchObject({ allowed: true, remaining: 2, resetMs: 0 })
      hits(2, s)
      for (let i = 0; i < 5; i++) expect(limiter.peek('A')).toMatchObject({ allowed: false, remaining: 0 })
      const denied = hit(s)
      expect(denied.allowed).toBe(false)
      expect(limiter.peek('A').retryAfterMs).toBe(denied.retryAfterMs)
    })

    it('WIN-26: a peek sees blocks', () => {
      const { limiter, hit, at } = on({ limit: 2, window: '60s', block: '5m' })
      at(0).block('B', '10s')
      expect(limiter.peek('B')).toMatchObject({ allowed: false, remaining: 0, retryAfterMs: 10_000 })
      hit(0, 'A', 2)
      const denied = hit(s)
      expect(denied.retryAfterMs).toBe(300_000)
      expect(limiter.peek('A').retryAfterMs).toBe(300_000)
      expect(at(11 * s).peek('B')).toMatchObject({ allowed: true, remaining: 2 })
    })
  })
}
