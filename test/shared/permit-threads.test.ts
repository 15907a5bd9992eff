import { once } from 'node:events'
import { setTimeout } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { getEnvironmentData, setEnvironmentData, type Worker } from 'node:worker_threads'
import { describe, expect, it } from 'vitest'
import { createLimiter } from '../../src/index.js'
import type { AttachedBuffer } from '../../src/shared/buffer.js'
import { type SharedHandle, sharedStore } from '../../src/shared/index.js'
import { leaveAll, type PermitWork, type Policy } from './support/permit-work.js'
import { threads } from './support/threads.js'

/** Threads that are killed. */
const kills = Number(process.env.THREAD_KILLS ?? 30)

/** Calls that threads make together. */
const calls = Number(process.env.THREAD_CALLS ?? 100_000)

const maxKeys = 50

/** Threads at work at once. */
const together = 4

/** How often the first of a line looks, ms. */
const lookMs = 25

const { start, run } = threads()

/** A store, a limiter of this thread, and what others need to count with it. */
function jobs<P extends Policy>(policy: P) {
  const store = sharedStore({ maxKeys })
  const limiter = createLimiter({ ...policy, store })
  const usage = () => (store as AttachedBuffer).usage
  return { store, limiter, work: { handle: store.handle, policy }, usage }
}

/** What threads need that take and release. */
function hammering(shared: Pick<PermitWork & { kind: 'hold' }, 'handle' | 'policy'>, count: number) {
  const keys = ['a', 'b', 'c']
  const inside = new BigInt64Array(new SharedArrayBuffer(8 * keys.length))
  const seen = new Int32Array(new SharedArrayBuffer(12))
  const workOf = (place: number, seed: number) =>
    ({ ...shared, kind: 'take and release', keys, inside, place, seen, count, seed }) as const
  return { keys, inside, seen, workOf }
}

const pair = { name: 'jobs', concurrency: 2 }

/** Has a thread take two permits. */
const holding = { policy: pair, kind: 'hold', key: 'a', count: 2, ending: 'stays' } as const

/** How many of them are free. */
const freeIn = (from: SharedHandle) =>
  createLimiter({ ...pair, store: sharedStore({ from }) }).peek('a').remaining

/** Collects what nobody has any more. */
async function collect(): Promise<void> {
  setFlagsFromString('--expose-gc')
  const gc = runInNewContext('gc') as () => void
  for (let i = 0; i < 3; i++) {
    gc()
    await setTimeout(1)
  }
}

