import fc from 'fast-check'
import { afterEach, describe, expect, it, vi } from 'vitest'
import type { Receipt } from '../../src/core/async-store.js'
import { fixedWindow } from '../../src/core/strategies/fixed-window.js'
import type { Verdict } from '../../src/core/verdict.js'
import { createLimiter, type Decision, type Policy } from '../../src/index.js'
import type { LimiterOptions } from '../../src/limiter/options.js'
import { type RedisStore, type RedisStoreOptions, redisStore } from '../../src/redis/index.js'
import windowLua from '../../src/redis/lua/fixed-window.lua'
import { runs } from '../support/traces.js'
import { twoSpeedRules } from '../support/two-speed.js'
import { connected, freshPrefix, servers } from './support/stores.js'
import { until } from './support/until.js'

const connection = connected('ioredis 6', 'single')
const direct = (words: readonly string[]) =>
  (connection.client as { call(...words: readonly string[]): Promise<unknown> }).call(...words)

/** How a server fails: it is not reached, or it does what it is asked and its reply is lost; null if it works. */
type Fault = 'unreached' | 'lossy' | null

/** A limiter whose server fails as a test says, and another that sees what is charged there. */
function failing(policy: object, settings: RedisStoreOptions = {}) {
  const prefix = freshPrefix()
  const faults: { now: Fault; ofPayments: Fault } = { now: null, ofPayments: null }
  const payments: string[][] = []
  const client = async (words: readonly string[]) => {
    // Where this process decides, a payment shows by its mark.
    const isPayment = words.some((word) => word === 'repay' || /;[\w-]{16,} \d+$/.test(word))
    const fault = isPayment ? (faults.ofPayments ?? faults.now) : faults.now
    if (fault === 'unreached') throw new Error('not reached')
    const reply = await direct(words)
    if (isPayment) payments.push([...words])
    if (fault === 'lossy') throw new Error('the connection was lost')
    return reply
  }
  const options = {
    breaker: { failures: 1, cooldown: 20 },
    onStateChange: () => {},
    deadline: '5s',
    ...settings
  }
  const rule = { name: 'api', limit: 100, window: '1h', ...policy }
  const limiterOf = (store: RedisStore) =>
    createLimiter({ ...rule, store } as LimiterOptions & { store: RedisStore })
  const store = redisStore(client, { prefix, ...options })
  const limiter = limiterOf(store)
  const other = limiterOf(redisStore(direct, { prefix, deadline: '5s' }))
  const used = async (key = 'key') => {
    const { limit, remaining, source } = await other.peek(key)
    expect(source).toBe('store')
    return limit - remaining
  }
  /** The server works again, and a decision has found it so. */
  const back = async () => {
    faults.now = null
    await until('the store decides', async () => (await limiter.peek('another')).source === 'store')
  }
  const down = async (fault: Fault = 'unreached') => {
    faults.now = fault
    await limiter.peek('another')
  }
  return { store, prefix, limiter, other, faults, payments, used, back, down }
}

const strategies = [
  'fixed-window',
  'sliding-window',
  'sliding-log',
  'token-bucket',
  'gcra',
  twoSpeedRules
] as const
const named = strategies.map(
  (strategy) => [typeof strategy === 'string' ? strategy : strategy.name, strategy] as const
)

afterEach(() => vi.restoreAllMocks())

