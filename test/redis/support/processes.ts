import { createLimiter } from '../../../src/index.js'
import type { RedisStoreOptions } from '../../../src/redis/options.js'
import { redisStoreOn } from '../../../src/redis/store.js'
import { captured } from './captured.js'
import { connected } from './stores.js'

/** Makes what a process has: a store of its own, on the same keys as others of its prefix. */
export function processes() {
  const connection = connected('ioredis 6', 'single')
  const command = (...words: readonly string[]) =>
    (connection.client as { call(...words: readonly string[]): Promise<unknown> }).call(...words)
  return (clock: (() => number) | null, policy: object, prefix: string, settings: RedisStoreOptions = {}) => {
    const { client, calls } = captured(() => ({ command }))
    const faults = { isDown: false, isLossy: false }
    const send = async (words: readonly string[], key: string) => {
      if (faults.isDown) throw new Error('down')
      const reply = await client(words, key)
      if (faults.isLossy) throw new Error('the connection was lost')
      return reply
    }
    const store = redisStoreOn(send, { prefix, deadline: '10s', ...settings }, clock)
    return { store, calls, faults, limiter: createLimiter({ name: 'api', ...policy, store } as never) }
  }
}
