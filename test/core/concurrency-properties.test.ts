import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createLimiter, type Permit } from '../../src/index.js'

beforeEach(() => void vi.useFakeTimers({ now: 1_700_000_000_000 }))
afterEach(() => void vi.useRealTimers())

/** Numbers by a seed: xorshift32. */
function random(seed: number) {
  let state = seed | 1
  return (below: number) => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) % below
  }
}

const limits = { concurrency: 5, queue: 7 }
const maxWaitMs = 300

/** One request of a simulation. */
interface Asked {
  readonly key: string
  readonly cost: number
  readonly arrived: number
  readonly at: number
  readonly leaving: AbortController
  state: 'waiting' | 'held' | 'over'
}

/** Requests that come, wait, work, fail and leave at random, until so many have come; each is checked as it happens. */
async function simulate(seed: number, requests: number): Promise<Record<string, number>> {
  const draw = random(seed)
  const limiter = createLimiter({ ...limits, maxWait: maxWaitMs, now: () => Date.now() })
  const out = new Map<string, number>()
  /** When the last of a key that had to wait came, of those that were let in. */
  const lastLetIn = new Map<string, number>()
  const seen = { admitted: 0, waited: 0, denied: 0, left: 0 }
  const open = new Set<Asked>()

  const settle = (asked: Asked, permit: Permit) => {
    const { key, cost, at } = asked
    expect(asked.state).toBe('waiting')
    const waitedMs = Date.now() - at
    expect(waitedMs).toBeLessThanOrEqual(maxWaitMs)
    if (!permit.allowed) {
      asked.state = 'over'
      open.delete(asked)
      seen.denied++
      return
    }
    const now = (out.get(key) ?? 0) + cost
    expect(now).toBeLessThanOrEqual(limits.concurrency)
    out.set(key, now)
    seen.admitted++
    if (waitedMs > 0) seen.waited++
    // Nobody is let in before somebody who came earlier and still waits.
    expect(asked.arrived).toBeGreaterThan(lastLetIn.get(key) ?? -1)
    lastLetIn.set(key, asked.arrived)
    asked.state = 'held'
    setTimeout(() => finish(asked, permit), draw(120))
  }
  const finish = (asked: Asked, permit: Permit) => {
    asked.state = 'over'
    open.delete(asked)
    out.set(asked.key, out.get(asked.key)! - asked.cost)
    permit.release()
    if (draw(3) === 0) permit.release()
  }

  for (let arrived = 0; arrived < requests; arrived++) {
    const asked: Asked = {
      ...{ key: `key ${draw(4)}`, cost: 1 + draw(3), arrived, at: Date.now() },
      leaving: new AbortController(),
      state: 'waiting'
    }
    open.add(asked)
    limiter.acquire(asked.key, asked.cost, { signal: asked.leaving.signal }).then(
      (permit) => settle(asked, permit),
      () => {
        seen.left++
        asked.state = 'over'
        open.delete(asked)
      }
    )
    if (draw(10) === 0) setTimeout(() => asked.leaving.abort(), draw(200))
    // Some come at the same moment.
    if (draw(3) === 0) await vi.advanceTimersByTimeAsync(draw(60))
  }
  await vi.advanceTimersByTimeAsync(10_000)
  expect(open.size).toBe(0)
  for (const [key, count] of out) {
    expect(count).toBe(0)
    expect(limiter.peek(key)).toMatchObject({ allowed: true, remaining: limits.concurrency, resetMs: 0 })
  }
  expect(limiter.size()).toBe(0)
  return seen
}

describe('what is in flight', () => {
  it('100 000 requests: never more than the limit, none lost, the order kept, nobody served who has left', async () => {
    const all = await simulate(20_261_201, 100_000)
    for (const count of Object.values(all)) expect(count).toBeGreaterThan(1000)
  })

  it('whatever happens in whatever order', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 2 ** 31 - 1 }),
        async (seed) => void (await simulate(seed, 200))
      ),
      { numRuns: 25 }
    )
  })
})
