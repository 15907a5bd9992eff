import type { AsyncLimiter } from '../core/async-limiter.js'
import type { AsyncStore } from '../core/async-store.js'
import type { Limiter, QueueingLimiter } from '../core/limiter.js'
import type { PolicyOptions } from '../core/policy-options.js'
import type { Store } from '../core/store.js'
import { memoryStore } from '../memory/store.js'
import { noteMaking } from './making.js'
import { buildLimiter, type LimiterOptions } from './options.js'

/**
 * A limiter of one policy, or of several (`limits`) that are decided together. With the memory store, which is
 * the default, every method returns plain values; with a store outside the process, promises. Where `concurrency` has a
 * `queue`, `acquire` returns a promise.
 * @example
 * const limiter = createLimiter({ limit: 100, window: '1m' })
 * if (!limiter.consume('user:7').allowed) reject()
 * @throws HeadgateError that names the option, the value and the fix
 */
export function createLimiter(
  options: LimiterOptions & NoQueue & { readonly store?: Store | undefined }
): Limiter
export function createLimiter(
  options: LimiterOptions & { readonly store?: Store | undefined }
): QueueingLimiter
export function createLimiter(options: LimiterOptions & { readonly store: AsyncStore }): AsyncLimiter
export function createLimiter(options: LimiterOptions): Limiter | QueueingLimiter | AsyncLimiter
export function createLimiter(options: LimiterOptions): Limiter | QueueingLimiter | AsyncLimiter {
  const limiter = buildLimiter(options, memoryStore)
  noteMaking()
  return limiter as Limiter | AsyncLimiter
}

/** Options with which nobody waits. */
interface NoQueue {
  readonly queue?: undefined
  readonly limits?: readonly (PolicyOptions & { readonly queue?: undefined })[]
}
