import { describe, expect, it } from 'vitest'
import { createLimiter, type Limiter, type LimiterOptions, memoryStore } from '../../src/index.js'
import { type SharedStore, sharedStore } from '../../src/shared/index.js'
import { naming } from '../support/errors.js'

const T = 1_700_000_400_000
const maxKeys = 100

function limiterOn(store: SharedStore, options: object = {}) {
  const asked = { name: 'api', limit: 5, window: '1h', store, now: () => T, ...options }
  return createLimiter(asked as LimiterOptions & { store: SharedStore }) as unknown as Limiter
}

const restart = (store: SharedStore) => sharedStore({ from: store.save() })

describe('a saved shared store', () => {
  it('has the counters and blocks of all threads, and none of what is in flight', () => {
    const store = sharedStore({ maxKeys })
    const other = sharedStore({ from: store.handle })
    limiterOn(store).consume('a', 2)
    limiterOn(other).consume('a')
    limiterOn(other, { name: 'theirs' }).consume('a', 4)
    limiterOn(other).block('b', '2h')
    const flights = { name: 'flights', concurrency: 1, limit: undefined, window: undefined }
    limiterOn(store, flights).acquire('a')
    const second = restart(store)
    expect(limiterOn(second).peek('a').remaining).toBe(2)
    expect(limiterOn(sharedStore({ from: second.handle })).peek('a').remaining).toBe(2)
    expect(limiterOn(second, { name: 'theirs' }).peek('a').remaining).toBe(1)
    expect(limiterOn(second).peek('b')).toMatchObject({ allowed: false, retryAfterMs: 2 * 3_600_000 })
    expect(limiterOn(second, flights).acquire('a').allowed).toBe(true)
  })

  it('keeps what no limiter has opened, and begins anew under another rule', () => {
    const store = sharedStore({ maxKeys })
    limiterOn(store).consume('a', 3)
    limiterOn(store, { name: 'later' }).consume('a', 3)
    const third = restart(restart(store))
    expect(limiterOn(third, { limit: 10 }).peek('a').remaining).toBe(10)
    expect(limiterOn(third, { name: 'later' }).peek('a').remaining).toBe(2)
    expect(() => limiterOn(third, { name: 'later', limit: 6 })).toThrow(naming('HEADGATE_POLICY_CLASH'))
  })

  it('judges crowds as before', () => {
    const store = sharedStore({ maxKeys: 4 })
    const first = limiterOn(store)
    for (let key = 0; key < 400; key++) first.consume(`key ${key}`, 5)
    const second = limiterOn(restart(store))
    for (let key = 0; key < 400; key++) expect(second.consume(`key ${key}`).allowed).toBe(false)
  })

  it('has the room that it had', () => {
    const saved = sharedStore({ maxKeys }).save()
    expect(() => sharedStore({ from: saved, maxKeys: 7 })).toThrow(
      naming('HEADGATE_BAD_OPTION', '`maxKeys`', '7', '100')
    )
    expect(() => sharedStore({ from: saved, maxKeys })).not.toThrow()
  })

  it('has what many keys have used', () => {
    const store = sharedStore({ maxKeys: 1000 })
    const limiter = limiterOn(store, { limit: 1_000_000 })
    for (let i = 0; i < 2000; i++) limiter.consume(`key ${i % 300}`)
    const second = limiterOn(restart(store), { limit: 1_000_000 })
    expect(second.size()).toBe(300)
    for (let i = 0; i < 300; i++)
      expect(second.peek(`key ${i}`).remaining).toBe(1_000_000 - (i < 200 ? 7 : 6))
  })

  it('refuses what is damaged, or of another store', () => {
    const store = sharedStore({ maxKeys })
    limiterOn(store).consume('a', 3)
    const saved = store.save()
    for (let at = 0; at < saved.length; at += 5) {
      const damaged = Uint8Array.from(saved)
      damaged[at]! ^= 4
      expect(() => sharedStore({ from: damaged }), `byte ${at}`).toThrow(naming('HEADGATE_BAD_SAVE'))
    }
    expect(() => sharedStore({ from: memoryStore().save() })).toThrow(
      naming('HEADGATE_BAD_SAVE', 'memoryStore', 'sharedStore')
    )
  })
})
