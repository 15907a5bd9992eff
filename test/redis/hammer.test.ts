import { describe, expect, it } from 'vitest'
import { everyStrategy } from '../store-suite/suite/limiter-on.js'
import { freshPrefix, servers } from './support/stores.js'
import type { Work } from './support/worker.js'
import { workers } from './support/workers.js'

const { run } = workers()
const limit = 300

/** Windows that no test outlives, nor gains a unit in: processes cannot be given a manual clock. */
const window = '365d'

const eight = (work: Partial<Work>): Work[] => {
  const store = { prefix: freshPrefix(), deadline: '20s' }
  const whole = {
    ...{ port: servers!.single, keys: ['key'], count: 150, atOnce: 20, limiter: {} },
    ...work,
    store
  }
  return Array<Work>(8).fill(whole)
}

const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0)

describe.skipIf(servers === null)('eight processes that hammer', () => {
  it.each([...everyStrategy, ['leaky-bucket', { strategy: 'leaky-bucket', burst: limit - 1 }] as const])(
    'one key are admitted exactly the limit by %s (CON-01)',
    async (_, extra) => {
      const answers = await run(eight({ limiter: { name: 'api', limit, window, ...extra } }))
      expect(sum(answers.flatMap(({ admitted }) => admitted))).toBe(limit)
      expect(answers.flatMap(({ sources }) => Object.keys(sources))).toEqual(Array(8).fill('store'))
      const remaining = answers.flatMap((answer) => answer.remaining).toSorted((a, b) => a - b)
      expect(remaining).toEqual(Array.from({ length: limit }, (_, i) => i))
    }
  )

  it('two keys under two tiers are admitted exactly what the tighter one allows each', async () => {
    const limits = [
      { name: 'tight', strategy: 'gcra', limit, window },
      { name: 'wide', strategy: 'sliding-log', limit: limit + 1, window }
    ]
    const answers = await run(eight({ limiter: { limits }, keys: ['a', 'b'], count: 300 }))
    for (const key of [0, 1]) expect(sum(answers.map(({ admitted }) => admitted[key]!))).toBe(limit)
  })

  it('one key with leases are admitted exactly the limit of a fixed window, and end by themselves', async () => {
    const limiter = { name: 'api', limit, window, lease: 10 }
    const answers = await run(eight({ limiter, count: 400, isLast: true }))
    const total = sum(answers.flatMap(({ admitted }) => admitted))
    expect(total).toBeLessThanOrEqual(limit)
    // What one process holds at the end of its work another may be denied.
    expect(total).toBeGreaterThanOrEqual(limit - 8 * 10)
    expect(sum(answers.map(({ sources }) => sources.lease ?? 0))).toBeGreaterThan(0)
  })

  it('one key of a strategy without Lua are never admitted more than the limit', async () => {
    const limiter = { name: 'api', limit: 60, window, strategy: 'two-speed', onStoreError: 'deny' }
    const works = eight({ limiter, count: 60, atOnce: 4 }).slice(0, 4)
    const answers = await run(works)
    const total = sum(answers.flatMap(({ admitted }) => admitted))
    const undecided = sum(answers.map(({ sources }) => sources.deny ?? 0))
    expect(total).toBeLessThanOrEqual(60)
    expect(total + undecided).toBeGreaterThanOrEqual(60)
  })
})

describe.skipIf(servers === null)('a process that forgets to close its store (MEM-04)', () => {
  it('ends by itself nevertheless, with a lease in its hands', async () => {
    const limiter = { name: 'api', limit, window, lease: 10 }
    const [work] = eight({ limiter, count: 5, atOnce: 1 })
    const begun = performance.now()
    const [answer] = await run([{ ...work!, isLeftOpen: true, isLast: true }])
    expect(answer!.sources.lease).toBeGreaterThan(0)
    expect(performance.now() - begun).toBeLessThan(2000)
  })
})

describe.skipIf(servers === null)('processes whose clocks differ (STO-18)', () => {
  it.each([
    ['token-bucket', 3_600_000],
    ['token-bucket', -3_600_000],
    ['sliding-window', 3_600_000],
    ['sliding-window', -3_600_000],
    ['sliding-log', 3_600_000]
  ])('are admitted by the server’s time: %s, %i ms', async (strategy, skewMs) => {
    // So long that the real time in which the processes start gives nothing back.
    const limiter = { name: 'api', limit: 4, window: '1h', strategy }
    const [even] = eight({ limiter, count: 4, atOnce: 1 })
    const skewed = { ...even!, skewMs }
    const answers = [...(await run([skewed])), ...(await run([even!])), ...(await run([skewed]))]
    expect(answers.map(({ admitted }) => admitted[0])).toEqual([4, 0, 0])
  })
})