describe.skipIf(servers === null)('what was counted here', () => {
  it.each(named)('is charged once, though the reply to it was lost: %s', async (_, strategy) => {
    const { limiter, faults, used, back, down, payments } = failing({ strategy, limit: 1000, window: '365d' })
    await down()
    expect(await limiter.consume('key', 50)).toMatchObject({ allowed: true, source: 'local' })
    faults.ofPayments = 'lossy'
    await back()
    await until('it was charged', async () => (await used()) >= 50)
    // A second outage, in which the key is used more, and a third without.
    for (const more of [7, 0]) {
      await down()
      if (more > 0) expect((await limiter.consume('key', more)).source).toBe('local')
      await back()
    }
    faults.ofPayments = null
    await until('all was charged', async () => (await used()) >= 57)
    const count = payments.length
    await down()
    await back()
    await limiter.peek('key')
    expect(await used()).toBe(57)
    expect(count).toBeGreaterThan(1)
  })

  // Where this process decides, a live decision shows the mark of the payment before, and would fail as one.
  const inLua = named.filter(([, strategy]) => strategy !== twoSpeedRules)
  it.each(inLua)('is charged once, whatever fails in which order: %s', async (_, strategy) => {
    const step = fc.record({
      cost: fc.integer({ min: 1, max: 9 }),
      key: fc.constantFrom('key', 'other'),
      server: fc.constantFrom<Fault>(null, 'unreached'),
      payments: fc.constantFrom<Fault>(null, 'unreached', 'lossy'),
      isGivenBack: fc.boolean()
    })
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 8 }), async (steps) => {
        const { limiter, faults, used, back, down, store } = failing({
          strategy,
          limit: 1000,
          window: '365d'
        })
        const expected: Record<string, number> = { key: 0, other: 0 }
        for (const { cost, key, server, payments, isGivenBack } of steps) {
          faults.ofPayments = payments
          if (server === null) await back()
          else await down(server)
          const units = await taken(limiter, cost, key)
          if (isGivenBack) await units.giveBack().catch(() => {})
          else expected[key]! += cost
        }
        faults.ofPayments = null
        await until('all is as it was used', async () => {
          await down()
          await back()
          for (let i = 0; i < 3; i++) await limiter.peek('another')
          return (await used('key')) === expected.key && (await used('other')) === expected.other
        })
        await store.close()
      }),
      runs(15)
    )
  })

  it('keeps nobody waiting for a key that owes nothing any more', async () => {
    const { limiter, used, back, down } = failing({ strategy: 'gcra', limit: 100, window: 10_000 })
    await down()
    await limiter.consume('little')
    await limiter.consume('key', 100)
    await new Promise((go) => setTimeout(go, 120))
    await back()
    await until('it is charged', async () => (await used()) > 90, 800)
  })

  it('is held against the limit while nobody knows whether it was charged', async () => {
    const { limiter, faults, back, down, used } = failing({ limit: 100 })
    await down()
    await limiter.consume('key', 60)
    faults.ofPayments = 'lossy'
    await back()
    await until('it was charged', async () => (await used()) === 60)
    await down()
    expect(await limiter.consume('key', 41)).toMatchObject({ allowed: false, source: 'local', remaining: 40 })
    expect(await limiter.consume('key', 40)).toMatchObject({ allowed: true, source: 'local' })
    faults.ofPayments = null
    await back()
    await until('all was charged', async () => (await used()) === 100)
  })

  it('is charged when a payment failed, without another outage, and opens no breaker', async () => {
    const { limiter, faults, store, back, down, used } = failing({})
    await down()
    await limiter.consume('key', 5)
    faults.ofPayments = 'unreached'
    await back()
    for (let i = 0; i < 20; i++) {
      expect((await limiter.consume('other')).source).toBe('store')
      expect(store.isAvailable).toBe(true)
    }
    expect(await used()).toBe(0)
    faults.ofPayments = null
    await until('it is charged', async () => (await used()) === 5)
  })
})

