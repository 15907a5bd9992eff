import { warnOfLostCounters } from '../core/calendar/lost-at-restart.js'
import { Names } from '../core/names.js'
import { badOption, checkNames, readOptions, type TableOf } from '../core/options.js'
import { countsInFlight, PermitBuckets } from '../core/permit-buckets.js'
import type { Policy } from '../core/policy.js'
import { wholeNumber } from '../core/readers.js'
import type { Buckets, BucketsOptions, Store } from '../core/store.js'
import { MemoryBuckets } from './buckets.js'
import { Permits } from './permits.js'
import { KeptSections } from './saving/kept-sections.js'

/** Options of `memoryStore`. */
export interface MemoryStoreOptions {
  /**
   * The maximum number of keys that each limiter keeps. The default is 1 000 000, or as many as fit 256 MiB if a key
   * takes more than 268 bytes, as in a long sliding log of a busy key. Memory is allocated as keys arrive, and as they
   * grow. The overflow, which judges keys beyond the maximum, takes up to three fifths more once it is needed.
   */
  readonly maxKeys?: number | undefined
  /**
   * What `save()` of another store returned, such as that of this process before it was restarted: limiters go on where they
   * were. Undefined, at the first start, begins with empty counters.
   */
  readonly from?: Uint8Array | undefined
}

/** A store in the memory of this process. */
export interface MemoryStore extends Store {
  /**
   * All counters and blocks as bytes, to be given to `memoryStore({ from })` later. What is in flight is not among them. They
   * hold the seed of the fingerprints of keys: keep them as private as the keys.
   */
  save(): Uint8Array
}

/** How those are read. */
const memoryStoreOptions = {
  maxKeys: {
    read: (option: string, value: unknown) =>
      value === undefined ? undefined : wholeNumber(option, value, 1)
  },
  // Read where the store is made.
  from: {}
} as const satisfies TableOf<MemoryStoreOptions>

/**
 * The embedded store: exact, synchronous and bounded. Keys that owe nothing are reclaimed as others come, without
 * a timer; keys that owe are never forgotten. What does not fit `maxKeys` is judged by a fixed-size overflow that
 * can be too strict, never too lax.
 *
 * Each limiter of a store has counters of its own, except that limiters whose policies are all named share those
 * of equal names.
 * @throws HeadgateError `HEADGATE_BAD_OPTION`, `HEADGATE_BAD_SAVE`
 */
export function memoryStore(options: MemoryStoreOptions = {}): MemoryStore {
  if (typeof options !== 'object' || options === null)
    throw badOption('options', options, 'give { maxKeys, from }, or nothing')
  checkNames(options, memoryStoreOptions, 'memoryStore')
  const { maxKeys } = readOptions(memoryStoreOptions, options)
  return new EmbeddedStore(maxKeys, new KeptSections(options.from), 'from' in options)
}

/** How many limiters are opened before those that are gone are looked for. */
const fewLimiters = 64

/** A limiter that was opened, as long as anybody has it. */
interface Opened {
  readonly key: string
  readonly buckets: WeakRef<Buckets>
  /** What is saved of it; null before it has anything. */
  counted: WeakRef<MemoryBuckets> | null
}

class EmbeddedStore implements MemoryStore {
  readonly #maxKeys: number | undefined
  readonly #names = new Names({ areSame: (a, b) => a === b })
  readonly #shared = new Map<string, Buckets | WeakRef<Buckets>>()
  /** Forgets the names of limiters that may go, and have gone. */
  readonly #gone = new FinalizationRegistry((id: string) => {
    if (this.#known(id) !== undefined) return
    this.#shared.delete(id)
    this.#names.release(id)
  })
  /** All that it has opened. A limiter that nobody has any more takes its buckets with it. */
  #opened: Opened[] = []
  #most = fewLimiters

  readonly #kept: KeptSections
  /** True where the user knows that counters are lost otherwise. */
  #isSaved: boolean

  constructor(maxKeys: number | undefined, kept: KeptSections, isSaved: boolean) {
    this.#maxKeys = maxKeys
    this.#kept = kept
    this.#isSaved = isSaved
  }

  open(asked: BucketsOptions): Buckets {
    if (!asked.named) return this.#made(asked)
    return this.#names.claim(asked, ({ id }) => {
      const known = this.#known(id)
      const buckets = known ?? this.#made(asked)
      const mayGo = asked.owner?.mayGo === true
      if (mayGo && known === undefined) this.#gone.register(buckets, id)
      this.#shared.set(id, mayGo ? new WeakRef(buckets) : buckets)
      return buckets
    })
  }

  #known(id: string): Buckets | undefined {
    const shared = this.#shared.get(id)
    return shared instanceof WeakRef ? shared.deref() : shared
  }

  clear(): void {
    this.#kept.clear()
    for (const { buckets } of this.#opened) buckets.deref()?.clear()
  }

  save(): Uint8Array {
    this.#isSaved = true
    return this.#kept.save(
      this.#opened.flatMap(({ key, counted }) => {
        const buckets = counted?.deref()
        return buckets === undefined ? [] : [[key, buckets.latest, (to) => buckets.save(to)] as const]
      })
    )
  }

  #made(asked: BucketsOptions): Buckets {
    const { policies } = asked
    const key = this.#kept.keyFor(asked)
    const hasBlocks = this.#kept.has(key)
    let counted: WeakRef<MemoryBuckets> | null = null
    let opened: Opened | null = null
    const open = (windows: readonly Policy[]) => {
      const made = new MemoryBuckets(windows, this.#maxKeys, undefined, this.#kept.seed)
      const saved = this.#kept.take(key)
      if (saved !== null) made.restore(saved)
      counted = new WeakRef(made)
      if (opened !== null) opened.counted = counted
      return made
    }
    if (!this.#isSaved) warnOfLostCounters(policies)
    const buckets = policies.some(countsInFlight)
      ? new PermitBuckets({ policies, counts: new Permits(), open, isShared: false, hasBlocks })
      : open(policies)
    opened = { key, buckets: new WeakRef(buckets), counted }
    this.#opened.push(opened)
    if (this.#opened.length > this.#most) {
      this.#opened = this.#opened.filter((one) => one.buckets.deref() !== undefined)
      this.#most = 2 * this.#opened.length + fewLimiters
    }
    return buckets
  }
}
