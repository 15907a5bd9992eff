import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createLimiter } from '../../src/index.js'
import { buildLimiter, type LimiterOptions } from '../../src/limiter/options.js'
import type { RedisStoreOptions } from '../../src/redis/options.js'
import { redisStoreOn } from '../../src/redis/store.js'
import { takeUnder } from '../store-suite/clocked-store.js'
import { admitted, inTurn } from '../store-suite/suite/limiter-on.js'
import { policyNames, runs, smallPolicy } from '../support/traces.js'
import { ask, askText, type Reply } from './support/ask.js'
import { captured } from './support/captured.js'
import { type Server, startSingle } from './support/servers.js'
import { connected, freshPrefix, servers } from './support/stores.js'
import { until } from './support/until.js'

const connection = connected('ioredis 6', 'single')

/** A store on the server's own clock, under a prefix that only it has. */
function onServer(options: object, settings: RedisStoreOptions = {}, prefix = freshPrefix()) {
  const store = redisStoreOn(connection.client, { prefix, deadline: '10s', ...settings }, null)
  const limiter = buildLimiter({ ...options, store } as unknown as LimiterOptions, () => store as never)
  const send = (...command: (string | number)[]) => ask(servers!.single, ...command)
  const keys = async () => ((await send('KEYS', `${prefix}*`)) as string[]).toSorted()
  const lives = async () => {
    const answers: number[] = []
    // A key may end between the two questions.
    for (const key of await keys()) answers.push(Number(await send('PTTL', key)))
    return answers.filter((life) => life !== -2)
  }
  return { limiter, store, prefix, keys, lives, send }
}

const strategies = ['fixed-window', 'sliding-window', 'sliding-log', 'token-bucket', 'gcra'] as const

describe.skipIf(servers === null)('STO-01: what others have written', () => {
  const garbage = ['x'.repeat(32), 'x'.repeat(16), '\0'.repeat(32), '\xff'.repeat(32), '0'.repeat(184)]

  it.each(strategies.flatMap((strategy) => ['50', '', ...garbage].map((text) => [strategy, text] as const)))(
    'is no obstacle to %s: %j',
    async (strategy, text) => {
      const { limiter, keys, lives, send } = onServer({ strategy, limit: 2, window: '1h' })
      await limiter.consume('A')
      const held = await keys()
      for (const key of held) await send('SET', key, text)
      const decisions = await inTurn([1, 2, 3], async () => limiter.consume('A'))
      expect(admitted(decisions)).toEqual([200, 200, 429])
      expect(decisions.map(({ source }) => source)).toEqual(['store', 'store', 'store'])
      // Beside a log of its own, a limiter’s first key is read for blocks only, and left as it is.
      const isBeside = strategy === 'sliding-log'
      for (const life of (await lives()).slice(isBeside ? 1 : 0)) expect(life).toBeGreaterThan(0)
    }
  )

  it.each(strategies)('is no obstacle to %s where it is of another type', async (strategy) => {
    const { limiter, keys, lives, send } = onServer({ strategy, limit: 2, window: '1h' })
    await limiter.consume('A')
    for (const key of await keys()) {
      await send('DEL', key)
      await send('LPUSH', key, 'x')
    }
    const decisions = await inTurn([1, 2, 3], async () => limiter.consume('A'))
    expect(admitted(decisions)).toEqual([200, 200, 429])
    for (const life of await lives()) expect(life).toBeGreaterThan(0)
  })

  it('is given an end by the next request that is admitted', async () => {
    const { limiter, keys, lives, send } = onServer({ strategy: 'gcra', limit: 1, window: 200 })
    await limiter.consume('A')
    for (const key of await keys()) await send('PERSIST', key)
    // The window is of the server's clock, which stands still for nobody.
    await until('A is admitted', async () => (await limiter.consume('A')).allowed)
    for (const life of await lives()) expect(life).toBeGreaterThan(0)
  })
})

describe.skipIf(servers === null)('STO-04: a lost script cache', () => {
  // Of its own, for others count the calls that they make.
  let server: Server
  beforeAll(async () => {
    server = await startSingle()
  })
  afterAll(() => server.kill9())

  it('is filled again, and each request counted once', async () => {
    const client = (words: readonly string[]) => ask(server.port, ...words)
    const store = redisStoreOn(client, { deadline: '10s' }, null)
    const limiter = createLimiter({ limit: 200, window: '365d', store })
    const send = (...words: readonly string[]) => ask(server.port, ...words)
    await limiter.consume('A')
    await send('SCRIPT', 'FLUSH')
    expect(await limiter.consume('A')).toMatchObject({ allowed: true, remaining: 198, source: 'store' })
    await send('SCRIPT', 'FLUSH')
    const decisions = await Promise.all(Array.from({ length: 100 }, async () => limiter.consume('A')))
    expect(admitted(decisions)).toEqual(Array(100).fill(200))
    expect((await limiter.peek('A')).remaining).toBe(98)
  })
})