describe.skipIf(servers === null)('a strategy of the user that throws while it is charged', () => {
  it('loses that key alone, which is said once', async () => {
    const charge: typeof twoSpeedRules.charge = (...given) => {
      if (given[4] >= 50) throw new RangeError('too much at once')
      twoSpeedRules.charge(...given)
    }
    const strategy = { ...twoSpeedRules, charge }
    const { limiter, used, down, back, store } = failing({ strategy, limit: 1000, window: '365d' })
    const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    await down()
    for (const key of ['one', 'poison', 'toxin', 'two'])
      for (let i = 0; i < (key.length > 3 ? 6 : 1); i++) await limiter.consume(key, 10)
    await back()
    await until(
      'the others are charged',
      async () => (await used('one')) === 10 && (await used('two')) === 10
    )
    expect([await used('poison'), await used('toxin')]).toEqual([0, 0])
    expect(warned.mock.calls).toEqual([
      [
        expect.stringContaining('too much at once'),
        { type: 'HeadgateWarning', code: 'HEADGATE_REPAYMENT_FAILED' }
      ]
    ])
    expect(store.isAvailable).toBe(true)
    await down()
    await limiter.consume('poison', 10)
    await back()
    await until('it is charged', async () => (await used('poison')) === 10)
  })
})

describe.skipIf(servers === null)('a script of the user that fails', () => {
  it('keeps no other key from its turn', async () => {
    const begin = 'charge = function(s, at, r, now, cost)'
    const lua = windowLua.replace(begin, `${begin}\n    if cost >= 50 then error('too much at once') end`)
    expect(lua).not.toBe(windowLua)
    const strategy = { ...fixedWindow, name: 'window-of-mine', lua }
    const { limiter, used, down, back, store } = failing({ strategy, limit: 1000, window: '365d' })
    await down()
    for (const key of ['one', 'poison', 'two']) await limiter.consume(key, key === 'poison' ? 60 : 10)
    await back()
    await until(
      'the others are charged',
      async () => (await used('one')) === 10 && (await used('two')) === 10
    )
    expect(await used('poison')).toBe(0)
    expect(store.isAvailable).toBe(true)
    expect((await limiter.consume('live')).source).toBe('store')
  })
})

/** A limiter as the HTTP gate has it, with limits that are computed for a request. */
interface Computing {
  withLimits(limits: readonly unknown[]): readonly Policy[]
  take(key: string, cost: number, policies: readonly Policy[]): Promise<Verdict>
  look(key: string, policies: readonly Policy[]): Promise<Verdict>
  giveBack(key: string, cost: number, policies: readonly Policy[], receipt: Receipt): Promise<void>
}

/** Takes units, and gives what is to be given for them back later. */
async function taken(limiter: object, cost: number, key = 'key') {
  const own = limiter as Computing
  const { policies } = limiter as { policies: readonly Policy[] }
  const { source, at, charged } = await own.take(key, cost, policies)
  expect(charged).toBe(cost)
  return { source, giveBack: (units = cost) => own.giveBack(key, units, policies, { at, source }) }
}

describe.skipIf(servers === null)('under limit functions', () => {
  it.each(['fixed-window', 'gcra', 'sliding-log'])(
    'the limit of the request is what is charged: %s',
    async (strategy) => {
      // What stands for a limit that is not known yet.
      const { limiter, other, back, down } = failing({ strategy, limit: 1, window: '365d' })
      const [mine, theirs] = [limiter, other] as unknown as Computing[]
      const limits = mine!.withLimits([100])
      await down()
      expect(await mine!.take('key', 60, limits)).toMatchObject({ isAllowed: true, source: 'local' })
      expect(await mine!.take('one', 1, limits)).toMatchObject({ isAllowed: true, source: 'local' })
      await back()
      const left = async (key: string) => (await theirs!.look(key, theirs!.withLimits([100]))).out[0]
      await until('it is charged', async () => (await left('key')) !== 100 && (await left('one')) !== 100)
      expect([await left('key'), await left('one')]).toEqual([40, 99])
    }
  )
})

