import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import type { LimiterOptions } from '../../src/index.js'
import { createLimiter, memoryStore } from '../../src/index.js'
import { buildLimiter } from '../../src/limiter/options.js'
import { naming } from '../support/errors.js'

const T = 1_700_000_400_000

/** A limiter of a store, at T unless it is told otherwise. */
function limiterOn(store: ReturnType<typeof memoryStore>, options: object = {}) {
  const clock = { now: T }
  const asked = { limit: 5, window: '1h', store, now: () => clock.now, ...options }
  const limiter = createLimiter(asked as LimiterOptions & { store: typeof store })
  return Object.assign(limiter, {
    at(now: number) {
      clock.now = now
      return limiter
    }
  })
}

const restart = (store: ReturnType<typeof memoryStore>) => memoryStore({ from: store.save() })

const leftOf = (limiter: ReturnType<typeof limiterOn>, key = 'a') => limiter.peek(key).remaining

describe('a saved memory store', () => {
  it('has its counters, its blocks, and the time that has passed', () => {
    const store = memoryStore()
    const first = limiterOn(store)
    first.consume('a', 3)
    first.block('b', '2h')
    const second = limiterOn(restart(store)).at(T + 60_000)
    expect(second.peek('a')).toMatchObject({ remaining: 2 })
    expect(second.peek('b')).toMatchObject({ allowed: false, retryAfterMs: 2 * 3_600_000 - 60_000 })
    expect(
      limiterOn(restart(store))
        .at(T + 3_600_000)
        .peek('a').remaining
    ).toBe(5)
  })

  it('tells its limiters apart by name, or else by rule and order', () => {
    const store = memoryStore()
    const named = { name: 'api' }
    const limiters = (from: typeof store) => [
      limiterOn(from, named),
      limiterOn(from),
      limiterOn(from),
      limiterOn(from, { limit: 6 }),
      limiterOn(from, { window: 'month' })
    ]
    for (const [i, limiter] of limiters(store).entries()) limiter.consume('a', i + 1)
    expect(limiters(restart(store)).map((limiter) => leftOf(limiter))).toEqual([4, 3, 2, 2, 0])
  })

  it('keeps what no limiter has opened yet, as long as anything is owed', () => {
    const store = memoryStore()
    limiterOn(store, { name: 'short' }).consume('a', 2)
    limiterOn(store, { name: 'long', window: '1d' }).consume('a', 2)
    const second = restart(store)
    limiterOn(second, { name: 'other' }).consume('a')
    const third = restart(second)
    expect(leftOf(limiterOn(third, { name: 'short' }))).toBe(3)
    expect(leftOf(limiterOn(third, { name: 'long', window: '1d' }))).toBe(3)
    const later = restart(store)
    limiterOn(later, { name: 'other' })
      .at(T + 3_600_001)
      .consume('a')
    expect(later.save().length).toBeLessThan(restart(second).save().length)
    expect(leftOf(limiterOn(restart(later), { name: 'long', window: '1d' }))).toBe(3)
  })

  it('begins anew under another rule', () => {
    const store = memoryStore()
    limiterOn(store, { name: 'api' }).consume('a', 5)
    expect(leftOf(limiterOn(restart(store), { name: 'api', limit: 10 }))).toBe(10)
  })

  it('forgets what was saved when it is cleared', () => {
    const store = memoryStore()
    limiterOn(store).consume('a', 5)
    const second = restart(store)
    second.clear()
    expect(leftOf(limiterOn(second))).toBe(5)
  })

  it('never admits more where there is less room than there was', () => {
    const store = memoryStore({ maxKeys: 500 })
    const first = limiterOn(store)
    for (let key = 0; key < 500; key++) first.consume(`key ${key}`, 5)
    const second = limiterOn(memoryStore({ from: store.save(), maxKeys: 50 }))
    for (let key = 0; key < 500; key++) expect(second.consume(`key ${key}`).allowed).toBe(false)
  })

  it('has limits that were computed, and the room that they needed', () => {
    const options = { strategy: 'sliding-log', limit: 2, window: '1h' }
    const under = (store: ReturnType<typeof memoryStore>, limit: number, cost: number, now: number) => {
      const limiter = buildLimiter({ ...options, store, now: () => now }, memoryStore)
      return limiter.take('a', cost, limiter.withLimits([limit])).isAllowed
    }
    const store = memoryStore()
    const limiter = buildLimiter({ ...options, store, now: () => T }, memoryStore)
    for (let i = 0; i < 400; i++) limiter.take('a', 1, limiter.withLimits([400]))
    expect(under(restart(store), 400, 1, T)).toBe(false)
    expect(under(restart(store), 401, 1, T)).toBe(true)
  })

  it('has no permits: whoever held them is gone', () => {
    const store = memoryStore()
    const options = {
      limits: [{ concurrency: 1 }, { limit: 5, window: '1h' }],
      limit: undefined,
      window: undefined
    }
    limiterOn(store, options).acquire('a')
    limiterOn(store, { ...options, limits: [{ concurrency: 2 }] }).block('a', '1h')
    const second = restart(store)
    expect(limiterOn(second, options).acquire('a')).toMatchObject({ allowed: true })
    expect(limiterOn(second, options).peek('b').tiers[1]!.remaining).toBe(5)
    const blocked = limiterOn(second, { ...options, limits: [{ concurrency: 2 }] })
    expect(blocked.acquire('a')).toMatchObject({ allowed: false, retryAfterMs: 3_600_000 })
  })
})

describe('saved bytes', () => {
  const store = memoryStore()
  const limiter = limiterOn(store)
  limiter.consume('a', 2)
  limiter.block('b', '1h')
  const saved = store.save()
  const bad = (...parts: string[]) => naming('HEADGATE_BAD_SAVE', '`from`', ...parts)
  const from = (bytes: unknown) => () => memoryStore({ from: bytes as Uint8Array })

  it('are taken as a Buffer, as an Uint8Array, and from the middle of others', () => {
    const around = Buffer.concat([Buffer.from('abc'), saved]).subarray(3)
    for (const bytes of [saved, Buffer.from(saved), Uint8Array.from(saved), around])
      expect(leftOf(limiterOn(memoryStore({ from: bytes })))).toBe(3)
  })

  it('are refused where one bit is another', () => {
    for (let at = 0; at < saved.length; at++) {
      const damaged = Uint8Array.from(saved)
      damaged[at]! ^= 1 << (at % 8)
      expect(from(damaged), `byte ${at}`).toThrow(bad())
    }
  })

  it('are refused where they were cut off, or more follows', () => {
    for (let length = 0; length < saved.length; length++)
      expect(from(saved.subarray(0, length)), `${length} bytes`).toThrow(bad())
    expect(from(Buffer.concat([saved, Buffer.alloc(8)]))).toThrow(bad('damaged'))
  })

  it('are refused where they are something else', () => {
    expect(from(Buffer.from('{"a":1}'.repeat(50)))).toThrow(bad('not what `save()` returned'))
    const newer = Buffer.from(saved)
    newer[8] = 9
    expect(from(newer)).toThrow(bad('version 9', 'version 1'))
    const shared = Buffer.from(saved)
    shared[9] = 1
    const digest = createHash('sha256').update(shared.subarray(0, 24)).update(shared.subarray(56)).digest()
    digest.copy(shared, 24)
    expect(from(shared)).toThrow(bad('sharedStore', 'memoryStore'))
    for (const value of ['text', 3, [1, 2], {}])
      expect(from(value)).toThrow(naming('HEADGATE_BAD_OPTION', '`from`'))
  })
})
