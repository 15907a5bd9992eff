import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { memoryStore, type Strategy } from '../../src/index.js'
import { buildLimiter, type LimiterOptions } from '../../src/limiter/options.js'
import { redisStoreOn } from '../../src/redis/store.js'
import { limiterIn, takeUnder } from '../store-suite/clocked-store.js'
import { anyDraws, perform, Standing, said, showLowest } from '../store-suite/operations.js'
import { policyNames, runs, smallPolicy, starts } from '../support/traces.js'
import { twoSpeedLua, twoSpeedRules } from '../support/two-speed.js'
import { ask, askText } from './support/ask.js'
import { captured } from './support/captured.js'
import { connected, freshPrefix, makeStores, servers } from './support/stores.js'

const connection = connected('ioredis 6', 'single')
const command = (...words: readonly string[]) =>
  (connection.client as { call(...words: readonly string[]): Promise<unknown> }).call(...words)

const strategies: readonly (readonly [string, Strategy])[] = [
  ['by compare-and-swap', twoSpeedRules],
  ['in its own Lua', { ...twoSpeedRules, name: 'two-speed in Lua', lua: twoSpeedLua }]
]

const settings = fc.record({
  block: fc.option(fc.integer({ min: 1, max: 200 }), { nil: undefined }),
  countDenied: fc.boolean()
})
const rule = fc.record({ limit: fc.integer({ min: 1, max: 8 }), window: fc.integer({ min: 1, max: 60 }) })
const other = fc.constantFrom(...policyNames).chain(smallPolicy)

describe.skipIf(servers === null).each(strategies)('a strategy of the user, %s', (_, strategy) => {
  const makeStore = makeStores(connected('node-redis 6', 'single'))

  it.each([
    ['alone', false, false],
    ['alone under computed limits', false, true],
    ['beside others', true, false],
    ['beside others under computed limits', true, true]
  ])('answers as in memory: %s', async (__, isBeside, varies) => {
    await fc.assert(
      fc.asyncProperty(
        rule,
        other,
        settings,
        starts,
        anyDraws({ varies, stepsBack: false }),
        async (...drawn) => {
          const [own, beside, extra, start, draws] = drawn
          const tiers = [{ ...own, strategy }, ...(isBeside ? [beside] : [])]
          const options = { ...extra, limits: tiers.map((tier, i) => ({ ...tier, name: `tier-${i}` })) }
          const clock = { time: start }
          const memory = limiterIn({ store: memoryStore(), clock }, options)
          const redis = limiterIn({ store: makeStore(() => clock.time), clock }, options)
          if (varies) for (const limiter of [memory, redis]) await showLowest(limiter)
          const standing = new Standing(start, await memory.peek('key'))
          for (const [i, draw] of draws.entries()) {
            const deed = standing.next(draw, own.window)
            clock.time = standing.now
            const expected = await perform(memory, deed)
            const message = `step ${i}: ${Object.values(deed).join(' ')} at ${standing.now}`
            expect(said(await perform(redis, deed)), message).toEqual(said(expected))
            standing.see(expected.decision)
          }
        }
      ),
      runs(25)
    )
  })

  it('keeps what is owed under a lower limit, whatever is done under its own', async () => {
    const clock = { time: 1_700_000_000_000 }
    for (const store of [memoryStore(), makeStore(() => clock.time)]) {
      const limiter = limiterIn({ store, clock }, { strategy, limit: 10, window: 1000 })
      await takeUnder(limiter, [1], 'other', 1)
      await limiter.consume('key', 10)
      clock.time += 1000
      expect((await limiter.peek('key')).remaining).toBe(10)
      await limiter.refund('key')
      expect((await takeUnder(limiter, [1], 'key', 1)).decision.allowed).toBe(false)
    }
  })

  it('never admits more than the limit to four stores at once', async () => {
    const prefix = freshPrefix()
    const limiters = Array.from({ length: 4 }, () => {
      const store = redisStoreOn(connection.client, { prefix, deadline: '10s' }, () => 1_700_000_000_000)
      const policy = { name: 'api', strategy, limit: 30, window: '1h', onStoreError: 'deny', store }
      return buildLimiter(policy as LimiterOptions, () => store as never)
    })
    const decisions = await Promise.all(
      Array.from({ length: 100 }, (__, i) => Promise.resolve(limiters[i % 4]!.consume('key')))
    )
    const units = decisions.filter(({ allowed }) => allowed).length
    const undecided = decisions.filter(({ source }) => source === 'deny').length
    expect(units).toBeLessThanOrEqual(30)
    expect(units + undecided).toBeGreaterThanOrEqual(30)
  })

  it('leaves no key without an end, and none of what is paid back', async () => {
    const prefix = freshPrefix()
    const store = redisStoreOn(connection.client, { prefix, deadline: '10s' }, null)
    const policy = { strategy, limit: 4, window: '1h', store }
    const limiter = buildLimiter(policy as LimiterOptions, () => store as never)
    await limiter.consume('key', 2)
    const [key] = (await ask(servers!.single, 'KEYS', `${prefix}*`)) as string[]
    const life = Number(await ask(servers!.single, 'PTTL', key!))
    expect(life).toBeGreaterThan(0)
    expect(life).toBeLessThanOrEqual(3_600_000)
    // Under no limit nothing is owed, but under the limiter's own it still is.
    await takeUnder(limiter, [Number.POSITIVE_INFINITY], 'key', 1)
    expect((await limiter.peek('key')).remaining).toBe(2)
    await limiter.reset('key')
    expect(await ask(servers!.single, 'KEYS', `${prefix}*`)).toEqual([])
    // One an hour was never asked for: two of four are paid back in a quarter of an hour, at four an hour and twice that.
    await limiter.consume('key', 2)
    expect(Number(await ask(servers!.single, 'PTTL', key!))).toBeLessThanOrEqual(900_000)
    await takeUnder(limiter, [1], 'other', 1)
    await limiter.consume('key', 1)
    expect(Number(await ask(servers!.single, 'PTTL', key!))).toBeGreaterThan(7_200_000)
  })
})

