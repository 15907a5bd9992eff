import { describe, expect, it } from 'vitest'
import { type MakeStore, takeUnder } from '../clocked-store.js'
import { admitted, everyStrategy, inTurn, s, suited } from './limiter-on.js'

/** Who is counted, and how much. */
export function countingCases(name: string, makeStore: MakeStore): void {
  const { on } = suited(makeStore)

  describe(`${name}: keys`, () => {
    it('KEY-17: property-like keys behave like any other key', async () => {
      const own = Object.getOwnPropertyNames(Object.prototype)
      const { hits } = on({ limit: 1, window: '60s' })
      for (const key of ['__proto__', 'constructor', 'hasOwnProperty', 'toString', 'prototype'])
        expect(admitted(await hits(2, 0, key)), key).toEqual([200, 429])
      expect(({} as { polluted?: unknown }).polluted).toBeUndefined()
      expect(Object.getOwnPropertyNames(Object.prototype)).toEqual(own)
    })

    it('KEY-25: long keys are not truncated', async () => {
      const { hits } = on({ limit: 1, window: '60s' })
      for (const length of [64, 300, 65_536])
        for (const end of ['a', 'b', 'aa', '']) {
          const statuses = admitted(await hits(2, 0, `${'k'.repeat(length)}${end}`))
          expect(statuses, `${length} ${end}`).toEqual([200, 429])
        }
    })

    it('keeps hostile keys apart', async () => {
      const keys = ['a\r\nb', 'a\nb', 'a b', 'a\0b', 'a\0', 'a', '\ud800', '\udc00', '\ud800\udc00', '\ufffd']
      const { hits } = on({ limit: 1, window: '60s' })
      for (const key of keys) expect(admitted(await hits(2, 0, key)), JSON.stringify(key)).toEqual([200, 429])
    })

    it('takes a number as its text', async () => {
      const { hit } = on({ limit: 2, window: '60s' })
      expect(admitted(await inTurn([42, '42', 42], (key) => hit(0, key)))).toEqual([200, 200, 429])
    })
  })

  describe(`${name}: counting`, () => {
    it.each(everyStrategy)('WIN-24: exactly L requests are admitted by %s', async (_, extra) => {
      for (const limit of [1, 2, 10]) {
        const decisions = await on({ ...extra, limit, window: '60s' }).hits(limit + 2, 5 * s)
        expect(admitted(decisions)).toEqual([...Array(limit).fill(200), 429, 429])
        expect(decisions[limit - 1]!.remaining).toBe(0)
      }
    })

    it.each(everyStrategy)('CON-01: parallel requests never exceed the limit of %s', async (_, extra) => {
      const { hit } = on({ ...extra, limit: 5, window: '60s' })
      const decisions = await Promise.all(Array.from({ length: 200 }, () => hit(5 * s)))
      const passed = decisions.filter(({ allowed }) => allowed)
      expect(passed.map(({ remaining }) => remaining).toSorted((a, b) => b - a)).toEqual([4, 3, 2, 1, 0])
    })

    it('STO-21: simultaneous hits are all counted', async () => {
      const { hits, limiter } = on({ strategy: 'sliding-log', limit: 3, window: '60s' })
      expect(admitted(await hits(5, 0))).toEqual([200, 200, 200, 429, 429])
      expect((await limiter.peek('A')).remaining).toBe(0)
    })

    it('HDR-06: remaining never goes below zero', async () => {
      const { limiter, hits, at } = on({ limit: 2, window: '60s' })
      const decisions = await hits(12, 0)
      expect(decisions.map(({ remaining }) => remaining)).toEqual([1, ...Array(11).fill(0)])
      expect((await takeUnder(limiter, [10], 'B', 10)).decision.allowed).toBe(true)
      expect(await at(0).peek('B')).toMatchObject({ allowed: false, limit: 2, remaining: 0 })
      expect((await takeUnder(limiter, [5], 'B', 1)).decision).toMatchObject({ limit: 5, remaining: 0 })
    })

    it('CFG-07: a batch is charged as a whole', async () => {
      const { hit } = on({ limit: 10, window: '60s' })
      const decisions = await inTurn([4, 4, 4, 2], (cost) => hit(0, 'A', cost))
      expect(decisions.map(({ allowed, remaining }) => [allowed, remaining])).toEqual([
        [true, 6],
        [true, 2],
        [false, 2],
        [true, 0]
      ])
    })

    it('CFG-01: a limit of 0 for one user denies that user only', async () => {
      const { limiter, hit } = on({ limit: 5, window: '60s' })
      const { decision: denied } = await takeUnder(limiter, [0], 'A', 1)
      expect(denied).toMatchObject({ allowed: false, limit: 0, remaining: 0, retryAfterMs: Infinity })
      expect(await hit(0, 'B')).toMatchObject({ allowed: true, remaining: 4 })
    })

    it.each([false, true])(
      'CON-05: a denial consumes nothing from other limits (reversed: %s)',
      async (reversed) => {
        const limits = [
          { limit: 1, window: '1s' },
          { limit: 3, window: '60s' }
        ]
        const { hits, hitsAt } = on({ limits: reversed ? limits.toReversed() : limits })
        expect(admitted(await hits(10, 50))).toEqual([200, ...Array(9).fill(429)])
        expect(admitted(await hitsAt([1100, 2200, 3300]))).toEqual([200, 200, 429])
      }
    )
  })
}
