import { describe, expect, it } from 'vitest'
import { createLimiter, type Limiter } from '../../src/index.js'
import type { AttachedBuffer } from '../../src/shared/buffer.js'
import { type SharedHandle, type SharedStore, sharedStore } from '../../src/shared/index.js'
import { concurrencySuite } from '../store-suite/concurrency-suite.js'
import { naming } from '../support/errors.js'
import { alternatingPermits } from './support/alternating-permits.js'

const T = 1_700_000_400_000
const now = () => T

concurrencySuite('shared', () => sharedStore({ maxKeys: 200 }))
concurrencySuite('shared by two in turn', () => alternatingPermits(sharedStore({ maxKeys: 200 })))

/** Another attachment to a store, as another thread has it. */
const another = (store: SharedStore) => sharedStore({ from: structuredClone(store.handle) })

/** A limiter of each of several attachments. */
function limitersOf(options: object, count = 2, store = sharedStore({ maxKeys: 100 })): Limiter[] {
  const stores = [store, ...Array.from({ length: count - 1 }, () => another(store))]
  return stores.map((each) => createLimiter({ now, ...options, store: each } as never))
}

type Varying = Limiter & {
  withLimits(limits: readonly unknown[]): Limiter['policies']
  take(key: string, cost: number, policies: Limiter['policies']): { isAllowed: boolean; permit?: number }
}

