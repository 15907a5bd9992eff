import { describe, expect, it } from 'vitest'
import { createLimiter } from '../../src/index.js'
import { type OnStoreError, remoteStore } from '../../src/remote/index.js'
import { lockingStore } from './locking-store.js'

/** A store that fails. */
const failing = (onStoreError: OnStoreError) =>
  remoteStore(
    {
      name: 'the table',
      shardOf: () => 0,
      nodeOf: () => '',
      open: () => ({ update: () => Promise.reject(new Error('gone')) })
    },
    { onStoreError, onStateChange: () => {} }
  )

const rule = { limit: Infinity, window: '1h' } as const

async function delaysOf(
  limiter: { consume(key: string): Promise<{ readonly delayMs?: number }> },
  count: number
) {
  const delays: unknown[] = []
  for (let i = 0; i < count; i++) delays.push((await limiter.consume('key')).delayMs)
  return delays
}

describe('slowing down with a store outside the process', () => {
  it('holds nobody where nobody counts', async () => {
    const delay = { after: 0, step: '1s' }
    for (const onStoreError of ['allow', 'deny'] as const) {
      const limiter = createLimiter({ ...rule, delay, store: failing(onStoreError) })
      const decision = await limiter.consume('key')
      expect(decision).toMatchObject({ limit: Infinity, remaining: Number.NaN, delayMs: 0 })
      expect([decision.allowed, decision.source]).toEqual([onStoreError === 'allow', onStoreError])
    }
  })

  it('counts in an outage what this process sees, each for its share of the requests', async () => {
    const delay = { after: 8, step: 100, max: '1s' }
    const limiter = createLimiter({ ...rule, delay, share: 1 / 4, store: failing('local') })
    expect(await delaysOf(limiter, 6)).toEqual([0, 0, 400, 800, 1000, 1000])
    expect(await limiter.consume('key')).toMatchObject({ allowed: true, limit: Infinity, source: 'local' })
  })

  it.each([100, Infinity])('knows what was spent of a lease (limit %s)', async (limit) => {
    const delay = { after: 2, step: 100 }
    const limiter = createLimiter({ ...rule, limit, delay, lease: 10, store: lockingStore(() => 0) })
    const sources: string[] = []
    const delays: unknown[] = []
    for (let i = 0; i < 15; i++) {
      const { source, delayMs } = await limiter.consume('key')
      sources.push(source)
      delays.push(delayMs)
    }
    expect(sources).toContain('lease')
    expect(delays).toEqual(Array.from({ length: 15 }, (_, i) => Math.max(0, i - 1) * 100))
  })
})
