import fc from 'fast-check'
import { describe, expect, it, vi } from 'vitest'
import { Bucket } from '../../src/core/bucket.js'
import { definePolicy, type Policy, withLimit } from '../../src/core/policy.js'
import { peek } from '../../src/core/verdict.js'
import { createLimiter, memoryStore } from '../../src/index.js'
import { MemoryBuckets } from '../../src/memory/buckets.js'
import { KeyTable } from '../../src/memory/key-table.js'
import { limiterOf, runs } from '../support/traces.js'
import { UnitLog } from '../support/unit-log.js'

const T = 1_700_000_400_000
const take = { ...peek, kind: 'take' } as const
const held = () => process.memoryUsage().arrayBuffers
const logOf = (limit: number, window: number | string) =>
  definePolicy({ strategy: 'sliding-log', limit, window: window as number })

/** A table, and a way to charge a key of it. */
function tableOf(policy: Policy) {
  const bucket = new Bucket([policy])
  const keys = new KeyTable(bucket, undefined)
  const visit = (key: number, at: number, cost = 1) => {
    bucket.setTime(at)
    const found = keys.find(`${key}`)
    const base = found < 0 ? keys.admit() : found
    keys.growing!.openWide(keys.cells, base)
    bucket.decide(take, cost, 0, null)
  }
  return { bucket, keys, visit }
}

const draw = fc.record({
  key: fc.integer({ min: 0, max: 5 }),
  kind: fc.constantFrom('burst', 'burst', 'burst', 'refund', 'reset', 'look'),
  gap: fc.oneof(fc.constantFrom(0, 1, 2), fc.integer({ min: 0, max: 700 })),
  count: fc.integer({ min: 1, max: 60 }),
  cost: fc.integer({ min: 1, max: 4 }),
  limit: fc.constantFrom(300, 300, 20, 800, 0, Infinity)
})

