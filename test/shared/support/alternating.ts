import type { Buckets, BucketsOptions, Store } from '../../../src/core/store.js'
import { type SharedStore, sharedStore } from '../../../src/shared/index.js'

/** A store whose every call goes to the other of two attachments, as two threads in turn would. */
export function alternating(store: SharedStore): Store {
  const other = sharedStore({ from: structuredClone(store.handle) })
  return {
    open: (options: BucketsOptions) => new InTurn([store.open(options), other.open(options)]),
    clear: () => other.clear()
  }
}

class InTurn implements Buckets {
  #turn = 0
  readonly #both: readonly [Buckets, Buckets]

  constructor(both: readonly [Buckets, Buckets]) {
    this.#both = both
  }

  get #next(): Buckets {
    this.#turn = 1 - this.#turn
    return this.#both[this.#turn]!
  }

  decide(...args: Parameters<Buckets['decide']>) {
    return this.#next.decide(...args)
  }

  refund(...args: Parameters<Buckets['refund']>) {
    this.#next.refund(...args)
  }

  reset(key: string) {
    this.#next.reset(key)
  }

  clear() {
    this.#next.clear()
  }

  block(...args: Parameters<Buckets['block']>) {
    return this.#next.block(...args)
  }

  blocks(...args: Parameters<NonNullable<Buckets['blocks']>>) {
    return this.#next.blocks!(...args)
  }

  size(now: number) {
    return this.#next.size(now)
  }
}