describe.skipIf(servers === null)('a block', () => {
  it('that was made or met before holds here, and ends as it was to end', async () => {
    const { limiter, other, down, back } = failing({ limit: 3, block: '1h' })
    await limiter.block('by hand', '1m')
    await other.block('met', '1m')
    await limiter.consume('met')
    await limiter.consume('penalty', 4)
    await limiter.consume('penalty', 3)
    await limiter.consume('penalty')
    await limiter.block('short', 30)
    await down()
    for (const key of ['by hand', 'met', 'penalty'])
      expect(await limiter.consume(key), key).toMatchObject({ allowed: false, source: 'local' })
    expect((await limiter.consume('by hand')).retryAfterMs).toBeLessThanOrEqual(60_000)
    expect((await limiter.consume('unknown')).allowed).toBe(true)
    await until('the short one is over', async () => (await limiter.consume('short')).allowed)
    await back()
    for (const key of ['by hand', 'met', 'penalty'])
      expect((await other.consume(key)).allowed, key).toBe(false)
  })

  it('of a request that costs more than is ever admitted is no block without end', async () => {
    const { limiter, other, down } = failing({ limit: 3 })
    await other.block('key', 100)
    expect(await limiter.consume('key', 4)).toMatchObject({
      allowed: false,
      retryAfterMs: Number.POSITIVE_INFINITY
    })
    await down()
    expect((await limiter.consume('key')).source).toBe('local')
    await until('it is over', async () => (await limiter.consume('key')).allowed)
  })

  it('that is made in an outage holds here and is carried to the store, where it shortens none', async () => {
    const { limiter, other, down, back } = failing({ limit: 3, block: '2h' })
    await other.block('longer', '1d')
    await down()
    await expect(limiter.block('by hand', '1m')).rejects.toMatchObject({ code: 'HEADGATE_STORE_FAILED' })
    await expect(limiter.block('longer', '1m')).rejects.toThrow()
    await expect(limiter.block('for ever', Number.POSITIVE_INFINITY)).rejects.toThrow()
    for (let i = 0; i < 4; i++) await limiter.consume('penalty')
    for (const key of ['by hand', 'longer', 'penalty', 'for ever'])
      expect((await limiter.consume(key)).allowed, key).toBe(false)
    await back()
    await until('they are there', async () => !(await other.consume('penalty')).allowed)
    await until('they are there', async () => !(await other.consume('by hand')).allowed)
    const waits = await Promise.all(
      ['by hand', 'longer', 'penalty', 'for ever'].map(async (key) => (await other.peek(key)).retryAfterMs)
    )
    const hour = 3_600_000
    expect(waits[0]).toBeLessThanOrEqual(60_000)
    expect(waits[1]).toBeGreaterThan(23 * hour)
    expect(waits[2]).toBeGreaterThan(hour)
    expect(waits[3]).toBe(Number.POSITIVE_INFINITY)
  })

  it('is lifted by a reset, in an outage too', async () => {
    const { limiter, other, down, back } = failing({})
    await limiter.block('key', '1h')
    await down()
    expect((await limiter.consume('key')).allowed).toBe(false)
    await limiter.reset('key').catch(() => {})
    expect((await limiter.consume('key')).allowed).toBe(true)
    await expect(limiter.block('other', '1h')).rejects.toThrow()
    await limiter.reset('other').catch(() => {})
    await back()
    await limiter.consume('marker')
    expect((await other.consume('other')).allowed).toBe(true)
  })
})

