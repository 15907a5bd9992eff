import { describe, expect, it } from 'vitest'
import type { AsyncLimiter, Permit } from '../../src/index.js'
import { clockedStore, limiterIn, type MakeStore, type Suited, takeUnder } from './clocked-store.js'

const start = 1_700_000_000_000

/** What stores outside the process do about policies that count what is in flight. */
export function permitSuite(name: string, makeStore: MakeStore): void {
  const made = (options: Suited) => {
    const place = clockedStore(makeStore, start)
    const limiter = limiterIn(place, options) as unknown as AsyncLimiter
    const another = () => limiterIn(place, options) as unknown as AsyncLimiter
    return { ...place, limiter, another }
  }
  const freed = async (limiter: AsyncLimiter, key: string) => (await limiter.peek(key)).remaining

  describe(`${name}: what is in flight`, () => {
    it('is admitted up to the limit, and again once it is released', async () => {
      const { limiter } = made({ concurrency: 2 })
      const first = await limiter.acquire('a')
      expect({ ...first }).toEqual({
        ...{ allowed: true, limit: 2, remaining: 1, retryAfterMs: 0, resetMs: Number.NaN }
      })
      expect(first.source).toBe('store')
      expect(await limiter.acquire('a')).toMatchObject({ allowed: true, remaining: 0 })
      const denied = await limiter.acquire('a')
      expect(denied).toMatchObject({ allowed: false, remaining: 0, isEstimate: true })
      denied.release()
      expect((await limiter.acquire('b')).allowed).toBe(true)
      first.release()
      first.release()
      expect(await limiter.peek('a')).toMatchObject({ allowed: true, remaining: 1 })
      expect((await limiter.acquire('a')).allowed).toBe(true)
      expect((await limiter.acquire('a')).allowed).toBe(false)
      expect((await limiter.acquire('a', 0)).allowed).toBe(true)
    })

    it('takes as many permits as it costs, all or none', async () => {
      const { limiter } = made({ concurrency: 5 })
      const three = await limiter.acquire('a', 3)
      expect(three.remaining).toBe(2)
      expect(await limiter.acquire('a', 3)).toMatchObject({ allowed: false, remaining: 2 })
      expect(await limiter.acquire('a', 6)).toMatchObject({
        ...{ allowed: false, retryAfterMs: Number.POSITIVE_INFINITY, isEstimate: false }
      })
      expect((await limiter.acquire('a', 2)).allowed).toBe(true)
      three.release()
      expect(await freed(limiter, 'a')).toBe(3)
    })

    it('beside windows takes all or nothing', async () => {
      const { limiter, clock } = made({
        limits: [{ limit: 3, window: '1m' }, { concurrency: 2 }, { limit: 100, window: '1h' }]
      })
      const held = [await limiter.acquire('a'), await limiter.acquire('a')]
      const denied = await limiter.acquire('a')
      expect(denied).toMatchObject({ allowed: false, limit: 2, remaining: 0 })
      expect(denied.tiers.map(({ allowed, remaining }) => [allowed, remaining])).toEqual([
        ...[
          [true, 1],
          [false, 0],
          [true, 98]
        ]
      ])
      for (const permit of held) permit.release()
      const third = await limiter.acquire('a')
      expect(third.allowed).toBe(true)
      const fourth = await limiter.acquire('a')
      expect(fourth).toMatchObject({ allowed: false, isEstimate: false })
      expect(fourth.retryAfterMs).toBe(60_000 - (clock.time % 60_000))
      expect((await limiter.peek('a')).tiers[1]).toMatchObject({ remaining: 1 })
      third.release()
      expect((await limiter.peek('a')).tiers[1]).toMatchObject({ remaining: 2 })
    })

    it('is blocked by hand; a reset lifts that, and leaves in flight what is', async () => {
      const { limiter } = made({ concurrency: 2 })
      const permit = await limiter.acquire('a')
      await limiter.block('a', '1m')
      expect(await limiter.acquire('a')).toMatchObject({
        ...{ allowed: false, retryAfterMs: 60_000, remaining: 0, resetMs: 60_000 }
      })
      await limiter.reset('a')
      expect(await freed(limiter, 'a')).toBe(1)
      permit.release()
      expect(await freed(limiter, 'a')).toBe(2)
    })

    it('is blocked for what a window denies, not for a lack of permits', async () => {
      const { limiter } = made({ limits: [{ concurrency: 1 }, { limit: 2, window: '1m' }], block: '5m' })
      const first = await limiter.acquire('a')
      expect((await limiter.acquire('a')).isEstimate).toBe(true)
      first.release()
      ;(await limiter.acquire('a')).release()
      expect(await limiter.acquire('a')).toMatchObject({ allowed: false, retryAfterMs: 300_000 })
      expect((await limiter.peek('a')).retryAfterMs).toBe(300_000)
    })

    it('charges windows for what is denied, if asked to', async () => {
      const limits = [{ concurrency: 1 }, { limit: 10, window: '1m' }]
      const { limiter } = made({ limits, countDenied: true })
      await limiter.acquire('a')
      expect(await limiter.acquire('a')).toMatchObject({ allowed: false })
      expect((await limiter.peek('a')).tiers.map(({ remaining }) => remaining)).toEqual([0, 8])
    })

    it('gives back what windows were charged, and keeps what is in flight', async () => {
      const { limiter } = made({ limits: [{ limit: 10, window: '1m' }, { concurrency: 3 }] })
      const permit = await limiter.acquire('a', 3)
      await limiter.refund('a', 2)
      expect((await limiter.peek('a')).tiers.map(({ remaining }) => remaining)).toEqual([9, 0])
      await limiter.clear()
      expect((await limiter.peek('a')).tiers[0]!.remaining).toBe(10)
      permit.release()
      expect((await limiter.peek('a')).tiers.map(({ remaining }) => remaining)).toEqual([10, 3])
    })

    it('goes by limits that are computed', async () => {
      const { limiter } = made({ limits: [{ limit: 10, window: '1m' }, { concurrency: 3 }] })
      const own = limiter as never
      const take = async (limit: unknown) => (await takeUnder(own, [undefined, limit], 'a', 1)).decision
      expect(await take(2)).toMatchObject({ allowed: true, limit: 2, remaining: 1 })
      expect((await take(1)).allowed).toBe(false)
      expect((await take(0)).retryAfterMs).toBe(Number.POSITIVE_INFINITY)
      expect((await take(Number.POSITIVE_INFINITY)).allowed).toBe(true)
      expect((await limiter.peek('a')).tiers[1]!.remaining).toBe(1)
    })

    it('holds for all limiters of one name', async () => {
      const { limiter, another } = made({ name: 'jobs', concurrency: 1 })
      const permit = await limiter.acquire('a')
      expect((await another().acquire('a')).allowed).toBe(false)
      permit.release()
      expect((await another().acquire('a')).allowed).toBe(true)
    })

    it('waits in order of arrival', async () => {
      const { limiter } = made({ concurrency: 1, queue: 2, maxWait: '1m' })
      const first = await limiter.acquire('a')
      const order: number[] = []
      const waiting = [1, 2].map((place) =>
        limiter.acquire('a').then((permit) => {
          order.push(place)
          return permit
        })
      )
      first.release()
      ;((await waiting[0]) as Permit).release()
      expect((await waiting[1])!.allowed).toBe(true)
      expect(order).toEqual([1, 2])
    })

    it('never exceeds the limit, and loses nothing', async () => {
      const { limiter } = made({ concurrency: 7 })
      let [out, most, admitted] = [0, 0, 0]
      const work = async (i: number) => {
        const cost = 1 + (i % 3)
        const permit = await limiter.acquire('a', cost)
        if (!permit.allowed) return
        admitted++
        out += cost
        most = Math.max(most, out)
        for (let turns = i % 5; turns > 0; turns--) await limiter.peek('b')
        out -= cost
        permit.release()
      }
      const lines = Array.from({ length: 12 }, async (_, line) => {
        for (let i = 0; i < 20; i++) await work(line * 31 + i * 7)
      })
      await Promise.all(lines)
      expect(most).toBeLessThanOrEqual(7)
      expect(admitted).toBeGreaterThan(20)
      expect(await freed(limiter, 'a')).toBe(7)
    })
  })
}
