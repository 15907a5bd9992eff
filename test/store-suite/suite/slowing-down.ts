import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { modelOf } from '../../support/models.js'
import { decide } from '../../support/reference.js'
import { runs } from '../../support/traces.js'
import { type MakeStore, takeUnder } from '../clocked-store.js'
import { everyStrategy, inTurn, s, suited, T } from './limiter-on.js'

const delay = { after: 2, step: '500ms', max: '20s' } as const

/** What is over `after` is held `step` longer for each unit, up to `max`. */
const heldFor = (used: number) => Math.min(20_000, Math.max(0, used - 2) * 500)

const endlessWindows = everyStrategy.slice(0, 3)

const steps = fc.array(
  fc.record({ gap: fc.constantFrom(0, 0, 1, 700, 2000, 9999, 25_000), cost: fc.integer({ min: 0, max: 4 }) }),
  { minLength: 1, maxLength: 25 }
)

/** For how long requests are to be held. */
export function slowingCases(name: string, makeStore: MakeStore): void {
  const { on, fresh } = suited(makeStore)

  describe(`${name}: slowing down`, () => {
    it.each(everyStrategy)('SLO-01: holds what is over `after`, by the units used: %s', async (_, extra) => {
      const property = fc.asyncProperty(fc.integer({ min: 3, max: 12 }), steps, async (limit, trace) => {
        const policy = { ...extra, limit, window: 10_000 }
        const { hit } = on({ ...policy, window: '10s', delay })
        const model = modelOf(policy)
        let at = 0
        for (const { gap, cost } of trace) {
          at += gap
          const { delayMs, ...decision } = await hit(at, 'A', cost)
          if (cost === 0) expect(delayMs).toBe(0)
          else {
            const expected = decide(model, cost, T + at)
            expect(decision).toEqual(expected)
            expect(delayMs).toBe(expected.allowed ? heldFor(limit - expected.remaining) : 0)
          }
        }
      })
      await fc.assert(property, runs(15))
    })

    it.each(endlessWindows)('SLO-02: Infinity denies nobody, and counts: %s', async (_, extra) => {
      const property = fc.asyncProperty(steps, async (trace) => {
        const { hit, at: when } = on({ ...extra, limit: Infinity, window: '10s', delay })
        // So large that nothing is denied, and so small that every product is exact.
        const model = modelOf({ ...extra, limit: 1_000_000, window: 10_000 })
        let at = 0
        for (const { gap, cost } of trace) {
          at += gap
          const decision = await hit(at, 'A', cost)
          const { remaining, resetMs } = decide(model, cost, T + at)
          expect(decision).toMatchObject({ allowed: true, limit: Infinity, remaining: Infinity, resetMs })
          expect(decision.delayMs).toBe(cost === 0 ? 0 : heldFor(1_000_000 - remaining))
        }
        expect(await when(at).peek('A')).toMatchObject({ allowed: true, remaining: Infinity })
      })
      await fc.assert(property, runs(15))
    })

    it.each(endlessWindows)('SLO-03: nor where it has come to what it counts up to: %s', async (_, extra) => {
      const { limiter, hit } = on({ ...extra, limit: Infinity, window: '300d', delay })
      const most = limiter.policies[0]!.limit
      expect(await hit(0, 'A', most - 1)).toMatchObject({ allowed: true, delayMs: 20_000 })
      const decisions = await inTurn([1, 1, 7, most], (cost) => hit(0, 'A', cost))
      for (const decision of decisions)
        expect(decision).toMatchObject({
          allowed: true,
          remaining: Infinity,
          retryAfterMs: 0,
          delayMs: 20_000
        })
    })

    it.each(endlessWindows)('SLO-04: a computed limit may be Infinity, or not: %s', async (_, extra) => {
      const { limiter } = on({ ...extra, limit: 10, window: '10s', delay })
      const under = async (limit: number, cost = 1) => (await takeUnder(limiter, [limit], 'A', cost)).decision
      expect(await under(5, 4)).toMatchObject({ allowed: true, remaining: 1, delayMs: 1000 })
      expect(await under(Infinity, 9)).toMatchObject({ allowed: true, limit: Infinity, delayMs: 5500 })
      expect(await under(13)).toMatchObject({ allowed: false, limit: 13, remaining: 0, delayMs: 0 })
      expect(await under(0)).toMatchObject({ allowed: false, limit: 0, delayMs: 0 })
      expect(await under(14)).toMatchObject({ allowed: true, remaining: 0, delayMs: 6000 })
      expect(await under(Infinity)).toMatchObject({ allowed: true, remaining: Infinity, delayMs: 6500 })
    })

    it('SLO-05: what is given back is no longer used; a block denies, and holds nobody', async () => {
      const { limiter, hit, hits } = on({ limit: Infinity, window: '60s', delay })
      await hits(10, 0)
      await limiter.refund('A', 8)
      expect((await hit(0)).delayMs).toBe(500)
      await limiter.block('A', 5 * s)
      expect(await hit(0)).toMatchObject({ allowed: false, retryAfterMs: 5 * s, delayMs: 0 })
      expect(await hit(5 * s)).toMatchObject({ allowed: true, delayMs: 1000 })
    })

    it('SLO-06: beside another limit the longer of the two delays', async () => {
      const { hits } = on({
        limits: [
          { limit: Infinity, window: '10s', delay },
          { limit: 5, window: '60s', strategy: 'sliding-window', delay: { after: 0, step: '1s' } }
        ]
      })
      const decisions = await hits(6, 0)
      expect(decisions.map(({ delayMs }) => delayMs)).toEqual([1000, 2000, 3000, 4000, 5000, 0])
      expect(decisions[5]).toMatchObject({ allowed: false, limit: 5, remaining: 0 })
    })

    it('SLO-07: limiters that share counters slow down each in its own way', async () => {
      const store = fresh()
      const [slow, slower] = ['1s', '3s'].map((step) =>
        on({ name: 'api', limit: 50, window: '60s', delay: { step } }, store)
      )
      await slow!.hit(0)
      expect((await slower!.hit(0)).delayMs).toBe(3000)
      expect((await slow!.hit(0)).delayMs).toBe(2000)
    })
  })
}
