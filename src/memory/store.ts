import { HeadgateError } from '../core/errors.js'
import { badOption, checkNames } from '../core/options.js'
import { type Policy, wholeNumber } from '../core/policy.js'
import type { Buckets, BucketsOptions, Store } from '../core/store.js'
import { MemoryBuckets } from './buckets.js'

/** Options of `memoryStore`. */
export interface MemoryStoreOptions {
  /**
   * The maximum number of keys that each limiter keeps. The default is 1 000 000, or as many as fit 256 MiB if a key
   * takes more than 268 bytes, as in a long sliding log. Memory is allocated as keys arrive. The overflow, which judges
   * keys beyond the maximum, takes up to three fifths more once it is needed.
   */
  readonly maxKeys?: number | undefined
}

/**
 * The embedded store: exact, synchronous and bounded. Keys that owe nothing are reclaimed as others come, without
 * a timer; keys that owe are never forgotten. What does not fit `maxKeys` is judged by a fixed-size overflow that
 * can be too strict, never too lax.
 *
 * Each limiter of a store has counters of its own, except that limiters whose policies are all named share those
 * of equal names.
 * @throws HeadgateError `HEADGATE_BAD_OPTION`
 */
export function memoryStore(options: MemoryStoreOptions = {}): Store {
  if (typeof options !== 'object' || options === null)
    throw badOption('options', options, 'give { maxKeys }, or nothing')
  checkNames(options, ['maxKeys'], 'memoryStore')
  const maxKeys = options.maxKeys === undefined ? undefined : wholeNumber('maxKeys', options.maxKeys, 1)
  const shared = new Map<string, { policies: readonly Policy[]; buckets: Buckets }>()
  return {
    open({ policies, named }: BucketsOptions): Buckets {
      if (!named) return new MemoryBuckets(policies, maxKeys)
      const names = JSON.stringify(policies.map((policy) => policy.name))
      const held = shared.get(names) ?? { policies, buckets: new MemoryBuckets(policies, maxKeys) }
      if (!held.policies.every((policy, i) => decideAlike(policy, policies[i]!)))
        throw new HeadgateError(
          'HEADGATE_POLICY_CLASH',
          `This store already counts ${names} under another rule: give one of the two limiters another \`name\`.`
        )
      shared.set(names, held)
      return held.buckets
    }
  }
}

/** Whether defaults were written out or not makes no difference. */
function decideAlike(a: Policy, b: Policy): boolean {
  return (
    a.strategy === b.strategy &&
    a.limit === b.limit &&
    a.windowMs === b.windowMs &&
    a.capacity === b.capacity &&
    (a.align ?? 'clock') === (b.align ?? 'clock') &&
    (a.delayAfter ?? 0) === (b.delayAfter ?? 0)
  )
}
