import { setImmediate } from 'node:timers/promises'
import type { AsyncBuckets, AsyncStore, Receipt } from '../../src/core/async-store.js'
import type { Policy } from '../../src/core/policy.js'
import type { BlockPage, BlocksFound, Buckets } from '../../src/core/store.js'
import type { Action, Verdict } from '../../src/core/verdict.js'
import { type Clock, memoryStore } from '../../src/index.js'

/** A memory store as one outside of the process: on a clock of its own, and with promises that take a while. */
export function asyncMemory(now: Clock): AsyncStore & { clear(): Promise<void> } {
  const store = memoryStore()
  return {
    openAsync: (options) => new AsyncMemory(store.open(options), now),
    clear: async () => store.clear()
  }
}

class AsyncMemory implements AsyncBuckets {
  readonly #buckets: Buckets
  readonly #now: Clock

  constructor(buckets: Buckets, now: Clock) {
    this.#buckets = buckets
    this.#now = now
  }

  async decide(action: Action, key: string, cost: number, policies: readonly Policy[]): Promise<Verdict> {
    await setImmediate()
    const verdict = this.#buckets.decide(action, key, cost, this.#now(), policies)
    return { ...verdict, out: Array.from(verdict.out) }
  }

  async refund(key: string, cost: number, policies: readonly Policy[], { at }: Receipt): Promise<void> {
    await setImmediate()
    this.#buckets.refund(key, cost, this.#now(), policies, at ?? this.#now())
  }

  async reset(key: string): Promise<void> {
    await setImmediate()
    this.#buckets.reset(key)
  }

  async clear(): Promise<void> {
    await setImmediate()
    this.#buckets.clear()
  }

  async block(key: string, blockMs: number, isLeast?: boolean): Promise<void> {
    await setImmediate()
    this.#buckets.block(key, blockMs, this.#now(), isLeast)
  }

  async blocks(page: BlockPage): Promise<BlocksFound> {
    await setImmediate()
    return this.#buckets.blocks!(page, this.#now())
  }
}