describe('permits of a shared store', () => {
  it('are counted together, and released by whoever has them', () => {
    const [a, b] = limitersOf({ concurrency: 3 })
    const two = a!.acquire('key', 2)
    expect(b!.acquire('key', 2)).toMatchObject({ allowed: false, remaining: 1 })
    const one = b!.acquire('key')
    expect([a!.acquire('key').allowed, b!.acquire('key').allowed]).toEqual([false, false])
    expect(b!.acquire('other', 3).allowed).toBe(true)
    expect([a!.size(), b!.size()]).toEqual([2, 2])
    two.release()
    two.release()
    expect(b!.peek('key').remaining).toBe(2)
    one.release()
    expect([a!.peek('key').remaining, a!.size()]).toEqual([3, 1])
  })

  it('may be of many threads for one key', () => {
    const limiters = limitersOf({ concurrency: 100 }, 101)
    const permits = limiters.map((limiter) => limiter.acquire('key'))
    expect(permits.map(({ allowed }) => allowed)).toEqual([...Array(100).fill(true), false])
    expect(limiters[100]!.size()).toBe(1)
    for (const [i, permit] of permits.entries()) {
      permit.release()
      expect(limiters[0]!.peek('key').remaining).toBe(Math.min(100, i + 1))
    }
    expect(limiters[0]!.size()).toBe(0)
  })

  it('of more threads than a key has room for are too few, never too many', () => {
    const limiters = limitersOf({ concurrency: 1000 }, 300)
    const permits = limiters.map((limiter) => limiter.acquire('key'))
    const allowed = permits.filter((permit) => permit.allowed).length
    expect(allowed).toBe(180)
    expect(permits.at(-1)).toMatchObject({ allowed: false, remaining: 0, retryAfterMs: Number.NaN })
    permits[7]!.release()
    expect(limiters.at(-1)!.acquire('key').allowed).toBe(true)
  })

  it('are refused where the table is full, and given again where there is room', () => {
    const [a, b] = limitersOf({ concurrency: 2 }, 2, sharedStore({ maxKeys: 10 }))
    const permits = Array.from({ length: 10 }, (_, i) => [a!, b!][i % 2]!.acquire(`key ${i}`))
    expect(permits.every(({ allowed }) => allowed)).toBe(true)
    for (let i = 0; i < 5; i++)
      expect(b!.acquire('more')).toMatchObject({ allowed: false, retryAfterMs: Number.NaN, isEstimate: true })
    expect(b!.acquire('key 3').allowed).toBe(true)
    permits[0]!.release()
    expect(b!.acquire('more').allowed).toBe(true)
    expect(a!.acquire('key 0').allowed).toBe(false)
  })

  it('stay out whatever is forgotten', () => {
    const store = sharedStore({ maxKeys: 100 })
    const [a, b] = limitersOf({ limits: [{ concurrency: 3 }, { limit: 5, window: '1h' }] }, 2, store)
    const permit = a!.acquire('key', 2)
    b!.reset('key')
    b!.clear()
    store.clear()
    expect(b!.peek('key').tiers.map(({ remaining }) => remaining)).toEqual([1, 5])
    permit.release()
    expect(b!.peek('key').tiers.map(({ remaining }) => remaining)).toEqual([3, 5])
  })

  it('may be blocked by others, and follow computed limits', () => {
    const [a, b] = limitersOf({ concurrency: 2 }) as Varying[]
    const take = (limiter: Varying, limit: number) =>
      limiter.take('key', 1, limiter.withLimits([limit])).isAllowed
    expect([take(a!, 0), take(b!, 5), take(b!, 5), take(a!, 5)]).toEqual([false, true, true, true])
    expect([take(a!, 2), take(b!, 3), take(b!, Infinity), take(a!, 4)]).toEqual([false, false, true, false])
    b!.block('other', '1m')
    expect(a!.acquire('other')).toMatchObject({ allowed: false, retryAfterMs: 60_000 })
    b!.reset('other')
    expect(a!.acquire('other').allowed).toBe(true)
  })

  it('come back once who has them leaves; what is released later is nobody else’s', () => {
    const store = sharedStore({ maxKeys: 100 })
    const leaving = another(store)
    const [a, b] = [store, leaving].map((each) => createLimiter({ concurrency: 4, store: each, now }))
    const kept = a!.acquire('key')
    const lost = Array.from({ length: 20 }, (_, i) => b!.acquire(`key ${i}`, 3))
    const shared = b!.acquire('key', 3)
    expect(a!.acquire('key').allowed).toBe(false)
    ;(leaving as AttachedBuffer).leave()
    expect([a!.peek('key').remaining, a!.peek('key 7').remaining, a!.size()]).toEqual([3, 4, 1])
    // Its place is taken by another one now.
    const c = createLimiter({ concurrency: 4, store: another(store), now })
    const theirs = c.acquire('key', 3)
    for (const permit of [shared, ...lost]) permit.release()
    expect(a!.peek('key').remaining).toBe(0)
    expect(b!.acquire('free')).toMatchObject({ allowed: false })
    theirs.release()
    kept.release()
    expect([a!.peek('key').remaining, a!.size()]).toEqual([4, 0])
  })

  it('leave nothing behind', () => {
    const store = sharedStore({ maxKeys: 50 })
    const [a, b] = limitersOf({ concurrency: 2 }, 2, store)
    const round = () => {
      const permits = Array.from({ length: 100 }, (_, i) => [a!, b!][i % 2]!.acquire(`key ${i % 50}`))
      expect(permits.filter(({ allowed }) => allowed)).toHaveLength(100)
      for (const permit of permits) permit.release()
    }
    round()
    const { usage } = store as AttachedBuffer
    for (let i = 0; i < 50; i++) round()
    expect((store as AttachedBuffer).usage).toEqual(usage)
    expect(a!.size()).toBe(0)
  })

  it('work in a thread that its store comes to later, with a line', async () => {
    const store = sharedStore({ maxKeys: 100 })
    const coming = new Promise<SharedHandle>((resolve) => setImmediate(() => resolve(store.handle)))
    const options = { name: 'jobs', concurrency: 1, queue: 2, maxWait: '1m' } as const
    const late = createLimiter({ ...options, store: sharedStore({ from: coming }) })
    await expect(late.acquire('key')).rejects.toThrow(naming('HEADGATE_STORE_FAILED', 'from'))
    await coming
    const first = await late.acquire('key')
    const second = late.acquire('key')
    expect(createLimiter({ ...options, store }).peek('key').remaining).toBe(0)
    first.release()
    expect((await second).allowed).toBe(true)
    const windows = createLimiter({ limit: 1, window: '1h', store: sharedStore({ from: coming }) })
    await coming
    expect(windows.consume('key').allowed).toBe(true)
  })

  it('have room where windows have it, and say how much they need', () => {
    const store = sharedStore({ maxKeys: 1_000_000 })
    for (let i = 0; i < 20; i++) createLimiter({ name: `jobs ${i}`, concurrency: 1000, store })
    const usual = sharedStore()
    for (let i = 0; i < 250; i++) createLimiter({ name: `jobs ${i}`, concurrency: 10, store: usual })
    const small = sharedStore({ maxKeys: 100_000, maxBytes: 2 ** 24 })
    createLimiter({ name: 'windows', limit: 1, window: 1000, store: small })
    expect(() => createLimiter({ name: 'jobs', concurrency: 1, store: small })).toThrow(
      naming('HEADGATE_STORE_FULL', 'maxBytes')
    )
  })
})
