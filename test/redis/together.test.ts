import { describe, expect, it } from 'vitest'
import { Together } from '../../src/core/together.js'
import { memoryStore } from '../../src/index.js'
import { buildLimiter, type LimiterOptions } from '../../src/limiter/options.js'
import { redisStoreOn } from '../../src/redis/store.js'
import { captured } from './support/captured.js'
import { connected, freshPrefix, servers } from './support/stores.js'

type Settings = Partial<LimiterOptions>

/** Two limiters on one store that decide together, and the calls that are made for it. */
function pair(client: never, settings: Settings = {}) {
  const command = (...words: readonly string[]) =>
    (client as { call(...words: readonly string[]): Promise<unknown> }).call(...words)
  const { client: seen, calls } = captured(() => ({ command }))
  const store = redisStoreOn(seen, { prefix: freshPrefix(), deadline: '10s' }, () => 1_700_000_000_000)
  const limiters = [
    { name: 'user', limit: 2, window: '1h', ...settings },
    { name: 'server', limit: 9, window: '1h', strategy: 'sliding-log', ...settings }
  ].map((options) => buildLimiter({ ...options, store } as LimiterOptions, memoryStore))
  const ask = (keys: readonly string[], cost = 1) =>
    new Together(
      limiters.map((limiter, i) => ({ limiter, policies: limiter.policies, key: keys[i]!, cost, at: [i] }))
    ).take()
  return { calls, ask, limiters }
}

describe.skipIf(servers === null)('limiters that decide together on one server', () => {
  const connection = connected('ioredis 6', 'single')

  it('are asked in one call, whatever the keys are, and whether they admit or deny', async () => {
    const { calls, ask, limiters } = pair(connection.client)
    await ask(['warm', 'warm'])
    calls.length = 0
    for (let i = 0; i < 3; i++) await ask(['a', 'b'])
    expect(calls.length).toBe(3)
    expect(await limiters[1]!.peek('b')).toMatchObject({ remaining: 7 })
  })

  it('share a call with others that are asked in the same turn', async () => {
    const { calls, ask } = pair(connection.client)
    await ask(['warm', 'warm'])
    calls.length = 0
    const verdicts = await Promise.all(['a', 'b', 'c', 'a', 'a'].map((key) => ask([key, 'all'])))
    expect(calls.length).toBe(1)
    expect(verdicts.map(({ isAllowed }) => isAllowed)).toEqual([true, true, true, true, false])
  })

  it('are decided one after the other where they are many', async () => {
    const { ask, limiters } = pair(connection.client)
    const verdicts = await Promise.all(Array.from({ length: 100 }, (_, i) => ask([`k${i}`, 'all'])))
    expect(verdicts.filter(({ isAllowed }) => isAllowed)).toHaveLength(9)
    const peeks = await Promise.all(Array.from({ length: 100 }, (_, i) => limiters[0]!.peek(`k${i}`)))
    expect(peeks.filter(({ remaining }) => remaining === 1)).toHaveLength(9)
  })
})

describe.skipIf(servers === null)('limiters that decide together on a cluster', () => {
  const connection = connected('ioredis 6', 'cluster')

  it('are asked in one call where their keys are in one slot, and charge nothing on a denial where not', async () => {
    const { ask, limiters } = pair(connection.client)
    const shared = ['same', 'same']
    for (const keys of [shared, ['a', 'b'], ['c', 'd']]) {
      for (let i = 0; i < 5; i++) await ask(keys)
      expect(await limiters[0]!.peek(keys[0]!)).toMatchObject({ remaining: 0 })
      expect(await limiters[1]!.peek(keys[1]!)).toMatchObject({ remaining: 7 })
    }
  })
})
