import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, it } from 'vitest'
import { createLimiter, memoryStore } from '../../src/index.js'
import { overflowWidth } from '../../src/memory/overflow.js'
import { bytesPerKey } from '../../src/memory/table.js'

setFlagsFromString('--expose-gc')
const gc = runInNewContext('gc') as () => void

/** What buffers hold that are in use. */
function held(): number {
  gc()
  gc()
  return process.memoryUsage().arrayBuffers
}

const T = 1_700_000_400_000
const maxKeys = 20_000
const newcomers = 400_000
const stretch = 10_000
const limit = 40
const [policy] = createLimiter({ limit, window: '1h' }).policies
const slots = policy!.slots
const width = overflowWidth(slots, maxKeys)

/** The table, as full as it gets, and the four rows of the overflow. */
const mostBytes = 1.05 * maxKeys * bytesPerKey(slots) + 4 * width * slots * 8

// bench/overflow.js has ten million.
describe('a flood of four hundred thousand keys', () => {
  it('takes no memory, sets nobody free, and denies no more newcomers than is stated', () => {
    const before = held()
    const limiter = createLimiter({ limit, window: '1h', store: memoryStore({ maxKeys }), now: () => T })
    const atLimit = (group: string) => {
      const keys = Array.from({ length: 100 }, (_, i) => `${group} ${i}`)
      for (const key of keys) limiter.consume(key, limiter.peek(key).remaining)
      return keys
    }
    let charged = 0
    const flood = (from: number) => {
      let denied = 0
      for (let i = from; i < from + stretch; i++) if (!limiter.consume(`flood ${i}`).allowed) denied++
      charged += stretch - denied
      return denied / stretch
    }
    const owing = atLimit('resident')
    for (let key = 0; key < newcomers; key += stretch) {
      const share = flood(key)
      expect(share).toBeLessThanOrEqual(Math.min(1, (charged / (limit * width)) ** 4))
      // What the table has outgrown is garbage; once it is full there is none but that of the test runner.
      let bytes = key < 2 * maxKeys ? held() : process.memoryUsage().arrayBuffers
      if (bytes - before >= mostBytes) bytes = held()
      expect(bytes - before).toBeLessThan(mostBytes)
      if (key === 2 * maxKeys) {
        owing.push(...atLimit('crowd'))
        charged += 100 * limit
      }
    }
    expect(owing.filter((key) => limiter.consume(key).allowed)).toEqual([])
    expect(limiter.size()).toBe(maxKeys)
    expect(held() - before).toBeLessThan(mostBytes)
  })
})
