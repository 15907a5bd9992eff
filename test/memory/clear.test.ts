import { describe, expect, it } from 'vitest'
import { rateLimit } from '../../src/express/index.js'
import { createLimiter, memoryStore } from '../../src/index.js'
import { sharedStore } from '../../src/shared/index.js'

describe('clear()', () => {
  it.each([
    ['memory', () => memoryStore()],
    ['shared', () => sharedStore()]
  ])('in %s: what was charged before is not given back later', (_name, makeStore) => {
    let now = 5000
    const limiter = createLimiter({ limit: 2, window: '1h', store: makeStore(), now: () => now })
    limiter.consume('key')
    now += 5
    limiter.consume('key')
    limiter.clear()
    now += 5
    limiter.consume('key', 2)
    limiter.refund('key', 1, 5000)
    expect(limiter.consume('key').allowed).toBe(false)
    limiter.refund('key', 1, now)
    expect(limiter.consume('key').allowed).toBe(true)
  })

  it('forgets what a full table was judged by, and gives its memory back', () => {
    const limiter = createLimiter({
      limit: 1,
      window: '1h',
      store: memoryStore({ maxKeys: 4 }),
      now: () => 0
    })
    for (let i = 0; i < 1000; i++) limiter.consume(i)
    limiter.clear()
    expect(limiter.size()).toBe(0)
    for (let i = 0; i < 4; i++) expect(limiter.consume(`new ${i}`).allowed, String(i)).toBe(true)
    expect(limiter.size()).toBe(4)
  })

  it('in a shared store also of a full table, for all threads', () => {
    const store = sharedStore({ maxKeys: 4 })
    const on = (of: ReturnType<typeof sharedStore>) =>
      createLimiter({ limit: 1, window: '1h', store: of, now: () => 0 })
    const limiter = on(store)
    const other = on(sharedStore({ from: structuredClone(store.handle) }))
    for (let round = 0; round < 3; round++) {
      for (let i = 0; i < 100; i++) other.consume(i)
      limiter.clear()
      for (let i = 0; i < 4; i++) expect(other.consume(`new ${i}`).allowed, `${round} ${i}`).toBe(true)
      expect(other.size()).toBe(4)
    }
  })

  it('of a store reaches limiters with names and without, also of middlewares, and none of another store', () => {
    const store = memoryStore()
    const policy = { limit: 1, window: '1h' }
    const limiters = [
      createLimiter({ ...policy, store }),
      createLimiter({ ...policy, name: 'a', store }),
      createLimiter({ ...policy, name: 'a', store }),
      rateLimit({ ...policy, store }).limiter!
    ]
    const stranger = createLimiter(policy)
    for (const limiter of [...limiters, stranger]) limiter.consume('key')
    store.clear()
    expect(limiters.map((limiter) => limiter.peek('key').allowed)).toEqual([true, true, true, true])
    expect(stranger.peek('key').allowed).toBe(false)
  })

  it('of a store holds no limiter that nobody has any more', () => {
    const store = memoryStore()
    for (let i = 0; i < 10_000; i++) createLimiter({ limit: 1, window: '1h', store }).consume('key')
    const last = createLimiter({ limit: 1, window: '1h', store })
    last.consume('key')
    store.clear()
    expect(last.consume('key').allowed).toBe(true)
  })
})
