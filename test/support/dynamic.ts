import { decisionOf } from '../../src/core/decision.js'
import type { WindowOptions } from '../../src/core/policy-options.js'
import { memoryStore } from '../../src/index.js'
import { buildLimiter } from '../../src/limiter/options.js'

/** A limiter whose limit is computed for each request. */
export function dynamic(policy: WindowOptions, settings: { countDenied?: boolean; maxKeys?: number } = {}) {
  let time = 0
  const { maxKeys, ...rest } = settings
  const store = memoryStore(maxKeys === undefined ? {} : { maxKeys })
  const limiter = buildLimiter({ ...policy, ...rest, store, now: () => time }, memoryStore)
  const take = (at: number, key: string | number, cost: number, limit: unknown) => {
    time = at
    return decisionOf(limiter.take(key, cost, limiter.withLimits([limit])), true)
  }
  return {
    limiter,
    take,
    at: (now: number) => {
      time = now
    }
  }
}
