import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { BansPage } from '../../../src/core/bans/listing.js'
import { createLimiter, type Decision } from '../../../src/index.js'
import { runs } from '../../support/traces.js'
import type { MakeStore, Suited } from '../clocked-store.js'
import { banModel, type Terms } from './ban-model.js'
import { admitted, s, suited, T } from './limiter-on.js'

const minute = 60 * s
const hour = 60 * minute
const day = 24 * hour

const waits = (decisions: readonly Decision[]) => decisions.map(({ retryAfterMs }) => retryAfterMs)

/** Who is banned, for how long, and who is listed. */
export function banCases(name: string, makeStore: MakeStore): void {
  const { fresh, on } = suited(makeStore)
  const ban = { after: 3, within: '10m', for: '1h', growth: 2, max: '3h', forget: '1d' } as const
  const oneEach: Suited = { limit: 1, window: '1s', ban }

  describe(`${name}: bans`, () => {
    it('BAN-01: a key is banned by the last of so many denials, and until the ban ends, to the ms', async () => {
      const { hit, hits } = on(oneEach)
      expect(waits(await hits(4, 0))).toEqual([0, 1000, 1000, hour])
      const banned = await hit(hour - 1)
      expect(banned).toMatchObject({ allowed: false, remaining: 0, retryAfterMs: 1, resetMs: 1 })
      expect(await hit(hour)).toMatchObject({ allowed: true })
    })

    it('BAN-02: denials count within a time of the first of them', async () => {
      const { hits } = on(oneEach)
      await hits(3, 0)
      expect(waits(await hits(3, 10 * minute))).toEqual([0, 1000, 1000])
      expect(waits(await hits(3, 20 * minute - 1))).toEqual([0, hour, hour])
    })

    it('BAN-03: what is no offence counts for nothing', async () => {
      const { hit, hits, limiter, at } = on({ ...oneEach, limit: 2 })
      await hits(4, 0)
      for (let i = 0; i < 5; i++) {
        await at(0).peek('A')
        expect((await hit(0, 'A', 3)).retryAfterMs).toBe(Number.POSITIVE_INFINITY)
        expect((await hit(0, 'A', 0)).allowed).toBe(true)
      }
      await limiter.block('A', '30s')
      expect(admitted(await hits(5, 1000))).toEqual(Array(5).fill(429))
      expect(waits(await hits(3, 30 * s))).toEqual([0, 0, 1 * s])
    })

    it('BAN-04: each repeat is longer, up to the longest, until all is forgotten', async () => {
      const { hits } = on(oneEach)
      const bans: number[] = []
      let time = 0
      for (const pause of [0, 0, 0, day - 1, day]) {
        const decisions = await hits(4, time + pause)
        bans.push(decisions[3]!.retryAfterMs)
        time += pause + bans.at(-1)!
      }
      expect(bans).toEqual([hour, 2 * hour, 3 * hour, 3 * hour, hour])
    })

    it('BAN-05: denials that come at once ban once', async () => {
      const { at, hits } = on(oneEach)
      const limiter = at(0)
      const decisions = await Promise.all(Array.from({ length: 20 }, async () => limiter.consume('A')))
      expect(Math.max(...waits(decisions))).toBe(hour)
      expect(waits(await hits(4, hour))).toEqual([0, 1000, 1000, 2 * hour])
    })

    it('BAN-06: limiters of one name ban together, and others do not', async () => {
      const store = fresh()
      const [a, b, c] = [
        on({ ...oneEach, name: 'api' }, store),
        on({ ...oneEach, name: 'api' }, store),
        on({ ...oneEach, limit: 1, window: '2s' }, store)
      ]
      await a.hits(3, 0)
      await c.hits(3, 0)
      expect(waits(await b.hits(1, 0))).toEqual([hour])
      expect(waits(await c.hits(1, 0))).toEqual([hour])
      expect(waits(await a.hits(1, 0))).toEqual([hour])
      expect(() => on({ ...oneEach, name: 'api', ban: { ...ban, for: '2h' } }, store)).toThrow(
        expect.objectContaining({ code: 'HEADGATE_POLICY_CLASH' })
      )
    })

    it('BAN-07: a reset lifts a ban, and forgets the ones before', async () => {
      const { hits, limiter, at } = on(oneEach)
      await hits(4, 0)
      await at(minute).reset('A')
      expect(waits(await hits(4, minute))).toEqual([0, 1000, 1000, hour])
      await hits(2, 2 * hour)
      await limiter.reset('A')
      expect(waits(await hits(4, 2 * hour))).toEqual([0, 1000, 1000, hour])
    })

    it('BAN-08: a block by hand takes the place of a ban, whose history stays', async () => {
      const { hits, limiter } = on(oneEach)
      await hits(4, 0)
      await limiter.block('A', '1m')
      expect(waits(await hits(1, minute - 1))).toEqual([1])
      expect(waits(await hits(4, minute))).toEqual([0, 1000, 1000, 2 * hour])
    })

    it('BAN-09: the first denial may be enough', async () => {
      const { hits } = on({ limit: 2, window: '1m', ban: { after: 1, for: '5m' } })
      expect(waits(await hits(4, 0))).toEqual([0, 0, 5 * minute, 5 * minute])
      expect(waits(await hits(3, 5 * minute))).toEqual([0, 0, 5 * minute])
    })

    it('BAN-10: a ban that is shorter than the wait leaves the wait as it is', async () => {
      const { hits } = on({ limit: 1, window: '1h', align: 'first-request', ban: { after: 2, for: '5m' } })
      expect(waits(await hits(3, 0))).toEqual([0, hour, hour])
    })

    it('BAN-11: some of several policies ban as well', async () => {
      const { hits } = on({
        limits: [
          { limit: 1, window: '1s' },
          { limit: 100, window: '1m' }
        ],
        ban
      })
      expect(waits(await hits(4, 0))).toEqual([0, 1000, 1000, hour])
    })

    it('BAN-12: what is cleared is forgotten, bans and their history as well', async () => {
      const { hits, limiter, at } = on(oneEach)
      await hits(4, 0)
      await hits(3, 0, 'B')
      await limiter.clear()
      expect(await at(0).peek('A')).toMatchObject({ allowed: true, remaining: 1, resetMs: 0 })
      expect(waits(await hits(4, 0))).toEqual([0, 1000, 1000, hour])
      expect(waits(await hits(3, 0, 'B'))).toEqual([0, 1000, 1000])
    })

    it(
      'BAN-13: a naive model says the same',
      () =>
        fc.assert(
          fc.asyncProperty(anyTerms, anySteps, async (terms: Terms, steps) => {
            const rule = { limit: 2, window: '1m' } as const
            const { hit, at } = on({ ...rule, ban: terms })
            const clock = { time: T }
            const plain = createLimiter({ ...rule, now: () => clock.time })
            const model = banModel(terms, plain)
            let ms = 0
            for (const [i, { key, act, aim, off }] of steps.entries()) {
              const aims = [
                0,
                terms.within,
                model.left(key, T + ms),
                model.left(key, T + ms) + (terms.forget ?? 0),
                minute
              ]
              ms += Math.max(0, aims[aim % aims.length]! + off)
              clock.time = T + ms
              if (act === 'reset') {
                await at(ms).reset(key)
                model.reset(key)
              } else {
                const said = act === 'peek' ? await at(ms).peek(key) : await hit(ms, key)
                const expected = act === 'peek' ? model.peek(key, T + ms) : model.consume(key, T + ms)
                expect(pick(said), `step ${i}`).toEqual(expected)
              }
            }
          }),
          runs(60)
        ),
      60_000
    )
  })

  describe(`${name}: the list of bans`, () => {
    const listed = async (limiter: ReturnType<typeof on>['limiter'], limit?: number) => {
      const all: [string, number][] = []
      let after: string | null = null
      for (let pages = 0; pages < 1000; pages++) {
        const { bans, next }: BansPage = await limiter.bans(
          limit === undefined ? { after } : { after, limit }
        )
        for (const { key, remainingMs } of bans) all.push([key, remainingMs])
        if (next === null) break
        after = next
      }
      return all.sort()
    }

    it('BAN-14: has keys that are banned or blocked, and for how long yet', async () => {
      const { hits, limiter, at } = on(oneEach)
      expect(await listed(limiter)).toEqual([])
      await hits(4, 0)
      await hits(3, 0, 'denied')
      await limiter.block('by:hand', '2h')
      await limiter.block('2001:db8::/56', Number.POSITIVE_INFINITY)
      at(minute)
      const all = [
        ['2001:db8::/56', Number.POSITIVE_INFINITY],
        ['A', hour - minute],
        ['by:hand', 2 * hour - minute]
      ]
      expect(await listed(limiter)).toEqual(all)
      await limiter.reset('A')
      at(2 * hour)
      expect(await listed(limiter)).toEqual(all.slice(0, 1))
      await limiter.clear()
      expect(await listed(limiter)).toEqual([])
    })

    it('BAN-15: has all of many, page by page', async () => {
      const { limiter } = on({ limit: 1, window: '1s' })
      const keys = Array.from({ length: 180 }, (_, i) => `key-${i}`)
      await Promise.all(keys.map(async (key) => limiter.block(key, '1h')))
      for (const limit of [7, 90, 10_000])
        expect(await listed(limiter, limit)).toEqual(keys.map((key) => [key, hour]).sort())
    })

    it('BAN-16: shows long keys as hashes', async () => {
      const { limiter } = on({ limit: 1, window: '1s' })
      await limiter.block('k'.repeat(1000), '1h')
      expect(await listed(limiter)).toEqual([[expect.stringMatching(/^#[\w-]{43}$/), hour]])
    })

    it('BAN-17: refuses pages that are none', async () => {
      const { limiter } = on({ limit: 1, window: '1s' })
      for (const options of [
        { limit: 0 },
        { limit: '7' },
        { limit: 10_001 },
        { after: 7 },
        7,
        null,
        { page: 2 }
      ])
        await expect((async () => limiter.bans(options as never))()).rejects.toMatchObject({
          code: expect.stringMatching(/^HEADGATE_(BAD|UNKNOWN)_OPTION$/)
        })
    })
  })

  penaltyCases(name, { on })
}

const pick = ({ allowed, remaining, retryAfterMs, resetMs }: Decision) => ({
  allowed,
  remaining,
  retryAfterMs,
  resetMs
})

const anyTerms = fc
  .record({
    after: fc.integer({ min: 1, max: 4 }),
    within: fc.integer({ min: 1, max: 5 * minute }),
    for: fc.integer({ min: 1, max: 10 * minute }),
    growth: fc.constantFrom(1, 1.5, 2, 3),
    more: fc.nat(30 * minute),
    forget: fc.integer({ min: 1, max: 20 * minute })
  })
  .map(({ more, forget, ...terms }) =>
    terms.growth === 1 ? terms : { ...terms, max: terms.for + more, forget }
  )

const anySteps = fc.array(
  fc.record({
    key: fc.constantFrom('A', 'A', 'A', 'B'),
    act: fc.constantFrom(...Array<'hit'>(9).fill('hit'), 'peek', 'reset'),
    aim: fc.oneof(fc.constant(0), fc.constant(0), fc.nat(4)),
    off: fc.constantFrom(0, 0, 0, 0, 1, -1, 1000)
  }),
  { minLength: 1, maxLength: 40 }
)

function penaltyCases(name: string, { on }: Pick<ReturnType<typeof suited>, 'on'>): void {
  const everywhere = [
    ['fixed-window', {}],
    ['sliding-window', { strategy: 'sliding-window' }],
    ['sliding-log', { strategy: 'sliding-log' }],
    ['token-bucket', { strategy: 'token-bucket' }],
    ['gcra', { strategy: 'gcra' }]
  ] as const

  describe.each(everywhere)(`${name}: penalties and rewards, %s`, (_, extra) => {
    const rule = { ...extra, limit: 10, window: '10s' }

    it('BAN-18: a penalty charges units up to full', async () => {
      const { limiter, at, hit } = on(rule)
      expect(await at(0).penalty('A', 4)).toMatchObject({ allowed: true, remaining: 6 })
      expect(await limiter.penalty('A', 6)).toMatchObject({ allowed: false, remaining: 0 })
      expect((await hit(0)).allowed).toBe(false)
      expect(await limiter.penalty('A', 0)).toMatchObject({ remaining: 0 })
    })

    it('BAN-19: units beyond full keep a key waiting for as long as they take to come back', async () => {
      const { at, hit } = on(rule)
      const full = await at(0).penalty('A', 10)
      const beyond = await at(0).penalty('A', 3)
      expect(beyond.retryAfterMs).toBe(full.retryAfterMs + 3 * s)
      const more = await at(0).penalty('A', 2)
      expect(more.retryAfterMs).toBe(full.retryAfterMs + 5 * s)
      expect((await hit(more.retryAfterMs - 1)).allowed).toBe(false)
      expect((await hit(more.retryAfterMs)).allowed).toBe(true)
    })

    it('BAN-20: no penalty has a key wait for more than ten windows', async () => {
      const { at } = on(rule)
      expect((await at(0).penalty('A', Number.MAX_SAFE_INTEGER)).retryAfterMs).toBe(100 * s)
      expect((await at(0).penalty('A', 1)).retryAfterMs).toBe(100 * s)
    })

    it('BAN-21: a reward gives back units whenever they were charged, never more than the key owes', async () => {
      const { at, hit } = on(rule)
      await hit(0, 'A', 8)
      expect(await at(0).reward('A', 3)).toMatchObject({ remaining: 5 })
      expect(await at(0).reward('A', 0)).toMatchObject({ remaining: 5 })
      expect(await at(4 * s).reward('A', 100)).toMatchObject({ remaining: 10, resetMs: 0 })
      await hit(5 * s, 'A', 10)
      expect(await at(11 * s).reward('A', 100)).toMatchObject({ remaining: 10, resetMs: 0 })
      expect(await at(11 * s).reward('unseen', 5)).toMatchObject({ remaining: 10, resetMs: 0 })
    })
  })

  describe.each(everywhere)(
    `${name}: a penalty makes nothing laxer, and a reward nothing stricter, %s`,
    (_, extra) => {
      const rule = { ...extra, limit: 10, window: '10s' }
      const anyTrace = fc.record({
        hits: fc.array(fc.record({ gap: fc.nat(6000), cost: fc.integer({ min: 1, max: 6 }) }), {
          maxLength: 8
        }),
        gap: fc.nat(12_000),
        units: fc.oneof(fc.integer({ min: 1, max: 30 }), fc.integer({ min: 1, max: 2000 })),
        later: fc.array(fc.nat(8000), { minLength: 1, maxLength: 8 })
      })

      it.each(['penalty', 'reward'] as const)('BAN-25: now and later: %s', (method) =>
        fc.assert(
          fc.asyncProperty(anyTrace, async ({ hits, gap, units, later }) => {
            const [plain, other] = [on(rule), on(rule)]
            let ms = 0
            for (const hit of hits) {
              ms += hit.gap
              for (const one of [plain, other]) await one.hit(ms, 'A', hit.cost)
            }
            ms += gap
            await other.at(ms)[method]('A', units)
            for (const wait of [0, ...later]) {
              ms += wait
              const [strict, lax] = await Promise.all(
                (method === 'penalty' ? [other, plain] : [plain, other]).map((one) => one.at(ms).peek('A'))
              )
              expect(strict!.remaining).toBeLessThanOrEqual(lax!.remaining)
              expect(strict!.retryAfterMs).toBeGreaterThanOrEqual(lax!.retryAfterMs)
              expect(lax!.remaining).toBeLessThanOrEqual(10)
              expect(strict!.retryAfterMs).toBeLessThanOrEqual(100_000)
            }
          }),
          runs(30)
        )
      )
    }
  )

  describe(`${name}: penalties and rewards`, () => {
    it('BAN-22: the tier where it takes longest decides', async () => {
      const { at } = on({
        limits: [
          { limit: 10, window: '1s', align: 'first-request' },
          { limit: 100, window: '100s', align: 'first-request' }
        ]
      })
      expect((await at(0).penalty('A', 30)).retryAfterMs).toBe(3 * s)
      expect((await at(0).penalty('B', 103)).retryAfterMs).toBe(103 * s)
    })

    it('BAN-23: a penalty adds to a block, and shortens none', async () => {
      const { limiter, at } = on({ limit: 10, window: '10s' })
      await at(0).block('A', '20s')
      expect((await limiter.penalty('A', 5)).retryAfterMs).toBe(25 * s)
      await limiter.block('A', '2d')
      expect((await limiter.penalty('A', 5)).retryAfterMs).toBe(2 * day)
      await limiter.block('A', Number.POSITIVE_INFINITY)
      expect((await limiter.penalty('A', 5)).retryAfterMs).toBe(Number.POSITIVE_INFINITY)
      await limiter.reset('A')
      expect(await limiter.peek('A')).toMatchObject({ remaining: 10 })
    })

    it('BAN-24: units that are none are refused, and so is what counts in flight alone', async () => {
      const { limiter } = on({ limit: 10, window: '10s' })
      for (const units of [-1, 1.5, Number.NaN, '1', undefined])
        for (const method of ['penalty', 'reward'] as const)
          await expect((async () => limiter[method]('A', units as number))()).rejects.toMatchObject({
            code: 'HEADGATE_BAD_COST'
          })
    })
  })
}
