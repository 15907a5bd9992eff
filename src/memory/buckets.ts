import { Bucket, type Keeper } from '../core/bucket.js'
import { chargedAgo } from '../core/charged-ago.js'
import { badOption } from '../core/options.js'
import type { Policy } from '../core/policy.js'
import type { BlockPage, BlocksFound, Buckets } from '../core/store.js'
import { type Action, Out, outSize, peek, type Verdict } from '../core/verdict.js'
import { Blocks } from './blocks.js'
import { warnOfFewKeys } from './few-keys.js'
import type { Growing } from './growing.js'
import { KeyTable } from './key-table.js'
import { Overflow, overflowWidth } from './overflow.js'
import type { NumberReader, NumberWriter } from './saving/numbers.js'
import { restoreKeys, restoreTiers, saveKeys, saveTiers } from './saving/saved-keys.js'
import type { Mover } from './segment.js'

/** The error for keys that this machine has no memory for. */
function noMemory(policies: readonly Policy[], slots: number, cause: unknown): unknown {
  if (!(cause instanceof RangeError)) return cause
  const { limit } = policies.reduce((most, policy) => (policy.slots > most.slots ? policy : most))
  return badOption(
    'limit',
    limit,
    `its ${slots} numbers for each key do not fit into memory; take a smaller one`
  )
}

/** The buckets of one limiter in one table. */
export class MemoryBuckets implements Buckets, Keeper {
  readonly #bucket: Bucket
  readonly #keys: KeyTable
  readonly #growing: Growing | null
  /** True where keys without room may be judged together. */
  readonly #isShareable: boolean
  /** The numbers of a key that is not in the table: zeros, or what the overflow holds of it. */
  #fresh: Float64Array
  #overflow: Overflow | null = null
  #blocks: Blocks | null = null
  /** True where the table has no room for the key at hand. */
  #isFull = false
  /** The time of the last decision before all was forgotten: what was charged earlier is not given back. */
  #clearedAt = Number.NEGATIVE_INFINITY