describe.skipIf(servers === null)('how long keys live', () => {
  const day = 86_400_000

  it('STO-12: each limiter’s as long as its window', async () => {
    const one = onServer({ limit: 10, window: '30d', align: 'first-request' })
    const other = onServer({ limit: 5, window: '1h', align: 'first-request' })
    await one.limiter.consume('A')
    await inTurn([1, 2, 3, 4, 5, 6], async () => other.limiter.consume('A'))
    expect((await one.limiter.peek('A')).remaining).toBe(9)
    const [[long], [short]] = [await one.lives(), await other.lives()]
    expect(long! / day).toBeCloseTo(30, 2)
    expect(short! / 3_600_000).toBeCloseTo(1, 2)
  })

  it('STO-29: is each tier’s own matter', async () => {
    const limits = [
      { limit: 5, window: '1m', align: 'first-request' },
      { limit: 5, window: '5m', align: 'first-request' }
    ]
    const { limiter, lives } = onServer({ limits })
    await limiter.consume('A')
    expect((await lives())[0]! / 60_000).toBeCloseTo(5, 1)
  })

  it('is not cut by a higher limit that was computed for one request of the same call', async () => {
    const { limiter, lives } = onServer({ strategy: 'token-bucket', limit: 2, window: '1h' })
    await Promise.all([limiter.consume('A', 2), takeUnder(limiter, [1000], 'A', 1)])
    expect((await lives())[0]).toBeGreaterThan(3_500_000)
  })

  it.each(['token-bucket', 'leaky-bucket'])(
    'is as long as it owes under the lowest limit: %s',
    async (strategy) => {
      const { limiter, lives } = onServer({
        strategy,
        limit: 100,
        window: '1h',
        ...(strategy === 'leaky-bucket' ? { burst: 9 } : {})
      })
      await limiter.consume('A', 10)
      expect((await lives())[0]! / 3_600_000).toBeCloseTo(0.1, 2)
      await takeUnder(limiter, [Number.POSITIVE_INFINITY], 'A', 1)
      expect((await lives())[0]! / 3_600_000).toBeCloseTo(0.1, 2)
      // A limit of 2 is seen, for a key that is then forgotten.
      await takeUnder(limiter, [2], 'B', 1)
      await limiter.reset('B')
      await limiter.refund('A', 4)
      expect((await lives())[0]! / 3_600_000).toBeCloseTo(3, 2)
      await takeUnder(limiter, [1000], 'A', 1)
      expect((await lives())[0]! / 3_600_000).toBeCloseTo(3.5, 2)
      await limiter.consume('A', 1)
      expect((await lives())[0]! / 3_600_000).toBeCloseTo(4, 2)
    }
  )

  const deed = fc.record({
    kind: fc.constantFrom('ask', 'ask', 'ask', 'vary', 'refund', 'block', 'reset', 'spend'),
    key: fc.constantFrom('a', 'b', 'c'),
    cost: fc.integer({ min: 1, max: 9 }),
    limit: fc.constantFrom(0, 1, 4, 40, Number.POSITIVE_INFINITY)
  })

  it.each(policyNames)('STO-22: is bounded: %s', async (name) => {
    const extras = fc.record({ block: fc.constantFrom(undefined, 300), countDenied: fc.boolean() })
    await fc.assert(
      fc.asyncProperty(
        smallPolicy(name),
        extras,
        fc.array(deed, { maxLength: 25 }),
        async (policy, extra, deeds) => {
          const { limiter, lives } = onServer({ ...policy, ...extra })
          const windowMs = policy.window as number
          const units = policy.burst === undefined ? policy.limit : policy.burst + 1
          // Two windows of a sliding one, a full bucket, a block; and what is owed under a limit of 1 for one request.
          const usual = Math.max(
            2 * windowMs,
            Math.ceil((units * windowMs) / policy.limit),
            250,
            extra.block ?? 0
          )
          const longest = deeds.some(({ kind }) => kind === 'vary') ? Math.max(usual, 40 * windowMs) : usual
          for (const { kind, key, cost, limit } of deeds) {
            if (kind === 'ask') await limiter.consume(key, cost)
            else if (kind === 'vary') await takeUnder(limiter, [limit], key, cost)
            else if (kind === 'refund') await limiter.refund(key, cost)
            else if (kind === 'block') await limiter.block(key, 250)
            else if (kind === 'reset') await limiter.reset(key)
            else await limiter.charge(key, cost, limiter.policies)
          }
          for (const life of await lives()) {
            // The last millisecond is rounded down; -1 is no end.
            expect(life).toBeGreaterThanOrEqual(0)
            expect(life).toBeLessThanOrEqual(longest)
          }
        }
      ),
      runs(8)
    )
  })

  it.each(policyNames)('STO-22: is over two windows after the last request: %s', async (name) => {
    const policy = fc.sample(smallPolicy(name), { numRuns: 1, seed: 1 })[0]!
    const { limiter, keys, lives } = onServer({ ...policy, limit: 4, window: 60, block: 100 })
    for (let i = 0; i < 40; i++) await limiter.consume(`key${i % 10}`, 1 + (i % 3))
    for (const life of await lives()) expect(life).toBeLessThanOrEqual(Math.max(2 * 60, 100) + 60)
    await until('no key is left', async () => (await keys()).length === 0, 3000)
  })

  it('STO-25: a block without end has one, in ten years', async () => {
    const { limiter, lives } = onServer({ limit: 1, window: '1s' })
    await limiter.block('A', Infinity)
    expect(admitted(await inTurn([1, 2, 3], async () => limiter.consume('A')))).toEqual([429, 429, 429])
    const [life] = await lives()
    expect(life! / day / 365).toBeCloseTo(10, 1)
    await limiter.reset('A')
    expect((await limiter.consume('A')).allowed).toBe(true)
  })
})