describe.skipIf(servers === null)('what is given back', () => {
  it('is given back in the store, if that was charged for it meanwhile', async () => {
    const { limiter, used, down, back } = failing({ strategy: 'sliding-log' })
    await down()
    const [kept, given] = [await taken(limiter, 4), await taken(limiter, 3)]
    expect(given.source).toBe('local')
    await back()
    await until('it is charged', async () => (await used()) === 7)
    await given.giveBack()
    expect(await used()).toBe(4)
    await kept.giveBack(1)
    expect(await used()).toBe(3)
  })

  it('is given back here as long as it is here', async () => {
    const { limiter, used, down, back } = failing({})
    await down()
    const [, given] = [await taken(limiter, 4), await taken(limiter, 3)]
    await given.giveBack()
    await back()
    await until('it is charged', async () => (await used()) > 0)
    expect(await used()).toBe(4)
  })

  it('waits for the store where that is down, and is given back once', async () => {
    const { limiter, used, down, back } = failing({ strategy: 'sliding-log' })
    const [, given] = [await taken(limiter, 4), await taken(limiter, 3)]
    expect(given.source).toBe('store')
    await down()
    await expect(given.giveBack()).rejects.toMatchObject({ code: 'HEADGATE_STORE_FAILED' })
    expect(await used()).toBe(7)
    await back()
    await until('it is given back', async () => (await used()) === 4)
    await down()
    await back()
    await limiter.peek('key')
    expect(await used()).toBe(4)
  })

  it('is what was leased and not spent, too', async () => {
    const { limiter, store, used, down, back } = failing({ lease: 10 })
    for (let i = 0; i < 3; i++) await limiter.consume('key')
    expect(await used()).toBe(12)
    await down()
    await store.close()
    await back()
    await until('it is given back', async () => (await used()) === 3)
  })

  it('waits until it is known whether the store was charged', async () => {
    const { limiter, faults, used, down, back } = failing({ strategy: 'sliding-log' })
    await down()
    const given = await taken(limiter, 3)
    await taken(limiter, 4)
    faults.ofPayments = 'lossy'
    await back()
    await until('it was charged', async () => (await used()) === 7)
    await given.giveBack()
    expect(await used()).toBe(7)
    faults.ofPayments = null
    await until('it is given back', async () => (await used()) === 4)
  })
})

describe.skipIf(servers === null)('memory in an outage', () => {
  const quiet = async () => {
    throw new Error('down')
  }
  const options = { breaker: { failures: 1, cooldown: '1h' }, onStateChange: () => {} } as const

  it.each([
    ['a long log', { strategy: 'sliding-log', limit: 5000 }, (i: number) => `key${i}`],
    ['long keys', { limit: 100 }, (i: number) => `${i}${'x'.repeat(8000)}`]
  ])('is bounded by bytes: %s', async (_, rule, keyOf) => {
    const limiter = createLimiter({
      window: '1d',
      ...rule,
      store: redisStore(quiet, options)
    } as never) as never as {
      consume(key: string, cost?: number): Promise<Decision>
    }
    await limiter.consume('first', 1)
    const before = memory()
    for (let i = 0; i < 20_000; i++) await limiter.consume(keyOf(i), 1)
    expect((memory() - before) / 2 ** 20).toBeLessThan(80)
    // Those that are kept are as exact as ever.
    expect((await limiter.consume('first', 1)).remaining).toBe(rule.limit - 2)
  })

  it('tells two long keys apart', async () => {
    const limiter = createLimiter({ limit: 1, window: '1d', store: redisStore(quiet, options) })
    const long = 'x'.repeat(300)
    expect((await limiter.consume(`${long}1`)).allowed).toBe(true)
    expect((await limiter.consume(`${long}2`)).allowed).toBe(true)
    expect((await limiter.consume(`${long}1`)).allowed).toBe(false)
  })

  it('says how many keys the store is not charged for', async () => {
    const { limiter, down, back, used } = failing({ strategy: 'sliding-log', limit: 50_000, window: '1d' })
    const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    await down()
    for (let i = 0; i < 200; i++) expect((await limiter.consume(`key${i}`)).allowed).toBe(true)
    await back()
    await until('it is said', () => warned.mock.calls.length > 0)
    const [message, { code }] = warned.mock.calls[0] as unknown as [string, { code: string }]
    expect(code).toBe('HEADGATE_KEYS_LOST')
    const lost = Number(/about (\d+) of them/.exec(message)![1])
    await until('the first is charged', async () => (await used('key0')) === 1)
    const charged = async () => {
      let count = 0
      for (let i = 0; i < 200; i++) count += await used(`key${i}`)
      return count
    }
    await until('the others are', async () => (await charged()) === 200 - lost)
    expect(lost).toBeGreaterThan(0)
    expect(warned).toHaveBeenCalledTimes(1)
  })
})

function memory(): number {
  globalThis.gc?.()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}
