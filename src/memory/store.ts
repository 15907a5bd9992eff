import { Names } from '../core/names.js'
import { badOption, checkNames, readOptions, type TableOf } from '../core/options.js'
import { wholeNumber } from '../core/readers.js'
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

/** How those are read. */
const memoryStoreOptions = {
  maxKeys: {
    read: (option: string, value: unknown) =>
      value === undefined ? undefined : wholeNumber(option, value, 1)
  }
} as const satisfies TableOf<MemoryStoreOptions>

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
  checkNames(options, memoryStoreOptions, 'memoryStore')
  const { maxKeys } = readOptions(memoryStoreOptions, options)
  const names = new Names({ areSame: (a, b) => a === b })
  const shared = new Map<string, Buckets>()
  return {
    open(asked: BucketsOptions): Buckets {
      const { policies, named } = asked
      if (!named) return new MemoryBuckets(policies, maxKeys)
      return names.claim(asked, ({ id }) => {
        const buckets = shared.get(id) ?? new MemoryBuckets(policies, maxKeys)
        shared.set(id, buckets)
        return buckets
      })
    }
  }
}