describe.skipIf(servers === null)('STO-14: keys', () => {
  const hostile = [
    '{',
    '}',
    '{}',
    '{a}',
    '}{',
    'a}b{c',
    '#',
    '#a',
    ' ',
    '\0',
    '\r\n',
    '\ud800',
    'ü',
    '\u{1f600}'
  ]
  const keyText = fc.oneof(
    fc.string({ minLength: 1, maxLength: 300 }),
    fc.string({ unit: 'binary', minLength: 1, maxLength: 40 }),
    fc.constantFrom(...hostile, 'k'.repeat(100_000))
  )

  it('of one call are of one slot, all declared and of bounded length', async () => {
    const direct = reader()
    const client = captured(() => direct)
    const prefix = freshPrefix()
    const store = redisStoreOn(client.client, { prefix, cluster: true, deadline: '20s' }, null)
    const limits = [
      { name: 'one', limit: 5, window: '1h' },
      { name: 'log', strategy: 'sliding-log', limit: 20, window: '1h' }
    ]
    const limiter = buildLimiter({ limits, store }, () => store as never)
    const keys = fc.sample(keyText, { numRuns: 1000, seed: 7 })
    await Promise.all(
      keys.map(async (key) => {
        await limiter.consume(key)
        await limiter.block(key, '1m')
        await limiter.refund(key)
        await limiter.reset(key)
        await limiter.consume(key)
      })
    )
    expect(client.calls.length).toBeGreaterThan(1000)
    const tags = new Set<string>()
    for (const { keys: declared, key } of client.calls) {
      expect(key).toBe(declared[0])
      // One tag, so one slot (cluster specification, "Hash tags").
      const own = new Set(declared.map((name) => /^[^{]*\{([^}]+)\}/.exec(name)?.[1]))
      const slots = new Set<Reply>()
      for (const tag of own) slots.add(await ask(servers!.cluster[0]!, 'CLUSTER', 'KEYSLOT', tag!))
      expect(slots.size).toBe(1)
      for (const name of declared) {
        expect(name).toMatch(/^[\x21-\x7e]{1,300}$/)
        expect(name.startsWith(`${prefix}{`)).toBe(true)
      }
      for (const tag of own) tags.add(tag!)
    }
    expect(tags.size).toBe(new Set(keys).size)
    const written = (await ask(servers!.single, 'KEYS', `${prefix}*`)) as string[]
    const declared = new Set(client.calls.flatMap((call) => call.keys))
    expect(written.filter((name) => !declared.has(name))).toEqual([])
  })

  /** The client of the file, as one that sends any command. */
  function reader() {
    return {
      command: (...command: readonly string[]) =>
        (connection.client as { call(...command: readonly string[]): Promise<unknown> }).call(...command)
    }
  }
})

describe.skipIf(servers === null)('CFG-04: a window of 0', () => {
  it('is refused before anything is asked', async () => {
    const before = await askText(servers!.single, 'DBSIZE')
    for (const window of [0, '0s', -5, Number.NaN])
      expect(() => onServer({ limit: 1, window })).toThrow(
        expect.objectContaining({ code: 'HEADGATE_BAD_OPTION', message: expect.stringContaining('`window`') })
      )
    expect(before).toBeDefined()
  })
})
