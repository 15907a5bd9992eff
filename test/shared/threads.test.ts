import { availableParallelism } from 'node:os'
import { describe, expect, it } from 'vitest'
import { createLimiter, type WindowOptions } from '../../src/index.js'
import { sharedStore } from '../../src/shared/index.js'
import { type Call, isLinearizable } from './support/history.js'
import { threads } from './support/threads.js'
import { uniformRules } from './support/uniform.js'

const T = 1_700_000_400_000

/** How much more than usual is run: with 600 about 4 million decisions on one key and 20 million on many. */
const scale = Number(process.env.THREAD_RUNS ?? 1)
const timeout = 30_000 + scale * 10_000

const { run, start } = threads()
const cores = Math.max(2, availableParallelism())
const clockAt = (time: number) => {
  const clock = new BigInt64Array(new SharedArrayBuffer(8))
  clock[0] = BigInt(time)
  return clock
}
const counters = (count: number) => new Int32Array(new SharedArrayBuffer(4 * count))

/** What one key is admitted by a limiter that is asked until it denies, at each tick of the clock. */
function modelOf(policy: WindowOptions, end: number, tickMs: number): number {
  let now = T
  let admitted = 0
  const limiter = createLimiter({ ...policy, now: () => now })
  for (; ; now += tickMs) {
    while (limiter.consume('key').allowed) admitted++
    if (now >= end) return admitted
  }
}

const policies: readonly WindowOptions[] = [
  { limit: 50, window: 100 },
  { limit: 50, window: 100, align: 'first-request' },
  { strategy: 'sliding-window', limit: 50, window: 100 },
  { strategy: 'token-bucket', limit: 50, window: 100, burst: 80 },
  { strategy: 'gcra', limit: 53, window: 101 },
  { strategy: 'leaky-bucket', limit: 50, window: 100, burst: 20 },
  { strategy: 'sliding-log', limit: 20, window: 40 }
]

describe('worker threads', () => {
  it('CON-03: share one allowance', async () => {
    const policy = { name: 'api', limit: 10, window: '60s' } as const
    for (const keys of [['one'], ['a', 'b', 'c']]) {
      const { handle } = sharedStore()
      const works = [1, 2, 3, 4].map(
        () => ({ kind: 'hit', handle, clock: clockAt(T), policy, keys, count: 25 }) as const
      )
      const admitted = (await run(works)) as number[][]
      for (const i of keys.keys()) expect(admitted.reduce((sum, each) => sum + each[i]!, 0)).toBe(10)
    }
  })

  it('STO-28: may make their limiter before the store has come', async () => {
    const policy = { limit: 10, window: '60s' } as const
    const worker = start({ kind: 'late', policy })
    const next = () => new Promise((resolve) => worker.once('message', resolve))
    expect(await next()).toMatchObject({
      code: 'HEADGATE_STORE_FAILED',
      message: expect.stringContaining('not come to this thread yet')
    })
    const store = sharedStore()
    createLimiter({ ...policy, store }).consume('key', 4)
    const answer = next()
    worker.postMessage(store.handle)
    expect(await answer).toMatchObject({ allowed: true, remaining: 5 })
  })

  it.each(policies.flatMap((policy) => [[policy, 1] as const, [policy, 24] as const]))(
    'admit exactly what one thread would, while windows end: %o, %i keys',
    async (policy, count) => {
      const keys = Array.from({ length: count }, (_, i) => `key ${i}`)
      const tickMs = 7
      const end = T + tickMs * Math.ceil((scale * 1500) / Math.sqrt(count))
      const admitted = counters(count)
      const decisions = counters(1)
      const { handle } = sharedStore({ maxKeys: 100 })
      const clock = clockAt(T)
      const work = {
        kind: 'saturate',
        handle,
        clock,
        policy,
        keys,
        admitted,
        decisions,
        end,
        tickMs
      } as const
      await run(Array.from({ length: cores }, () => work))
      const reached = Number(clock[0])
      expect([...admitted]).toEqual(keys.map(() => modelOf(policy, reached, tickMs)))
      expect(decisions[0]).toBeGreaterThan(scale * 2000)
    },
    timeout
  )

  it(
    'never decide on numbers that were not written together, nor lose a charge',
    async () => {
      const count = 20_000 * scale
      const store = sharedStore({ maxKeys: 100 })
      const work = {
        kind: 'uniform',
        handle: store.handle,
        clock: clockAt(T),
        gate: counters(1),
        count
      } as const
      expect(await run([work, work])).toEqual([0, 0])
      const policy = { strategy: uniformRules, limit: 1_000_000_000, window: '1h' } as const
      const left = createLimiter({ ...policy, store, now: () => T }).peek('key').remaining
      expect(policy.limit - left).toBe(2 * count)
    },
    timeout
  )

  it(
    'answer in an order that one thread could have asked in',
    async () => {
      const limit = 6
      const policy = { name: 'api', limit, window: '1h' } as const
      const rounds = 1000 * scale
      const { handle } = sharedStore({ maxKeys: rounds })
      const gate = counters(1)
      const of = { kind: 'history', handle, clock: clockAt(T), policy, gate, threads: cores, rounds } as const
      const histories = (await run(
        Array.from({ length: cores }, (_, i) => ({ ...of, seed: 7 + i }))
      )) as Call[][][]
      let overlapping = 0
      for (let round = 0; round < rounds; round++) {
        const calls = histories.flatMap((history) => history[round]!)
        const [first, second] = [histories[0]![round]!, histories[1]![round]!]
        if (first.some((a) => second.some((b) => a.begin < b.end && b.begin < a.end))) overlapping++
        expect(isLinearizable(calls, limit), `round ${round}`).toBe(true)
      }
      expect(overlapping).toBeGreaterThan(rounds / 200)
    },
    timeout
  )
})

describe('the check of histories', () => {
  const call = (begin: number, end: number, remaining: number, allowed = true): Call => ({
    ...{ kind: 'consume', cost: 1, allowed, remaining },
    ...{ begin, end }
  })

  it('takes calls at once in any order, and others only in theirs', () => {
    expect(isLinearizable([call(0, 9, 0), call(1, 8, 1)], 2)).toBe(true)
    expect(isLinearizable([call(0, 4, 0), call(5, 8, 1)], 2)).toBe(false)
    expect(isLinearizable([call(0, 9, 1), call(1, 8, 1)], 2)).toBe(false)
    expect(isLinearizable([call(0, 9, 0, false), call(1, 8, 0)], 1)).toBe(true)
  })
})