describe.skipIf(servers === null)('a key that others change all the time', () => {
  it('is decided by the fallback in the end', async () => {
    let swaps = 0
    // As if another process were always quicker: what was read is never what is there.
    const client = async (words: readonly string[]) => {
      const reply = (await command(...words)) as unknown[]
      swaps++
      return Number(reply[0]) === 1 ? [1, reply[1], 0, ''] : reply
    }
    const store = redisStoreOn(client, { prefix: freshPrefix(), deadline: '10s' }, null)
    const policy = { strategy: twoSpeedRules, limit: 4, window: '1h', store }
    const limiter = buildLimiter(policy as LimiterOptions, () => store as never)
    expect((await limiter.consume('key')).source).toBe('local')
    expect(swaps).toBeGreaterThan(2)
    expect(swaps).toBeLessThan(40)
    expect(store.isAvailable).toBe(true)
    await expect(limiter.reset('key')).rejects.toMatchObject({ code: 'HEADGATE_STORE_FAILED' })
  })
})

describe.skipIf(servers === null)('an error of the user’s strategy', () => {
  /** It throws where the window is odd. */
  const fragile = {
    ...twoSpeedRules,
    name: 'fragile',
    lua: twoSpeedLua.replace(
      'local debt = debtOf(s, at, r, now)\n    local most',
      "if r.windowMs % 2 == 1 then error('odd') end\n    local debt = debtOf(s, at, r, now)\n    local most"
    )
  }

  it('in Lua fails its decision alone, which charges nothing, and is no outage', async () => {
    const { client } = captured(() => ({ command }))
    const prefix = freshPrefix()
    const store = redisStoreOn(client, { prefix, deadline: '10s', onStoreError: 'deny' }, null)
    const on = (policy: object) =>
      buildLimiter({ ...policy, store } as unknown as LimiterOptions, () => store as never)
    const even = on({ strategy: fragile, limit: 4, window: 3_600_000 })
    const odd = on({ strategy: fragile, limit: 4, window: 3_600_001 })
    const built = on({ strategy: 'gcra', limit: 4, window: '1h' })
    await even.consume('key')
    const decisions = await Promise.allSettled([
      even.consume('key'),
      odd.consume('key'),
      built.consume('key'),
      even.consume('key')
    ])
    expect(decisions).toMatchObject([
      { value: { source: 'store', remaining: 2 } },
      { reason: { code: 'HEADGATE_BAD_STRATEGY', message: expect.stringContaining('odd') } },
      { value: { source: 'store', remaining: 3 } },
      { value: { source: 'store', remaining: 1 } }
    ])
    for (let i = 0; i < 5; i++)
      await expect(odd.consume('key')).rejects.toMatchObject({ code: 'HEADGATE_BAD_STRATEGY' })
    expect(store.isAvailable).toBe(true)
    expect((await even.peek('key')).remaining).toBe(1)
    expect(await askText(servers!.single, 'PING')).toBe('PONG')
  })

  it('in JavaScript is the caller’s to see', async () => {
    const broken = {
      ...twoSpeedRules,
      name: 'broken',
      check: () => {
        throw new RangeError('broken')
      }
    }
    const store = redisStoreOn(connection.client, { prefix: freshPrefix(), onStoreError: 'allow' }, null)
    const policy = { strategy: broken, limit: 4, window: '1h', store }
    const limiter = buildLimiter(policy as LimiterOptions, () => store as never)
    await expect(limiter.consume('key')).rejects.toThrow(RangeError)
    await expect(limiter.peek('key')).rejects.toThrow(RangeError)
    expect(store.isAvailable).toBe(true)
  })
})
