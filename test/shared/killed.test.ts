import { once } from 'node:events'
import { setTimeout } from 'node:timers/promises'
import type { Worker } from 'node:worker_threads'
import { describe, expect, it } from 'vitest'
import { createLimiter } from '../../src/index.js'
import { sharedStore } from '../../src/shared/index.js'
import { threads } from './support/threads.js'

const T = 1_700_000_400_000

/** Threads that are killed. */
const kills = Number(process.env.THREAD_KILLS ?? 30)

/** Kills after which nobody may have come to a standstill. */
const atOnce = 2

const { start } = threads()

describe('a thread that is killed', () => {
  it(
    'holds nobody up, corrupts no key and takes nothing with it but what it was at',
    async () => {
      const keys = Array.from({ length: 8 }, (_, i) => `key ${i}`)
      const steady = { name: 'steady', limit: 1_000_000_000, window: '365d', align: 'first-request' } as const
      const churning = { name: 'churning', strategy: 'gcra', limit: 2, window: 40 } as const
      const maxKeys = 400
      const store = sharedStore({ maxKeys })
      const clock = new BigInt64Array(new SharedArrayBuffer(8))
      clock[0] = BigInt(T)
      const admitted = new Int32Array(new SharedArrayBuffer(4 * keys.length))
      const progress = new Int32Array(new SharedArrayBuffer(8))
      const work = { kind: 'storm', handle: store.handle, clock, keys, admitted } as const
      const hammer = (seed: number, progress: Int32Array | null) =>
        start({ ...work, policies: [steady, churning], progress, seed })

      const survivor = hammer(1, progress)
      await once(survivor, 'message')
      let killed = 0
      let standstills = 0
      while (killed < kills) {
        const victims: Worker[] = Array.from({ length: atOnce }, (_, i) => hammer(killed + i + 2, null))
        await Promise.all(victims.map((victim) => once(victim, 'message')))
        await spin(killed % 7)
        await Promise.all(victims.map((victim) => victim.terminate()))
        killed += victims.length
        const before = Atomics.load(progress, 0)
        const deadline = performance.now() + 5000
        while (Atomics.load(progress, 0) <= before + 10 && performance.now() < deadline) await setTimeout(1)
        if (Atomics.load(progress, 0) <= before + 10) standstills++
      }
      await survivor.terminate()
      expect(standstills).toBe(0)

      const now = () => Number(clock[0])
      const limiter = createLimiter({ ...steady, store, now })
      const unseen = keys.map((key, i) => steady.limit - limiter.peek(key).remaining - admitted[i]!)
      expect(Math.min(...unseen)).toBeGreaterThanOrEqual(0)
      // At most the one decision that each was at was charged and not noted.
      expect(unseen.reduce((sum, each) => sum + each, 0)).toBeLessThanOrEqual(killed + 1)
      expect(Math.min(...admitted)).toBeGreaterThan(0)
      expect(limiter.size()).toBe(keys.length)

      const crowd = createLimiter({ ...churning, store, now })
      clock[0] = BigInt(now() + 1000)
      expect(crowd.size()).toBe(0)
      // Each may have taken the room of one key with it.
      for (let i = 0; i < maxKeys - killed - 1; i++)
        expect(
          [1, 2, 3].map(() => crowd.consume(`fresh ${i}`).allowed),
          `${i}`
        ).toEqual([true, true, false])
    },
    60_000 + kills * 500
  )
})

/** Lets a few turns of the event loop pass, so that kills fall anywhere. */
async function spin(turns: number): Promise<void> {
  for (let i = 0; i <= turns; i++) await new Promise((resolve) => setImmediate(resolve))
}