  /**
   * @param maxBytes what it may take, beside the overflow: by default 256 MiB, or as much as `maxKeys` takes if given
   * @param seed that of the fingerprints
   */
  constructor(
    policies: readonly Policy[],
    maxKeys: number | undefined,
    maxBytes?: number,
    seed?: Int32Array
  ) {
    this.#bucket = new Bucket(policies)
    this.#isShareable = policies.every(({ strategy }) => strategy.sharesNothing !== true)
    try {
      this.#keys = new KeyTable(this.#bucket, maxKeys, maxBytes, seed)
      this.#growing = this.#keys.growing
      this.#fresh = new Float64Array(this.#bucket.slots)
    } catch (error) {
      throw noMemory(policies, this.#bucket.slots, error)
    }
    warnOfFewKeys(policies, this.#keys)
  }

  decide(action: Action, key: string, cost: number, now: number, policies: readonly Policy[]): Verdict {
    const bucket = this.#bucket
    bucket.setTime(now)
    this.#use(policies)
    const base = this.#keys.find(key)
    const blockedMs = this.#blocks === null ? 0 : this.#blockedMs(key, now)
    if (base < 0) this.#decideNew(action, cost, blockedMs)
    else {
      if (this.#growing === null) bucket.open(this.#keys.cells, base)
      else this.#growing.openWide(this.#keys.cells, base)
      bucket.decide(action, cost, blockedMs, null)
    }
    if (bucket.penaltyMs > 0 && this.block(key, bucket.penaltyMs, now)) bucket.block(bucket.penaltyMs)
    return bucket.verdict
  }

  refund(key: string, cost: number, now: number, policies: readonly Policy[], chargedAt: number): void {
    if (chargedAt < this.#clearedAt) return
    this.#bucket.setTime(now)
    this.#use(policies)
    const base = this.#keys.find(key)
    if (base < 0) return
    if (this.#growing === null) this.#bucket.open(this.#keys.cells, base)
    else this.#growing.open(this.#keys.cells, base)
    this.#bucket.refund(cost, chargedAgo(now, chargedAt))
    this.#keys.lightened()
  }

  reset(key: string): void {
    this.#blocks?.delete(key)
    const base = this.#keys.find(key)
    // It stays in the table, so that it is not judged by the overflow, which knows nothing of resets.
    if (base < 0) return
    if (this.#growing === null) this.#keys.cells.fill(0, base, base + this.#bucket.slots)
    else this.#growing.empty(this.#keys.cells, base)
    this.#keys.lightened()
  }

  clear(): void {
    this.#keys.clear()
    this.#overflow = null
    this.#blocks = null
    this.#fresh.fill(0)
    this.#clearedAt = this.#bucket.verdict.at
  }

  block(key: string, blockMs: number, now: number, isLeast = false): boolean {
    this.#blocks ??= new Blocks()
    const leftMs = isLeast ? this.#blocks.left(key, now) : 0
    return this.#blocks.add(key, Math.max(blockMs, leftMs), now, this.#keys.maxKeys)
  }

  blocks(page: BlockPage, now: number): BlocksFound {
    return this.#blocks?.list(page, now) ?? { blocks: [], next: null }
  }

  size(now: number): number {
    this.#bucket.setTime(now)
    return this.#keys.countOwing()
  }

  /** The time of the last decision. */
  get latest(): number {
    return this.#bucket.verdict.at
  }

  /** Writes all that is owed, and the blocks; gives when nothing of it is left. */
  save(to: NumberWriter): number {
    this.#growing?.leave()
    saveTiers(this.#bucket, to)
    to.number(this.#clearedAt)
    const overflow = this.#overflow?.isActive(this.#bucket) === true ? this.#overflow : null
    to.number(overflow === null ? 0 : 1)
    to.number(this.#blocks === null ? 0 : 1)
    return Math.max(
      overflow?.save(to) ?? 0,
      this.#blocks?.save(to) ?? 0,
      saveKeys(this.#keys, this.#bucket, to)
    )
  }

  /** Reads what buckets of the same policies wrote, before anything was decided. */
  restore(from: NumberReader): void {
    const bucket = this.#bucket
    const slots = restoreTiers(bucket, from)
    this.#growing?.leave()
    if (slots.some((count, i) => count > bucket.tiers[i]!.slots))
      this.#widen(slots.map((count, i) => Math.max(count, bucket.tiers[i]!.slots)))
    this.#clearedAt = from.number()
    const [hasOverflow, hasBlocks] = [from.number() === 1, from.number() === 1]
    if (hasOverflow) this.#overflow = Overflow.restored(bucket.slots, bucket.tiers.length, from)
    if (hasBlocks) this.#blocks = Blocks.restored(from)
    restoreKeys(this.#keys, bucket, from, this.#fresh, () => this.#restoreKey())
    this.#growing?.leave()
    this.#fresh.fill(0)
  }

  /** Adds a key that was read into the numbers of a new one. Where there is no room it is charged to the overflow. */
  #restoreKey(): void {
    const { print, table } = this.#keys
    table.find(print.low, print.high)
    const base = this.#keys.admit()
    if (base < 0) {
      this.#growing?.leave()
      this.#chargeOverflow(this.#mostUsed())
    } else if (this.#growing !== null) this.#growing.openNew(this.#keys.cells, base, this.#fresh)
    else this.#keys.cells.set(this.#fresh, base)
  }

  /** How many units the key that was read has used of any tier. */
  #mostUsed(): number {
    this.#bucket.open(this.#fresh, 0)
    this.#bucket.decide(peek, 1, 0, null)
    const { out } = this.#bucket.verdict
    return this.#bucket.tiers.reduce(
      (most, { policy }, i) => Math.max(most, policy.capacity - out[i * outSize + Out.remaining]!),
      1
    )
  }

  /** Adds the key at hand to the table, with what the overflow holds of it; or finds that there is no room. */
  reserve(): true {
    const base = this.#keys.admit()
    this.#isFull = base < 0
    if (base >= 0) this.#openNew(base)
    else this.#growing?.leave()
    this.#bucket.isShared = this.#isFull || this.#overflow !== null
    return true
  }

  /** Opens an entry that was added, with what the overflow holds of its key. */
  #openNew(base: number): void {
    const { cells } = this.#keys
    const numbers = this.#overflow === null ? null : this.#fresh
    if (this.#growing !== null) this.#growing.openNew(cells, base, numbers)
    else {
      if (numbers !== null) cells.set(numbers, base)
      this.#bucket.open(cells, base)
    }
  }

  #decideNew(action: Action, cost: number, blockedMs: number): void {
    const bucket = this.#bucket
    this.#growing?.leave()
    bucket.open(this.#fresh, 0)
    if (this.#overflow !== null) this.#openOverflow(this.#overflow, cost)
    this.#isFull = false
    bucket.decide(action, cost, blockedMs, this)
    if (this.#isFull && this.#isShareable) this.#chargeOverflow(cost)
    else if (this.#isFull) this.#fresh.fill(0)
  }

  /** Opens what the overflow holds of the key at hand; once it has drained, it goes. */
  #openOverflow(overflow: Overflow, cost: number): void {
    const { print } = this.#keys
    if (overflow.isActive(this.#bucket)) {
      this.#bucket.useLowest()
      overflow.load(print, cost, this.#bucket, this.#fresh)
      this.#bucket.bounds = overflow.best
    } else {
      this.#overflow = null
      this.#fresh.fill(0)
    }
  }

  #chargeOverflow(cost: number): void {
    const { print, overflowKeys } = this.#keys
    const { slots, tiers } = this.#bucket
    this.#overflow ??= new Overflow(slots, overflowWidth(slots, overflowKeys), tiers.length)
    this.#overflow.charge(print, cost, this.#bucket, this.#fresh)
  }

  /** Takes other limits; a strategy that needs more slots for one gets them in every entry. */
  #use(policies: readonly Policy[]): void {
    const bucket = this.#bucket
    if (policies === bucket.policies && policies === bucket.verdict.policies) return
    const wider = (this.#growing ?? bucket).widerFor(policies)
    if (wider !== null) {
      this.#widen(wider)
      warnOfFewKeys(policies, this.#keys)
    }
    bucket.use(policies)
  }

  #widen(wider: readonly number[]): void {
    const slots = wider.reduce((sum, count) => sum + count, 0)
    this.#growing?.leave()
    const narrow = this.#bucket.tiers.map(({ offset, end }) => ({ offset, end }))
    const move: Mover = (from, at, to, target) => {
      let next = target
      for (const [i, { offset, end }] of narrow.entries()) {
        to.set(from.subarray(at + offset, at + end), next)
        next += wider[i]!
      }
    }
    if (this.#growing === null) this.#keys.widen(slots, move)
    this.#overflow = this.#overflow?.movedTo(slots, move) ?? null
    this.#fresh = new Float64Array(slots)
    if (this.#growing === null) this.#bucket.layOut(wider)
    else this.#growing.widen(wider)
  }

  #blockedMs(key: string, now: number): number {
    const blocks = this.#blocks!
    const blockedMs = blocks.left(key, now)
    if (blocks.isEmpty) this.#blocks = null
    return blockedMs
  }
}
