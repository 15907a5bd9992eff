import { describe, expect, it } from 'vitest'
import { createLimiter } from '../../src/index.js'
import { type OnStoreError, remoteStore } from '../../src/remote/index.js'

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

describe('a cost of 0 while the store fails', () => {
  it.each([
    ['allow', true],
    ['deny', false],
    ['local', true]
  ] as const)('is decided as `onStoreError: %o` says', async (onStoreError, allowed) => {
    const limiter = createLimiter({ limit: 1, window: '1m', store: failing(onStoreError) })
    await limiter.consume('key')
    const decision = await limiter.consume('key', 0)
    expect([decision.allowed, decision.source]).toEqual([allowed, onStoreError])
  })

  it('charges nothing in this process', async () => {
    const limiter = createLimiter({ limit: 2, window: '1h', store: failing('local') })
    for (let i = 0; i < 5; i++) await limiter.consume('key', 0)
    expect(await limiter.consume('key', 2)).toMatchObject({ allowed: true, remaining: 0 })
    expect(await limiter.consume('key', 0)).toMatchObject({ allowed: true, remaining: 0, retryAfterMs: 0 })
  })
})
