import { getActiveResourcesInfo } from 'node:process'
import { describe, expect, it } from 'vitest'
import { memoryStore } from '../../src/index.js'
import { storeSuite } from '../store-suite/store-suite.js'
import { limiterOf } from '../support/traces.js'
import { twoSpeedRules } from '../support/two-speed.js'

const T = 1_700_000_400_000

storeSuite('memory', () => memoryStore())

describe('memory: growth', () => {
  it('MEM-01: wave after wave of new keys takes the room of one', () => {
    const limiter = limiterOf({ limit: 1, window: 200 })
    const wave = (n: number) => {
      limiter.at(T + n * 1000)
      for (let key = 0; key < 5000; key++) limiter.consume(`${n} ${key}`)
      return process.memoryUsage().arrayBuffers
    }
    const first = wave(0)
    const sizes = Array.from({ length: 8 }, (_, i) => wave(i + 1))
    expect(limiter.size()).toBe(5000)
    expect(Math.max(...sizes) - first).toBeLessThan(8 * 2 ** 20)
  })

  it.each([0.5, 0.9])('hands the room of expired keys on while %d of the keys still owe', (share) => {
    const maxKeys = 10_000
    const limiter = limiterOf(
      { strategy: 'gcra', limit: 10, window: 1000 },
      { store: memoryStore({ maxKeys }) }
    )
    const staying = Math.floor(maxKeys * share)
    for (let key = 0; key < maxKeys; key++) limiter.at(T).consume(`old ${key}`, key < staying ? 10 : 1)
    limiter.at(T + 500)
    for (let key = 0; key < maxKeys - staying; key++) limiter.consume(`new ${key}`)
    expect(limiter.size()).toBeGreaterThan(maxKeys * 0.98)
    for (let key = 0; key < staying; key++) expect(limiter.peek(`old ${key}`).remaining).toBe(5)
  })

  it('MEM-02: there is no timer, however many hits', () => {
    const timers = () => getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length
    const before = timers()
    const limiter = limiterOf({ limit: 1000, window: 60_000 }, { block: '1h' }).at(T)
    for (let hit = 0; hit < 10_000; hit++) limiter.consume(hit % 100)
    for (let key = 0; key < 100; key++) limiter.block(key, '1h')
    expect(timers()).toBeLessThanOrEqual(before + 1)
  })

  it('MEM-07: a full table takes about as long a hit as one with room', () => {
    const took = (maxKeys: number) => {
      const limiter = limiterOf({ limit: 5, window: 3_600_000 }, { store: memoryStore({ maxKeys }) }).at(T)
      for (let key = 0; key < 50_000; key++) limiter.consume(`warm ${key}`)
      const start = performance.now()
      for (let key = 0; key < 100_000; key++) limiter.consume(`client ${key}`)
      return performance.now() - start
    }
    took(200_000)
    expect(took(10_000)).toBeLessThan(50 + 20 * took(200_000))
  })

  it('MEM-07: wave after wave of new keys stays about as quick as the first', () => {
    const limiter = limiterOf({ limit: 1, window: 200 })
    const wave = (n: number) => {
      const start = performance.now()
      limiter.at(T + n * 1000)
      for (let key = 0; key < 30_000; key++) limiter.consume(`${n} ${key}`)
      return performance.now() - start
    }
    const first = wave(0)
    const later = [1, 2, 3, 4, 5, 6].map(wave)
    expect(Math.max(...later)).toBeLessThan(100 + 10 * first)
  })

  it('MEM-07: a steady stream of new keys stays about as quick as its begin', () => {
    const limiter = limiterOf({ limit: 1, window: 50_000, align: 'first-request' })
    let now = T
    const stretch = () => {
      const start = performance.now()
      for (let key = 0; key < 50_000; key++) limiter.at(now++).consume(`client ${now}`)
      return performance.now() - start
    }
    const first = stretch()
    const later = Array.from({ length: 8 }, stretch)
    expect(Math.max(...later)).toBeLessThan(100 + 10 * first)
  })

  it('MEM-07: as many blocked keys as fit make no further hit slow', () => {
    const maxKeys = 50_000
    const store = memoryStore({ maxKeys })
    const limiter = limiterOf({ limit: 1, window: 60_000 }, { store, block: '1h' }).at(T)
    const hits = (from: number) => {
      const start = performance.now()
      for (let key = from; key < from + 2000; key++)
        for (let i = 0; i < 2; i++) limiter.consume(`client ${key}`)
      return performance.now() - start
    }
    const first = hits(0)
    for (let key = 2000; key < maxKeys; key++) limiter.block(`blocked ${key}`, '1h')
    expect(hits(10_000)).toBeLessThan(50 + 20 * first)
  })
})

describe('memoryStore', () => {
  it.each([0, -1, 1.5, Number.NaN, Infinity, '10', null])('refuses maxKeys of %o', (maxKeys) => {
    expect(() => memoryStore({ maxKeys: maxKeys as number })).toThrow(
      expect.objectContaining({ code: 'HEADGATE_BAD_OPTION', message: expect.stringContaining('maxKeys') })
    )
  })

  it('refuses unknown options with the near name', () => {
    expect(() => memoryStore({ maxKey: 5 } as object)).toThrow(
      expect.objectContaining({
        code: 'HEADGATE_UNKNOWN_OPTION',
        message: expect.stringContaining('`maxKeys`')
      })
    )
  })

  it('tells names with quotes and commas apart', () => {
    const store = memoryStore()
    const two = ["a', 'b", 'c'].map((name, i) => ({ name, limit: 1 + i, window: 1000 }))
    const three = ['a', 'b', 'c'].map((name, i) => ({ name, limit: 5 + i, window: 1000 }))
    limiterOf(two[0]!, { store })
    expect(() => limiterOf(three[0]!, { store })).not.toThrow()
    const nested = { limits: three.slice(0, 2), store }
    expect(() => limiterOf(nested as never)).not.toThrow()
  })

  it('takes two strategies of one name for two rules', () => {
    const store = memoryStore()
    const policy = { name: 'api', limit: 5, window: 60_000 }
    limiterOf({ ...policy, strategy: { ...twoSpeedRules } }, { store })
    expect(() => limiterOf({ ...policy, strategy: { ...twoSpeedRules, slots: () => 5 } }, { store })).toThrow(
      expect.objectContaining({ code: 'HEADGATE_POLICY_CLASH' })
    )
  })

  it('takes a rule for the same whether its defaults are written or not', () => {
    const store = memoryStore()
    limiterOf({ name: 'api', limit: 5, window: 60_000 }, { store })
    expect(() => limiterOf({ name: 'api', limit: 5, window: '1m', align: 'clock' }, { store })).not.toThrow()
    limiterOf({ name: 'bucket', limit: 5, window: 60_000, strategy: 'gcra' }, { store })
    expect(() =>
      limiterOf({ name: 'bucket', limit: 5, window: '1m', strategy: 'gcra', burst: 5 }, { store })
    ).not.toThrow()
  })
})