describe('keys that take as much room as they need', () => {
  it('answer as by their definition, however they grow and drain, beside others, and under other limits', () => {
    fc.assert(
      fc.property(fc.array(draw, { minLength: 5, maxLength: 60 }), fc.boolean(), (draws, hasOther) => {
        const own = logOf(300, 500)
        const other = definePolicy({ limit: 1e9, window: 500, strategy: 'gcra' })
        const of = (policy = own) => (hasOther ? [other, policy] : [policy])
        const opened = of()
        const lists = new Map([
          [300, opened],
          ...[20, 800, 0, Infinity].map((limit) => [limit, of(withLimit(own, limit))] as const)
        ])
        const buckets = new MemoryBuckets(opened, undefined)
        const logs = Array.from({ length: 6 }, () => new UnitLog(500))
        const at = hasOther ? 4 : 0
        let now = T
        for (const { key, kind, gap, count, cost, limit } of draws) {
          now += gap
          const log = logs[key]!
          const policies = lists.get(limit)!
          if (kind === 'refund') {
            buckets.refund(`${key}`, cost, now, opened, now - gap)
            log.refund(now, cost, now - gap)
          } else if (kind === 'reset') {
            buckets.reset(`${key}`)
            logs[key] = new UnitLog(500)
          }
          for (let i = 0; i < (kind === 'burst' ? count : 1); i++) {
            now++
            const action = kind === 'burst' ? take : peek
            const { isAllowed, out } = buckets.decide(action, `${key}`, cost, now, policies)
            if (limit === 0 || limit === Infinity) {
              expect(isAllowed).toBe(limit > 0)
              continue
            }
            const wait = logs[key]!.check(limit, now, cost)[1]!
            expect([isAllowed, out[at + 1]]).toEqual([wait === 0, wait])
            if (!isAllowed || kind !== 'burst') continue
            logs[key]!.charge(limit, now, cost)
            const [remaining, , resetMs] = logs[key]!.check(limit, now, 1)
            expect([out[at], out[at + 2]]).toEqual([remaining, resetMs])
          }
        }
      }),
      runs(200)
    )
  })

  it('take bytes for a burst, whatever the limit', () => {
    const clients = 100_000
    const { keys, bucket, visit } = tableOf(logOf(10_000, '1h'))
    for (let key = 0; key < clients; key++) visit(key, T, 5000)
    expect((keys.table.bytes + keys.growing!.bytes) / clients).toBeLessThan(134)
    for (let key = 0; key < clients; key += 97) {
      visit(key, T, 1)
      expect([...bucket.verdict.out].slice(0, 3)).toEqual([4999, 0, 3_600_000])
    }
  })

  it('leave room for all of thousands of honest clients of a long log, in the default store', () => {
    const limiter = limiterOf({ strategy: 'sliding-log', limit: 10_000, window: 3_600_000 })
    const before = held()
    let denied = 0
    for (let request = 0; request < 60; request++)
      for (let client = 0; client < 8000; client++)
        if (!limiter.at(T + request * 1000 + (client % 7)).consume(client).allowed) denied++
    expect(denied).toBe(0)
    for (let client = 0; client < 8000; client += 57) expect(limiter.peek(client).remaining).toBe(10_000 - 60)
    expect(held() - before).toBeLessThan(256 * 2 ** 20)
  })

  it('give back what they took once they have drained', () => {
    const limiter = limiterOf({ strategy: 'sliding-log', limit: 2000, window: 10_000 })
    const wave = (n: number) => {
      for (let request = 0; request < 500; request++)
        for (let client = 0; client < 200; client++)
          limiter.at(T + n * 60_000 + request).consume(`${n} ${client}`)
      return held()
    }
    const first = wave(0)
    const later = Array.from({ length: 6 }, (_, n) => wave(n + 1))
    expect(Math.max(...later) - first).toBeLessThan(4 * 2 ** 20)
  })

  it('give back what they took if they come more seldom', () => {
    const { keys, visit } = tableOf(logOf(2000, 10_000))
    const { growing } = keys
    for (let request = 0; request < 600; request++)
      for (let key = 0; key < 1000; key++) visit(key, T + request)
    const grown = growing!.bytes
    for (let round = 0; round < 30; round++)
      for (let key = 0; key < 1000; key++) visit(key, T + 20_000 + round * 4000)
    expect(grown).toBeGreaterThan(1000 * 600 * 8)
    expect(growing!.bytes).toBeLessThan(grown / 4)
  })

  it('are judged more strictly, never more laxly, where they may not grow, and none is forgotten', () => {
    const policy = logOf(400, 10_000)
    const maxBytes = 2 ** 18
    const buckets = new MemoryBuckets([policy], undefined, maxBytes)
    const logs = Array.from({ length: 150 }, () => new UnitLog(10_000))
    const before = held()
    let isStricter = false
    for (let round = 0; round < 500; round++)
      for (let key = 0; key < logs.length; key++) {
        const now = T + round * 7 + (key % 3)
        const [remaining] = logs[key]!.check(400, now, 1)
        const { isAllowed, out } = buckets.decide(take, `key ${key}`, 1, now, [policy])
        if (isAllowed) {
          expect(remaining).toBeGreaterThan(0)
          logs[key]!.charge(400, now, 1)
        }
        if (round % 50 !== 49) continue
        const [left] = logs[key]!.check(400, now, 1)
        expect(out[0]).toBeLessThanOrEqual(left!)
      }
    const later = T + 11_400
    for (let key = 0; key < logs.length; key++) {
      const [left, , resetMs] = logs[key]!.check(400, later, 1)
      const { out } = buckets.decide(peek, `key ${key}`, 1, later, [policy])
      expect(out[0]).toBeLessThanOrEqual(left!)
      expect(out[2]).toBeGreaterThanOrEqual(resetMs!)
      if (out[0]! < left!) isStricter = true
    }
    expect(isStricter).toBe(true)
    expect(held() - before).toBeLessThan(3 * maxBytes)
  })

  it('are bounded by bytes beside their number where both are given', () => {
    const policy = logOf(1000, 60_000)
    const maxBytes = 2 ** 20
    const bucket = new Bucket([policy])
    const keys = new KeyTable(bucket, 100_000, maxBytes)
    for (let request = 0; request < 300; request++)
      for (let key = 0; key < 1000; key++) {
        bucket.setTime(T + request)
        const found = keys.find(`${key}`)
        const base = found < 0 ? keys.admit() : found
        if (base < 0) continue
        keys.growing!.openWide(keys.cells, base)
        bucket.decide(take, 1, 0, null)
      }
    expect(keys.table.used).toBe(1000)
    expect(keys.table.bytes + keys.growing!.bytes).toBeLessThanOrEqual(maxBytes + 2 ** 18)
    bucket.setTime(T + 400)
    for (let key = 0; key < 1000; key++) {
      keys.growing!.openWide(keys.cells, keys.find(`${key}`))
      bucket.decide(peek, 1, 0, null)
      expect(bucket.verdict.out[0]).toBe(700)
    }
  })

  it('keep what they owe when all of the table is taken, and the overflow judges the others', () => {
    const store = memoryStore({ maxKeys: 50 })
    const limiter = limiterOf({ strategy: 'sliding-log', limit: 100, window: 60_000 }, { store })
    for (let request = 0; request < 100; request++)
      for (let key = 0; key < 50; key++) limiter.at(T + request).consume(`owing ${key}`)
    const newcomers = Array.from({ length: 200 }, (_, i) => `new ${i}`)
    for (const key of newcomers) limiter.at(T + 200).consume(key, 40)
    for (let key = 0; key < 50; key++) expect(limiter.consume(`owing ${key}`).allowed).toBe(false)
    // As keys drain newcomers take their places, with what the overflow holds of them.
    limiter.at(T + 60_050)
    for (const key of newcomers) expect(limiter.peek(key).remaining).toBeLessThanOrEqual(60)
    for (const key of newcomers) limiter.consume(key)
    for (const key of newcomers) expect(limiter.peek(key).remaining).toBeLessThanOrEqual(59)
    expect(limiter.at(T + 200_000).size()).toBe(0)
  })
})

