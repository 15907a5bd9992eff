import { afterEach, describe, expect, it, vi } from 'vitest'
import { processes } from '../support/processes.js'
import { freshPrefix, servers } from '../support/stores.js'
import { until } from '../support/until.js'

afterEach(() => vi.restoreAllMocks())

const settings = { leaseMs: 1000, breaker: { failures: 1, cooldown: 50 }, onStateChange: () => {} }

describe.skipIf(servers === null)('permits while Redis fails', () => {
  const open = processes()
  const two = (policy: object, more = {}) => {
    const prefix = freshPrefix()
    const make = () => open(null, { name: 'jobs', ...policy }, prefix, { ...settings, ...more })
    return { one: make(), other: make() }
  }
  const free = async (process: ReturnType<typeof open>, key = 'a') => {
    const { remaining, source } = await process.limiter.peek(key)
    expect(source).toBe('store')
    return remaining
  }

  it('are not counted under allow, and given to nobody under deny', async () => {
    for (const onStoreError of ['allow', 'deny'] as const) {
      const { one, other } = two({ concurrency: 1 }, { onStoreError })
      one.faults.isDown = true
      const permits = [await one.limiter.acquire('a'), await one.limiter.acquire('a')]
      for (const permit of permits)
        expect(permit).toMatchObject({ allowed: onStoreError === 'allow', source: onStoreError })
      expect(permits[0]!.remaining).toBeNaN()
      one.faults.isDown = false
      for (const permit of permits) permit.release()
      expect(await free(other)).toBe(1)
    }
  })

  it('are counted here against the share, with those that Redis gave before', async () => {
    const { one, other } = two({ concurrency: 8 }, { share: 1 / 2 })
    const before = await one.limiter.acquire('a', 3)
    expect(before.source).toBe('store')
    one.faults.isDown = true
    const local = await one.limiter.acquire('a')
    expect(local).toMatchObject({ allowed: true, source: 'local', limit: 4, remaining: 0 })
    expect(await one.limiter.acquire('a')).toMatchObject({
      allowed: false,
      source: 'local',
      isEstimate: true
    })
    expect(await one.limiter.peek('a')).toMatchObject({ remaining: 0, source: 'local' })
    before.release()
    const more = await one.limiter.acquire('a', 2)
    expect(more).toMatchObject({ allowed: true, remaining: 1 })
    more.release()
    one.faults.isDown = false
    // What was taken here is told, what was given before and released meanwhile is gone.
    await until('Redis knows', async () => (await free(other)) === 7)
    expect(local.isLost).toBe(false)
    local.release()
    await until('nothing is out', async () => (await free(other)) === 8)
  })

  it('beside windows, which are charged afterwards', async () => {
    const limits = [
      { name: 'rate', limit: 10, window: '1h' },
      { name: 'jobs', concurrency: 3 }
    ]
    const { one, other } = two({ limits, name: undefined })
    one.faults.isDown = true
    const permit = await one.limiter.acquire('a', 2)
    expect(permit).toMatchObject({ allowed: true, source: 'local', remaining: 1 })
    expect((await one.limiter.acquire('a', 2)).allowed).toBe(false)
    permit.release()
    expect((await one.limiter.acquire('a', 1)).allowed).toBe(true)
    await Promise.resolve(one.limiter.block('b', '1h')).catch(() => {})
    expect(await one.limiter.acquire('b')).toMatchObject({ allowed: false, source: 'local' })
    one.faults.isDown = false
    const remaining = async () => (await other.limiter.peek('a')).tiers.map((tier) => tier.remaining)
    await until('Redis knows', async () => String(await remaining()) === '7,2')
    expect((await other.limiter.peek('b')).allowed).toBe(false)
  })

  it('are renewed again, even if nobody asks for any', async () => {
    const { one, other } = two({ concurrency: 1 })
    const permit = await one.limiter.acquire('a')
    one.faults.isDown = true
    await one.limiter.peek('b')
    expect(one.store.isAvailable).toBe(false)
    one.faults.isDown = false
    await until('it works', () => one.store.isAvailable)
    expect((await other.limiter.acquire('a')).allowed).toBe(false)
    permit.release()
    expect(await free(other)).toBe(1)
  })

  it('whose answer was lost are given back', async () => {
    const { one, other } = two({ concurrency: 2 }, { onStoreError: 'deny', breaker: { failures: 5 } })
    one.faults.isLossy = true
    expect(await one.limiter.acquire('a')).toMatchObject({ allowed: false, source: 'deny' })
    expect(await free(other)).toBe(1)
    one.faults.isLossy = false
    await until('it is free', async () => (await free(other)) === 2)
  })

  it('whose release was not heard are given back later, and once', async () => {
    const { one, other } = two({ concurrency: 2 }, { breaker: { failures: 5 } })
    const permits = [await one.limiter.acquire('a'), await one.limiter.acquire('a')]
    one.faults.isLossy = true
    permits[0]!.release()
    await until('it is free', async () => (await free(other)) === 1)
    one.faults.isLossy = false
    one.faults.isDown = true
    permits[1]!.release()
    one.faults.isDown = false
    await until('it is free', async () => (await free(other)) === 2)
    const theirs = await other.limiter.acquire('a', 2)
    expect(theirs.allowed).toBe(true)
    const told = one.calls.length
    await one.limiter.peek('a')
    await until('it had the time', () => one.calls.length > told)
    expect(await free(other)).toBe(0)
  })
})
