import type { Policy } from '../../core/policy.js'
import type { Buckets } from '../../core/store.js'
import { type Action, Out, outSize, peek, type Verdict } from '../../core/verdict.js'
import { MemoryBuckets } from '../../memory/buckets.js'
import { bytesPerKey } from '../../memory/table.js'
import type { KnownBlocks } from './known-blocks.js'
import { LostKeys } from './lost-keys.js'

/** Bytes of the table that they have; its overflow takes up to three fifths more. */
const mostBytes = 10 * 2 ** 20

/**
 * The keys that local counting has no room for. They are held to their limits as a full memory store holds them, but
 * nobody knows afterwards what each has used, so the store is not charged for them.
 */
export class LocalOverflow {
  readonly #blocks: KnownBlocks
  #buckets: Buckets | null = null
  /** Of each tier the policy that needs most slots. */
  #widest: readonly Policy[] = []
  readonly #lost = new LostKeys()

  constructor(blocks: KnownBlocks) {
    this.#blocks = blocks
  }

  /** True for a key that owes something here. */
  has(key: string, now: number, shares: readonly Policy[]): boolean {
    if (this.#buckets === null) return false
    const { out } = this.#opened(shares).decide(peek, key, 1, now, shares)
    for (let i = Out.resetMs; i < out.length; i += outSize) if (out[i]! > 0) return true
    return false
  }

  decide(action: Action, key: string, cost: number, now: number, shares: readonly Policy[]): Verdict {
    const { isAllowed, isBlocked, charged, at, out } = this.#opened(shares).decide(
      action,
      key,
      cost,
      now,
      shares
    )
    if (charged > 0) this.#lost.note(key)
    const verdict: Verdict = {
      ...{ isAllowed, isBlocked, charged, at, source: 'local', policies: shares },
      out: Array.from(out)
    }
    if (isBlocked) this.#blocks.hear(key, verdict, true)
    return verdict
  }

  forget(key: string): void {
    this.#buckets?.reset(key)
  }

  /** Forgets all; tells about how many keys there were. */
  end(): number {
    const { count } = this.#lost
    this.#buckets = null
    this.#widest = []
    this.#lost.clear()
    return count
  }

  /** For limits that need more slots than there are it begins anew: a table of so many bytes has fewer keys then. */
  #opened(shares: readonly Policy[]): Buckets {
    const widest = this.#widest
    if (this.#buckets === null || shares.some(({ slots }, i) => slots > widest[i]!.slots)) {
      this.#widest = shares.map((policy, i) =>
        policy.slots > (widest[i]?.slots ?? 0) ? policy : (widest[i] ?? policy)
      )
      const slots = this.#widest.reduce((sum, policy) => sum + policy.slots, 0)
      this.#buckets = new MemoryBuckets(this.#widest, Math.max(1, Math.floor(mostBytes / bytesPerKey(slots))))
    }
    return this.#buckets
  }
}
