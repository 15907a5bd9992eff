import { once } from 'node:events'
import { describe, expect, it } from 'vitest'
import { createLimiter } from '../../src/index.js'
import { AttachedBuffer } from '../../src/shared/buffer.js'
import { sharedStore } from '../../src/shared/index.js'
import { threads } from './support/threads.js'

const T = 1_700_000_400_000
const policy = { name: 'api', strategy: 'sliding-log', limit: 1_000_000, window: '1s' } as const

/** Threads that come and go. */
const comings = Number(process.env.THREAD_COMINGS ?? 12)

const { start, run } = threads()

/** A store, and what threads do with it. */
function pool() {
  const store = sharedStore({ maxKeys: 100 })
  const clock = new BigInt64Array(new SharedArrayBuffer(8))
  clock[0] = BigInt(T)
  const keys = ['a', 'b', 'c']
  const work = { kind: 'hit', handle: store.handle, clock, policy, keys, count: 50 } as const
  const { usage } = store as AttachedBuffer
  expect(usage).toEqual({ threads: 1, records: 0 })
  const used = () => (store as AttachedBuffer).usage
  const limiter = createLimiter({ ...policy, store, now: () => T })
  return { work, used, limiter }
}

describe('a place in a shared store', () => {
  it('is given back by a thread that ends, with what it kept', async () => {
    const { work, used } = pool()
    await run([work])
    const { records } = used()
    for (let i = 0; i < comings; i++) {
      await run([work])
      expect(used()).toEqual({ threads: 1, records })
    }
    await run([work, work, work])
    expect(used().threads).toBe(1)
  })

  it('is given back for a thread that is terminated, with what it kept', async () => {
    const { work, used, limiter } = pool()
    let records = 0
    for (let i = 0; i < comings; i++) {
      const worker = start({ ...work, stays: true })
      await once(worker, 'message')
      expect(used().threads).toBe(2)
      await worker.terminate()
      if (i === 0) records = used().records
      expect(used()).toEqual({ threads: 1, records })
    }
    expect(limiter.peek('a').remaining).toBe(policy.limit - 50 * comings)
  })

  it('is given back for a thread that is terminated in the middle of anything', async () => {
    const { work, used } = pool()
    const admitted = new Int32Array(new SharedArrayBuffer(4 * work.keys.length))
    const policies = [
      { name: 'steady', limit: 1_000_000_000, window: '365d' },
      { name: 'churning', strategy: 'gcra', limit: 2, window: 40 }
    ] as const
    for (let i = 0; i < comings; i++) {
      const { handle, clock, keys } = work
      const worker = start({
        kind: 'storm',
        handle,
        clock,
        keys,
        policies,
        admitted,
        progress: null,
        seed: i
      })
      await once(worker, 'message')
      for (let turn = 0; turn <= i % 5; turn++) await new Promise((resolve) => setImmediate(resolve))
      await worker.terminate()
      expect(used().threads).toBe(1)
    }
  })

  it('is left by a thread that goes on: what it decides then is kept no less', () => {
    const store = sharedStore({ maxKeys: 100 })
    const other = new AttachedBuffer(structuredClone(store.handle))
    const [a, b] = [store, other].map((each) => createLimiter({ ...policy, store: each, now: () => T }))
    for (let i = 0; i < 10; i++) for (const limiter of [a!, b!]) limiter.consume(`key ${i % 3}`)
    const { records } = other.usage
    other.leave()
    expect((store as AttachedBuffer).usage).toEqual({ threads: 1, records })
    for (let i = 0; i < 90; i++) for (const limiter of [b!, a!]) limiter.consume(`key ${i % 3}`)
    expect(other.usage).toEqual({ threads: 1, records })
    const used = [0, 1, 2].map((i) => policy.limit - a!.peek(`key ${i}`).remaining)
    expect(used.reduce((sum, each) => sum + each, 0)).toBe(200)
    createLimiter({ ...policy, name: 'later', store: other, now: () => T }).consume('key')
    const later = createLimiter({ ...policy, name: 'later', store, now: () => T })
    expect(later.peek('key').remaining).toBe(policy.limit - 1)
  })
})
