import { setImmediate } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { createLimiter } from '../../src/index.js'
import { type Backend, type Change, remoteStore } from '../../src/remote/index.js'
import { until } from '../redis/support/until.js'

/** A backend as docs/remote.md has it in words, step by step. */
function swapping() {
  const clock = { ms: 1_800_000_000_000 }
  const rows = new Map<string, { readonly text: string; readonly expiresAt: number }>()
  const seen: { readonly expected: string; readonly change: Change | null }[] = []
  const backend: Backend = {
    ...{ name: 'the table', shardOf: () => 0, nodeOf: () => '' },
    open: ({ name }) => ({
      async swap(key, expected, change, call) {
        seen.push({ expected, change })
        await setImmediate()
        const now = clock.ms
        call.tellTime(now)
        const row = rows.get(name + key)
        const text = row !== undefined && now < row.expiresAt ? row.text : ''
        if (change === null || text !== expected) return { isDone: false, text, now }
        const least = change.mayShorten ? 0 : (row?.expiresAt ?? 0)
        rows.set(name + key, { text: change.text, expiresAt: Math.max(now + change.lifeMs, least) })
        return { isDone: true, text, now }
      }
    })
  }
  const process = () => remoteStore(backend, { deadline: '10s', onStoreError: 'deny', leaseMs: 1000 })
  return { clock, seen, process }
}

describe('a backend that swaps, written from docs/remote.md', () => {
  it('is asked first what the key holds, by what no key holds', async () => {
    const { seen, process } = swapping()
    const limiter = createLimiter({ limit: 2, window: '1h', store: process() })
    await limiter.peek('a')
    expect(seen).toEqual([{ expected: '-', change: null }])
    await limiter.consume('a')
    const [, , write] = seen
    expect(write).toMatchObject({ expected: '', change: { mayShorten: true } })
    expect(write!.change!.text).toMatch(/^[ -~]+$/)
    expect(write!.change!.lifeMs).toBeGreaterThan(0)
  })

  it('holds one limit for processes that ask at once', async () => {
    const { process } = swapping()
    const limiters = [process(), process(), process()].map((store) =>
      createLimiter({ name: 'api', limit: 5, window: '1h', strategy: 'gcra', store })
    )
    const asked = limiters.flatMap((limiter) => [0, 1, 2].map(() => limiter.consume('a')))
    const decisions = await Promise.all(asked)
    expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(5)
    expect(decisions.every(({ source }) => source === 'store')).toBe(true)
  })

  it('counts what is in flight, and frees what nobody renews', async () => {
    const { clock, process } = swapping()
    const [store, another] = [process(), process()]
    const [one, other] = [store, another].map((store) =>
      createLimiter({ name: 'jobs', concurrency: 2, store })
    )
    const permits = [await one!.acquire('a'), await one!.acquire('a')]
    expect((await other!.acquire('a')).allowed).toBe(false)
    permits[0]!.release()
    await until('one is free', async () => (await other!.peek('a')).remaining === 1)
    await store.close()
    clock.ms += 1000
    expect((await other!.acquire('a', 2)).allowed).toBe(true)
  })
})