describe('permits of threads', { timeout: 60_000 }, () => {
  it('are never more than the limit, and all come back', { timeout: 120_000 }, async () => {
    const { limiter, work, usage } = jobs({ name: 'jobs', concurrency: 5 })
    const { keys, seen, workOf } = hammering(work, Math.ceil(calls / together))
    await run(Array.from({ length: together }, (_, i) => workOf(i, i + 1)))
    expect(seen[0]).toBe(0)
    expect(seen[1]).toBeGreaterThan(calls / 20)
    expect(keys.map((key) => limiter.peek(key).remaining)).toEqual([5, 5, 5])
    expect(limiter.size()).toBe(0)
    expect(usage().threads).toBe(1)
    // Some ended with permits that they had never released.
    expect(seen[2]).toBeGreaterThan(0)
  })

  it('come back from threads that are killed at any instruction', {
    timeout: 60_000 + kills * 1000
  }, async () => {
    const { limiter, work, usage } = jobs({ name: 'jobs', concurrency: 5 })
    const { keys, inside, seen, workOf } = hammering(work, Number.MAX_SAFE_INTEGER)
    const hammer = (place: number, seed: number): Worker => {
      const worker = start(workOf(place, seed))
      // Before the permits of the thread come back: this listener is the first.
      worker.once('exit', () => leaveAll(inside, place))
      return worker
    }
    const survivor = hammer(0, 1)
    await once(survivor, 'message')
    for (let killed = 0; killed < kills; killed += 2) {
      const victims = [hammer(1, killed + 2), hammer(2, killed + 3)]
      await Promise.all(victims.map((victim) => once(victim, 'message')))
      for (let turn = 0; turn <= killed % 7; turn++) await new Promise((resolve) => setImmediate(resolve))
      await Promise.all(victims.map((victim) => victim.terminate()))
      expect(usage().threads).toBe(2)
      const before = Atomics.load(seen, 1)
      const deadline = performance.now() + 5000
      while (Atomics.load(seen, 1) < before + 10 && performance.now() < deadline) await setTimeout(1)
      expect(Atomics.load(seen, 1)).toBeGreaterThanOrEqual(before + 10)
    }
    await survivor.terminate()
    expect(seen[0]).toBe(0)
    expect(keys.map((key) => limiter.peek(key).remaining)).toEqual([5, 5, 5])
    expect([limiter.size(), usage().threads]).toEqual([0, 1])
    // They have taken no key's room with them, and next to no records.
    const fresh = Array.from({ length: maxKeys + 1 }, (_, i) => limiter.acquire(`fresh ${i}`).allowed)
    expect(fresh).toEqual([...Array(maxKeys).fill(true), false])
    expect(usage().records).toBeLessThan(maxKeys + kills)
  })

  it('come back by the time that the end of a thread is known', {
    timeout: 60_000 + kills * 1000
  }, async () => {
    const { limiter, work, usage } = jobs({ name: 'jobs', concurrency: 5 })
    let records = 0
    for (let i = 0; i < kills; i++) {
      const worker = start({ ...work, kind: 'hold', key: 'a', count: 5, ending: 'stays' })
      expect(await once(worker, 'message')).toEqual([Array(5).fill(true)])
      expect(limiter.acquire('a').allowed).toBe(false)
      await worker.terminate()
      expect(limiter.peek('a').remaining).toBe(5)
      if (i === 2) ({ records } = usage())
      if (i > 2) expect(usage()).toEqual({ threads: 1, records })
    }
    expect(limiter.size()).toBe(0)
  })

  it.each(['returns', 'exits', 'throws'] as const)('come back from one that %s', async (ending) => {
    const { limiter, work } = jobs({ name: 'jobs', concurrency: 3 })
    const worker = start({ ...work, kind: 'hold', key: 'a', count: 2, ending })
    const ended = new Promise((resolve) => worker.once('exit', resolve))
    worker.once('error', () => {})
    await ended
    await Promise.resolve()
    expect([limiter.peek('a').remaining, limiter.size()]).toEqual([3, 0])
  })

  it('come back from one that ended with the thread that had started it', async () => {
    const { limiter, work, usage } = jobs({ name: 'jobs', concurrency: 3 })
    const outer = start({ ...work, kind: 'hold', key: 'a', count: 2, ending: 'stays', depth: 2 })
    expect(await once(outer, 'message')).toEqual([[true, true]])
    expect([limiter.peek('a').remaining, usage().threads]).toEqual([1, 4])
    await outer.terminate()
    expect([limiter.peek('a').remaining, usage().threads]).toEqual([3, 1])
  })

  it('come back where the thread that started it has kept nothing of the store but its handle', async () => {
    const { handle } = sharedStore({ maxKeys })
    await collect()
    const worker = start({ ...holding, handle })
    await once(worker, 'message')
    await collect()
    await worker.terminate()
    expect(freeIn(handle)).toBe(2)
  })

  it('come back where the thread that started it has kept nothing of the store', async () => {
    let copy: SharedHandle | undefined
    const worker = (() => {
      const { handle } = sharedStore({ maxKeys })
      copy = structuredClone(handle)
      return start({ ...holding, handle })
    })()
    await once(worker, 'message')
    await collect()
    await worker.terminate()
    expect(freeIn(copy!)).toBe(2)
  })

  it('may stay out where nobody watches the thread, which is said', async () => {
    const { work } = jobs({ name: 'jobs', concurrency: 2 })
    const startedHere = getEnvironmentData('headgate:watcher')
    setEnvironmentData('headgate:watcher', undefined)
    const worker = start({ ...work, kind: 'hold', key: 'a', count: 1, ending: 'stays' })
    setEnvironmentData('headgate:watcher', startedHere)
    const said: unknown[] = []
    worker.on('message', (message) => said.push(message))
    while (said.length < 2) await setTimeout(1)
    expect(said).toEqual([[true], 'HEADGATE_UNWATCHED_THREAD'])
  })

  it('are given to one that waits in another thread, soon', async () => {
    const policy = { name: 'jobs', concurrency: 1, queue: 2, maxWait: '1m' } as const
    const { store, work } = jobs({ name: 'jobs', concurrency: 1 })
    const limiter = createLimiter({ ...policy, store })
    const permit = await limiter.acquire('a')
    const worker = start({ ...work, policy, kind: 'wait', key: 'a' })
    const [message] = await once(worker, 'message')
    expect(message).toBe('waiting')
    const answer = once(worker, 'message')
    expect(limiter.peek('a').remaining).toBe(0)
    const releasedAt = performance.now()
    permit.release()
    expect(await answer).toEqual([{ allowed: true }])
    // Beside what a busy machine takes to wake it.
    expect(performance.now() - releasedAt).toBeLessThan(lookMs + 2000)
    await once(worker, 'exit')
    expect(limiter.peek('a').remaining).toBe(1)
  })
})
