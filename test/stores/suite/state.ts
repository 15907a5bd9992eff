import { describe, expect, it } from 'vitest'
import { modelOf } from '../../support/models.js'
import { decide } from '../../support/reference.js'
import { plain } from '../../support/traces.js'
import { admitted, everyStrategy, limiterOn, type MakeStore, s, T } from './limiter-on.js'

/** Whose state it is, and how long it lives. */
export function stateCases(name: string, makeStore: MakeStore): void {
  const on = (options: Parameters<typeof limiterOn>[0], store = makeStore()) => limiterOn(options, store)

  describe(`${name}: state`, () => {
    it('STO-02: a refund on a vanished counter is a no-op', () => {
      const { at, hit, hits, limiter } = on({ limit: 2, window: 300 })
      hit(0)
      at(500).refund('A', 1, T)
      expect(limiter.size()).toBe(0)
      expect(admitted(hits(3, 500))).toEqual([200, 200, 429])
    })

    it('STO-12: two limiters on one store share nothing', () => {
      const store = makeStore()
      const [a, b] = [on({ limit: 10, window: '30d' }, store), on({ limit: 5, window: '1h' }, store)]
      expect(a.hit(0).remaining).toBe(9)
      expect(admitted(b.hits(6, 0))).toEqual([200, 200, 200, 200, 200, 429])
      expect(b.hit(0).resetMs).toBeLessThanOrEqual(3600 * s)
      expect(a.at(0).peek('A').remaining).toBe(9)
      expect(a.at(0).peek('A').resetMs).toBeGreaterThan(3600 * s)
    })

    it('STO-12: a name that is taken by another rule fails at construction', () => {
      const store = makeStore()
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

    it('limiters of one name and rule share their counters', () => {
      const store = makeStore()
      const options = { name: 'login', limit: 3, window: '1h' }
      const [a, b] = [on(options, store), on(options, store)]
      expect([a.hit(0), b.hit(0), a.hit(0)].map(({ remaining }) => remaining)).toEqual([2, 1, 0])
      expect(b.hit(0).allowed).toBe(false)
      b.limiter.reset('A')
      expect(a.hit(0).remaining).toBe(2)
    })

    it('STO-25: a block without end holds until another limiter resets the key', () => {
      const store = makeStore()
      const options = { name: 'api', limit: 1, window: '1s' }
      const [a, b] = [on(options, store), on(options, store)]
      a.at(0).block('A', Infinity)
      const denied = [a.hit(0), a.hit(1250), b.hit(2500)]
      expect(admitted(denied)).toEqual([429, 429, 429])
      expect(denied.map(({ retryAfterMs }) => retryAfterMs)).toEqual([Infinity, Infinity, Infinity])
      b.limiter.reset('A')
      expect(a.hit(2500).allowed).toBe(true)
    })

    it.each(everyStrategy)('STO-26: one scenario, the same answers: %s', (_, extra) => {
      const policy = { ...extra, limit: 6, window: 10_000 }
      const { at, limiter } = on(policy)
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
        expect(plain(at(ms).consume(key, cost)), `${key} ${cost} at ${ms}`).toEqual(expected)
        if (!refund || !expected.allowed) continue
        limiter.refund(key, cost)
        models[key].undo()
      }
    })

    it('a reset makes the next request the first', () => {
      const { hits, limiter, hit } = on({ limit: 2, window: '60s' })
      hits(3, 0)
      limiter.reset('A')
      limiter.reset('never seen')
      expect(hit(0)).toMatchObject({ allowed: true, remaining: 1 })
    })
  })
}
