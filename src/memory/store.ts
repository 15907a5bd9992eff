import { Names } from '../core/names.js'
import { badOption, checkNames, readOptions, type TableOf } from '../core/options.js'
import { countsInFlight, PermitBuckets } from '../core/permit-buckets.js'
import type { Policy } from '../core/policy.js'
import { wholeNumber } from '../core/readers.js'
import type { Buckets, BucketsOptions, Store } from '../core/store.js'
import { MemoryBuckets } from './buckets.js'
import { Permits } from './permits.js'

/** Options of `memoryStore`. */
export interface MemoryStoreOptions {
  /**
   * The maximum number of keys that each limiter keeps. The default is 1 000 000, or as many as fit 256 MiB if a key
   * takes more than 268 bytes, as in a long sliding log of a busy key. Memory is allocated as keys arrive, and as they
   * grow. The overflow, which judges keys beyond the maximum, takes up to three fifths more once it is needed.
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
  return new EmbeddedStore(maxKeys)
}

/** How many limiters are opened before those that are gone are looked for. */
const fewLimiters = 64

class EmbeddedStore implements Store {
  readonly #maxKeys: number | undefined
  readonly #names = new Names({ areSame: (a, b) => a === b })
  readonly #shared = new Map<string, Buckets>()
  /** All that it has opened. A limiter that nobody has any more takes its buckets with it. */
  #opened: WeakRef<Buckets>[] = []
  #most = fewLimiters

  constructor(maxKeys: number | undefined) {
    this.#maxKeys = maxKeys
  }

  open(asked: BucketsOptions): Buckets {
    if (!asked.named) return this.#made(asked)
    return this.#names.claim(asked, ({ id }) => {
      const buckets = this.#shared.get(id) ?? this.#made(asked)
      this.#shared.set(id, buckets)
      return buckets
    })
  }

  clear(): void {
    for (const buckets of this.#opened) buckets.deref()?.clear()
  }

  #made({ policies }: BucketsOptions): Buckets {
    const open = (windows: readonly Policy[]) => new MemoryBuckets(windows, this.#maxKeys)
    const buckets = policies.some(countsInFlight)
      ? new PermitBuckets({ policies, counts: new Permits(), open, isShared: false })
      : open(policies)
    this.#opened.push(new WeakRef(buckets))
    if (this.#opened.length > this.#most) {
      this.#opened = this.#opened.filter((opened) => opened.deref() !== undefined)
      this.#most = 2 * this.#opened.length + fewLimiters
    }
    return buckets
  }
}
