import { describe, expect, it } from 'vitest'
import { memoryStore } from '../../src/index.js'
import { buildLimiter } from '../../src/limiter/options.js'
import { sharedStore } from '../../src/shared/index.js'

const stores = [
  ['memory', () => memoryStore({ maxKeys: 64 })],
  ['shared', () => sharedStore({ maxKeys: 64 })]
] as const

describe.each(stores)('a full %s store', (_name, makeStore) => {
  it.each(['fixed-window', 'sliding-window'])('denies nobody whose limit is Infinity (%s)', (strategy) => {
    const limiter = buildLimiter(
      { limit: 3, window: '1h', strategy, delay: { step: '1s' }, store: makeStore(), now: () => 0 },
      memoryStore
    )
    const under = (limit: number, key: string) => limiter.take(key, 1, limiter.withLimits([limit]))
    for (let i = 0; i < 3000; i++) under(3, `few${i}`)
    let denied = 0
    for (let i = 0; i < 3000; i++) if (!under(Infinity, `many${i}`).isAllowed) denied++
    expect(denied).toBe(0)
    for (let i = 0; i < 100; i++) under(Infinity, 'one')
    expect(under(3, 'one').isAllowed).toBe(false)
  })
})
