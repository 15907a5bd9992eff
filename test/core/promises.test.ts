import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  anyPolicy,
  anySteps,
  ask,
  limiterOf,
  plain,
  play,
  runs,
  smallPolicy,
  starts
} from '../support/traces.js'

interface Admitted {
  readonly at: number
  readonly cost: number
}

/** What a limiter admits of a trace that is aimed by the model. */
function admittedOf(...[policy, start, steps]: Parameters<typeof play>): Admitted[] {
  const limiter = limiterOf(policy)
  return play(policy, start, steps).filter(({ at, cost }) => cost > 0 && ask(limiter.at(at), cost).allowed)
}

const within = (log: readonly Admitted[], from: number, to: number) =>
  log.reduce((sum, { at, cost }) => sum + (at >= from && at <= to ? cost : 0), 0)

/** The most units in any `length` consecutive instants. */
const mostWithin = (log: readonly Admitted[], length: number) =>
  log.reduce((most, { at }) => Math.max(most, within(log, at, at + length - 1)), 0)

/** What a sliding window's two counters let through within W instants, at the most. */
const worst = (limit: number, windowMs: number) =>
  limit + Math.floor((limit * Math.max(0, windowMs - 2)) / windowMs)

const traces = (name: string) =>
  fc.tuple(fc.oneof(smallPolicy(name), smallPolicy(name), anyPolicy[name]!), starts, anySteps)

describe('fixed-window', () => {
  it('admits at most the limit in each window of the clock', () => {
    fc.assert(
      fc.property(traces('fixed-window'), ([policy, start, steps]) => {
        const windowMs = policy.window as number
        const log = admittedOf(policy, start, steps)
        for (const { at } of log) {
          const from = at - (at % windowMs)
          expect(within(log, from, from + windowMs - 1)).toBeLessThanOrEqual(policy.limit)
        }
      }),
      runs(60)
    )
  })

  it.each(['fixed-window', 'fixed-window from the first request'])(
    '%s admits at most twice the limit in any span of a window',
    (name) => {
      fc.assert(
        fc.property(traces(name), ([policy, start, steps]) => {
          const log = admittedOf(policy, start, steps)
          expect(mostWithin(log, policy.window as number)).toBeLessThanOrEqual(2 * policy.limit)
        }),
        runs(100)
      )
    }
  )
})

describe('sliding-log', () => {
  it('admits at most the limit in every span of a window', () => {
    fc.assert(
      fc.property(traces('sliding-log'), ([policy, start, steps]) => {
        const log = admittedOf(policy, start, steps)
        expect(mostWithin(log, policy.window as number)).toBeLessThanOrEqual(policy.limit)
      }),
      runs(150)
    )
  })
})

describe('sliding-window', () => {
  it('never admits more than limit + ⌊limit · (W − 2) / W⌋ in a span of W', () => {
    fc.assert(
      fc.property(traces('sliding-window'), ([policy, start, steps]) => {
        const windowMs = policy.window as number
        const log = admittedOf(policy, start, steps)
        expect(mostWithin(log, windowMs)).toBeLessThanOrEqual(worst(policy.limit, windowMs))
      }),
      runs(200)
    )
  })

  it.each([
    [1, 1],
    [3, 1],
    [2, 2],
    [1, 3],
    [5, 3],
    [10, 60_000],
    [100, 60_000],
    [7, 1000],
    [1000, 250],
    [3_474_999, 2_592_000_000]
  ])('reaches that bound with limit %i and window %i', (limit, window) => {
    const limiter = limiterOf({ strategy: 'sliding-window', limit, window })
    const start = 10 * window
    const log = [start + window - 1, start + 2 * window - 2].map((at) => {
      const cost = limiter.at(at).peek('key').remaining
      if (cost > 0) limiter.consume('key', cost)
      return { at, cost }
    })
    expect(within(log, start + window - 1, start + 2 * window - 2)).toBe(worst(limit, window))
  })

  it.each([
    [1, 1],
    [1, 2],
    [1, 4],
    [2, 2],
    [2, 3],
    [2, 4],
    [3, 3]
  ])('has exactly that bound over all traces of limit %i and window %i', (limit, window) => {
    const length = 2 * window
    const count = (limit + 1) ** length
    const limiter = limiterOf({ strategy: 'sliding-window', limit, window })
    const logs = Array.from({ length: count }, (): Admitted[] => [])
    for (let at = 0; at < length; at++) {
      limiter.at(at)
      for (let i = 0; i < count; i++) {
        const cost = Math.floor(i / (limit + 1) ** at) % (limit + 1)
        if (cost > 0 && limiter.consume(i, cost).allowed) logs[i]!.push({ at, cost })
      }
    }
    const most = logs.reduce((found, log) => Math.max(found, mostWithin(log, window)), 0)
    expect(most).toBe(worst(limit, window))
  })
})

describe('buckets', () => {
  it.each(['token-bucket', 'token-bucket with burst', 'gcra', 'gcra with burst', 'leaky-bucket'])(
    '%s admits at most capacity and what the rate gives in any span',
    (name) => {
      fc.assert(
        fc.property(traces(name), ([policy, start, steps]) => {
          const log = admittedOf(policy, start, steps)
          const capacity = limiterOf(policy).peek('key').limit
          log.forEach(({ at: from }, i) => {
            let sum = 0n
            for (const { at, cost } of log.slice(i)) {
              sum += BigInt(cost)
              const span = BigInt(at - from)
              const paid = (BigInt(policy.limit) * span) / BigInt(policy.window as number)
              expect(sum <= BigInt(capacity) + paid, `${sum} in ${span} ms`).toBe(true)
            }
          })
        }),
        runs(100)
      )
    }
  )

  it.each(['token-bucket', 'token-bucket with burst'])('%s and gcra decide alike', (name) => {
    fc.assert(
      fc.property(traces(name), ([policy, start, steps]) => {
        const one = limiterOf(policy)
        const other = limiterOf({ ...policy, strategy: 'gcra' })
        for (const { at, cost } of play(policy, start, steps))
          expect(plain(ask(other.at(at), cost))).toEqual(plain(ask(one.at(at), cost)))
      }),
      runs(150)
    )
  })

  it('a leaky bucket lets requests go at the rate, but for the first delayAfter', () => {
    fc.assert(
      fc.property(traces('leaky-bucket'), ([policy, start, steps]) => {
        const { limit, delayAfter = 0 } = policy
        const limiter = limiterOf(policy)
        const gone: number[] = []
        for (const { at } of play(policy, start, steps)) {
          const { allowed, delayMs } = limiter.at(at).consume('key')
          if (allowed) gone.push(at + delayMs!)
          else expect(delayMs).toBe(0)
        }
        expect(gone).toEqual(gone.toSorted((a, b) => a - b))
        gone.forEach((from, i) => {
          gone.slice(i).forEach((to, more) => {
            const spare = BigInt(more - delayAfter) * BigInt(policy.window as number)
            expect(spare < BigInt(to - from + 1) * BigInt(limit)).toBe(true)
          })
        })
      }),
      runs(100)
    )
  })
})
