import type { Limiter } from '../core/limiter.js'
import { buildLimiter, type LimiterOptions } from '../core/limiter-options.js'
import { memoryStore } from './memory.js'

/**
 * A limiter of one policy, or of several (`limits`) that are decided together. With the memory store, which is
 * the default, every method answers at once, with plain values.
 * @example
 * const limiter = createLimiter({ limit: 100, window: '1m' })
 * if (!limiter.consume('user:7').allowed) reject()
 * @throws HeadgateError that names the option, the value and the fix
 */
export function createLimiter(options: LimiterOptions): Limiter {
  return buildLimiter(options, memoryStore)
}