describe('a limiter whose keys may come to take much', () => {
  const said = (make: () => unknown) => {
    const emit = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    try {
      make()
      return emit.mock.calls
        .filter(([, options]) => (options as unknown as { code: string }).code === 'HEADGATE_FEW_KEYS')
        .map(([text]) => String(text))
    } finally {
      emit.mockRestore()
    }
  }
  const log = { strategy: 'sliding-log', window: '1h' } as const

  it('says once how many there is room for by default, and the option', () => {
    const make = () => createLimiter({ ...log, limit: 10_001 })
    const [text, ...more] = said(make)
    expect(more).toEqual([])
    const [, keys] = /hold (\d+) keys/.exec(text!)!
    expect(Number(keys)).toBeGreaterThan(2500)
    expect(Number(keys) * 10_001 * 8).toBeLessThanOrEqual(256 * 2 ** 20)
    expect(text).toContain('`store: memoryStore({ maxKeys })`')
    expect(said(make)).toEqual([])
  })

  it('says so of a limit that is computed, when it comes', () => {
    const buckets = new MemoryBuckets([logOf(1, '1h')], undefined)
    const policies = [withLimit(logOf(1, '1h'), 10_002)]
    expect(said(() => buckets.decide(take, 'key', 1, T, policies))).toHaveLength(1)
  })

  it('says nothing where there is room, or the user has said how many', () => {
    expect(said(() => createLimiter({ ...log, limit: 5 }))).toEqual([])
    expect(said(() => createLimiter({ ...log, limit: 100 }))).toEqual([])
    expect(said(() => createLimiter({ limit: 10_003, window: '1h' }))).toEqual([])
    const store = memoryStore({ maxKeys: 10_000 })
    expect(said(() => createLimiter({ ...log, limit: 10_004, store }))).toEqual([])
  })
})
