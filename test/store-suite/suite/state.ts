import { describe, expect, it } from 'vitest'
import { modelOf } from '../../support/models.js'
import { decide } from '../../support/reference.js'
import { plain } from '../../support/traces.js'
import type { MakeStore } from '../clocked-store.js'
import { admitted, everyStrategy, s, suited, T } from './limiter-on.js'

/** Whose state it is, and how long it lives. */
export function stateCases(name: string, makeStore: MakeStore): void {
  const { fresh, on } = suited(makeStore)

  describe(`${name}: state`, () => {
    it('STO-02: a refund on a vanished counter is a no-op', async () => {
      const { at, hit, hits, limiter } = on({ limit: 2, window: 300 })
      await hit(0)
      await at(500).refund('A', 1, T)
      expect(await limiter.peek('A')).toMatchObject({ remaining: 2, resetMs: 0 })
      if ('size' in limiter) expect(limiter.size()).toBe(0)
      expect(admitted(await hits(3, 500))).toEqual([200, 200, 429])
    })

    it('STO-12: two limiters on one store share nothing', async () => {
      const store = fresh()
      const [a, b] = [on({ limit: 10, window: '30d' }, store), on({ limit: 5, window: '1h' }, store)]
      expect((await a.hit(0)).remaining).toBe(9)
      expect(admitted(await b.hits(6, 0))).toEqual([200, 200, 200, 200, 200, 429])
      expect((await b.hit(0)).resetMs).toBeLessThanOrEqual(3600 * s)
      const { remaining, resetMs } = await a.at(0).peek('A')
      expect(remaining).toBe(9)
      expect(resetMs).toBeGreaterThan(3600 * s)
    })

    it('STO-12: a name that is taken by another rule fails at construction', () => {
      const store = fresh()
      on({ name: 'login', limit: 5, window: '1h' }, store)
      for (const other of [
        { limit: 6 },
        { window: '2h' },
        { strategy: 'gcra' },
        { align: 'first-request' as const }
      ])
        expect(() => on({ name: 'login', limit: 5, window: '1h', ...other }, store)).toThrow(
          expect.objectContaining({
            code: 'HEADGATE_POLICY_CLASH',
            message: expect.stringContaining('login')
          })
        )
    })

    it('limiters of one name and rule share their counters', async () => {
      const store = fresh()
      const options = { name: 'login', limit: 3, window: '1h' }
      const [a, b] = [on(options, store), on(options, store)]
      const decisions = [await a.hit(0), await b.hit(0), await a.hit(0)]
      expect(decisions.map(({ remaining }) => remaining)).toEqual([2, 1, 0])
      expect((await b.hit(0)).allowed).toBe(false)
      await b.limiter.reset('A')
      expect((await a.hit(0)).remaining).toBe(2)
    })

    it('STO-25: a block without end holds until another limiter resets the key', async () => {
      const store = fresh()
      const options = { name: 'api', limit: 1, window: '1s' }
      const [a, b] = [on(options, store), on(options, store)]
      await a.at(0).block('A', Infinity)
      const denied = [await a.hit(0), await a.hit(1250), await b.hit(2500)]
      expect(admitted(denied)).toEqual([429, 429, 429])
      expect(denied.map(({ retryAfterMs }) => retryAfterMs)).toEqual([Infinity, Infinity, Infinity])
      await b.limiter.reset('A')
      expect((await a.hit(2500)).allowed).toBe(true)
    })

    it.each(everyStrategy)('STO-26: one scenario, the same answers: %s', async (_, extra) => {
      const policy = { ...extra, limit: 6, window: 10_000 }
      const { hit, limiter } = on(policy)
      const models = { A: modelOf(policy), B: modelOf(policy) }
      const script = [
        [0, 'A', 2],
        [0, 'B', 1],
        [300, 'A', 3, 'refund'],
        [300, 'A', 4],
        [300, 'A', 1],
        [4700, 'B', 6],
        [4700, 'B', 5],
        [9999, 'A', 1],
        [10_000, 'A', 1],
        [10_001, 'B', 2, 'refund'],
        [14_701, 'A', 5],
        [19_999, 'B', 7],
        [20_300, 'B', 6],
        [31_000, 'A', 6]
      ] as const
      for (const [ms, key, cost, refund] of script) {
        const expected = decide(models[key], cost, T + ms)
        expect(plain(await hit(ms, key, cost)), `${key} ${cost} at ${ms}`).toEqual(expected)
        if (!refund || !expected.allowed) continue
        await limiter.refund(key, cost)
        models[key].undo()
      }
    })

    const shaping = ['leaky-bucket', { strategy: 'leaky-bucket', burst: 1 }] as const
    it.each([...everyStrategy, shaping])(
      'a cost of 0 charges nothing, and is admitted unless the key is blocked: %s',
      async (_, extra) => {
        for (const more of [{}, { countDenied: true }, { block: '1h' }]) {
          const { at, hit, limiter } = on({ ...extra, limit: 2, window: '10s', ...more })
          expect(await hit(0, 'A', 0)).toMatchObject({
            allowed: true,
            remaining: 2,
            retryAfterMs: 0,
            resetMs: 0
          })
          await hit(0)
          await hit(0)
          const { resetMs } = await limiter.peek('A')
          for (let i = 0; i < 3; i++)
            expect(await hit(0, 'A', 0)).toMatchObject({
              allowed: true,
              remaining: 0,
              retryAfterMs: 0,
              resetMs
            })
          expect((await hit(0, 'A', 0)).delayMs).toBe(extra === shaping[1] ? 0 : undefined)
          expect((await limiter.take('A', 0, limiter.withLimits([0]))).isAllowed).toBe(false)
          await limiter.refund('A', 0)
          await limiter.charge('A', 0, limiter.policies)
          expect(await limiter.peek('A')).toMatchObject({ remaining: 0, resetMs })
          await limiter.block('A', '1m')
          expect(await hit(0, 'A', 0)).toMatchObject({ allowed: false, remaining: 0, retryAfterMs: 60 * s })
          expect(await at(61 * s).consume('A', 0)).toMatchObject({ allowed: true, remaining: 2 })
        }
      }
    )

    it('a cost of 0 looks at all tiers', async () => {
      const limits = [
        { limit: 2, window: '10s' },
        { limit: 9, window: '1h', strategy: 'gcra' }
      ]
      const { hit, hits } = on({ limits })
      await hits(2, 0)
      const { allowed, tiers } = await hit(0, 'A', 0)
      expect([allowed, ...tiers.map(({ remaining, retryAfterMs }) => [remaining, retryAfterMs])]).toEqual([
        true,
        [0, 0],
        [7, 0]
      ])
    })

    it('a cost that is negative or no whole number is refused', async () => {
      const { hit } = on({ limit: 2, window: '10s' })
      for (const cost of [-1, 0.5, Number.NaN])
        await expect(hit(0, 'A', cost)).rejects.toMatchObject({ code: 'HEADGATE_BAD_COST' })
      expect(await hit(0)).toMatchObject({ remaining: 1 })
    })

    it('a limiter forgets all its keys and blocks, and nothing of others', async () => {
      const store = fresh()
      const own = on({ limit: 2, window: '1h' }, store)
      const other = on({ limit: 9, window: '1h', strategy: 'sliding-log' }, store)
      const tiers = on(
        { limits: everyStrategy.map(([name, extra]) => ({ name, ...extra, limit: 3, window: '2h' })) },
        store
      )
      for (const key of ['A', 'B', 'ip:::1', '{x}:y', 'ü']) {
        await own.hits(2, 0, key)
        await tiers.hits(3, 0, key)
        await other.hit(0, key)
      }
      await own.limiter.block('B', Infinity)
      await own.limiter.block('C', '1h')
      await own.limiter.clear()
      for (const key of ['A', 'B', 'C', 'ip:::1', '{x}:y', 'ü']) {
        expect(await own.limiter.peek(key), key).toMatchObject({ allowed: true, remaining: 2, resetMs: 0 })
        if (key === 'C') continue
        expect((await other.limiter.peek(key)).remaining).toBe(8)
        expect((await tiers.limiter.peek(key)).allowed).toBe(false)
      }
      if ('size' in own.limiter) expect(own.limiter.size()).toBe(0)
      await tiers.limiter.clear()
      expect(await tiers.limiter.peek('A')).toMatchObject({ allowed: true, remaining: 3, resetMs: 0 })
      expect(admitted(await own.hits(3, 0))).toEqual([200, 200, 429])
    })

    it('a store forgets all keys of all its limiters', async () => {
      const store = fresh()
      const limiters = [
        on({ limit: 2, window: '1h' }, store),
        on({ name: 'log', limit: 2, window: '1h', strategy: 'sliding-log' }, store)
      ]
      for (const { hits, limiter } of limiters) {
        await hits(3, 0)
        await hits(3, 0, 'B')
        await limiter.block('C', Infinity)
      }
      await (store.store as { clear(): unknown }).clear()
      for (const { limiter, hits } of limiters) {
        for (const key of ['A', 'B', 'C'])
          expect(await limiter.peek(key)).toMatchObject({ allowed: true, remaining: 2, resetMs: 0 })
        expect(admitted(await hits(3, 0))).toEqual([200, 200, 429])
      }
    })

    it('a reset makes the next request the first', async () => {
      const { hits, limiter, hit } = on({ limit: 2, window: '60s' })
      await hits(3, 0)
      await limiter.reset('A')
      await limiter.reset('never seen')
      expect(await hit(0)).toMatchObject({ allowed: true, remaining: 1 })
    })
  })
}
