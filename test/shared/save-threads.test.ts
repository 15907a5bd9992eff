import { setImmediate } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { createLimiter } from '../../src/index.js'
import { sharedStore } from '../../src/shared/index.js'
import { threads } from './support/threads.js'

const T = 1_700_000_400_000
const policy = { name: 'api', limit: 1_000_000, window: 'year' } as const
const keys = Array.from({ length: 50 }, (_, i) => `key ${i}`)

const { run } = threads()

function usedOf(saved: Uint8Array): number[] {
  const limiter = createLimiter({ ...policy, store: sharedStore({ from: saved }), now: () => T })
  return keys.map((key) => policy.limit - limiter.peek(key).remaining)
}

it('a store is saved while threads count, and has what each key had at some time', async () => {
  const store = sharedStore({ maxKeys: 200, maxBytes: 16 * 2 ** 20 })
  const clock = new BigInt64Array(new SharedArrayBuffer(8)).fill(BigInt(T))
  const count = 2000
  const work = { kind: 'hit', handle: store.handle, clock, policy, keys, count } as const
  const saves: Uint8Array[] = []
  let isDone = false
  const done = run([work, work]).finally(() => {
    isDone = true
  })
  while (!isDone) {
    if (saves.length < 40) saves.push(store.save())
    await setImmediate()
  }
  await done
  let before = keys.map(() => 0)
  for (const saved of [...saves, store.save()]) {
    const used = usedOf(saved)
    for (const [i, units] of used.entries()) expect(units).toBeGreaterThanOrEqual(before[i]!)
    before = used
  }
  expect(before).toEqual(keys.map(() => 2 * count))
}, 60_000)
