import type { Policy } from '../../../src/core/policy.js'
import type { BlockPage, BlocksFound, Buckets, BucketsOptions, Store } from '../../../src/core/store.js'
import type { Action, Verdict } from '../../../src/core/verdict.js'

/** A store that can be saved. */
export interface SavedStore extends Store {
  save(): Uint8Array
}

/** A store that is saved, and made anew from what was saved, each time so many things were asked of it. */
export function restarting(make: (from?: Uint8Array) => SavedStore, every = 3): Store {
  let store = make()
  let asked = 0
  const opened: Restarted[] = []
  const restart = () => {
    if (++asked % every > 0) return
    const saved = store.save()
    store = make(saved)
    for (const buckets of opened) buckets.open(store)
  }
  return {
    open(options) {
      const buckets = new Restarted(options, restart)
      buckets.open(store)
      opened.push(buckets)
      return buckets
    },
    clear() {
      store.clear()
    }
  }
}

class Restarted implements Buckets {
  readonly #options: BucketsOptions
  readonly #restart: () => void
  #buckets!: Buckets

  constructor(options: BucketsOptions, restart: () => void) {
    this.#options = options
    this.#restart = restart
  }

  open(store: Store): void {
    this.#buckets = store.open(this.#options)
  }

  decide(action: Action, key: string, cost: number, now: number, policies: readonly Policy[]): Verdict {
    this.#restart()
    return this.#buckets.decide(action, key, cost, now, policies)
  }

  refund(key: string, cost: number, now: number, policies: readonly Policy[], chargedAt: number): void {
    this.#restart()
    this.#buckets.refund(key, cost, now, policies, chargedAt)
  }

  reset(key: string): void {
    this.#restart()
    this.#buckets.reset(key)
  }

  clear(): void {
    this.#restart()
    this.#buckets.clear()
  }

  block(key: string, blockMs: number, now: number, isLeast?: boolean): boolean {
    this.#restart()
    return this.#buckets.block(key, blockMs, now, isLeast)
  }

  blocks(page: BlockPage, now: number): BlocksFound {
    return this.#buckets.blocks!(page, now)
  }

  size(now: number): number {
    this.#restart()
    return this.#buckets.size(now)
  }
}
