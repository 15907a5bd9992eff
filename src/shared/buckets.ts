import { Bucket, type Keeper } from '../core/bucket.js'
import { chargedAgo } from '../core/charged-ago.js'
import { HeadgateError } from '../core/errors.js'
import { isSpent } from '../core/owing.js'
import type { Policy } from '../core/policy.js'
import type { BlockPage, BlocksFound, Buckets } from '../core/store.js'
import type { Action, Verdict } from '../core/verdict.js'
import type { Fingerprint } from '../memory/fingerprint.js'
import type { Chain } from './chain.js'
import { ChainTable } from './chain-table.js'
import type { SharedMemory } from './memory.js'
import type { Region } from './region.js'
import { SharedBlocks } from './shared-blocks.js'
import { SharedLimits } from './shared-limits.js'
import { type SharedTime, timeOf } from './shared-time.js'

/** Chains that each new key looks at for keys to reclaim. */
const sweepPerKey = 2

/** The same where the table is full. */
const sweepWhenFull = 64

/**
 * One thread's hand on the buckets of a limiter. A decision reads the key's numbers, decides on a copy of them, and
 * swaps them in; if another thread was quicker it decides anew. It waits for nobody: it fails only where another one
 * has succeeded.
 */
export class SharedBuckets implements Buckets, Keeper {
  readonly #opened: readonly Policy[]
  readonly #bucket: Bucket
  readonly #times: readonly SharedTime[]
  readonly #limits: SharedLimits
  /** True where keys without room may be judged together. */
  readonly #isShareable: boolean
  readonly #table: ChainTable
  readonly #blocks: SharedBlocks
  readonly #print: Fingerprint
  /** The numbers of the key at hand. */
  readonly #state: Float64Array
  readonly #swept: Float64Array
  /** True once room was looked for, for the key at hand. */
  #isPrepared = false
  /** True where the key at hand has no record, and what was copied is the overflow's. */
  #isOverflow = false
  /** True where there is room for a record more. */
  #hasRoom = false
  /** The time of this thread's last decision before it had all forgotten: what it charged earlier is not given back. */
  #clearedAt = Number.NEGATIVE_INFINITY

  constructor(memory: SharedMemory, region: Region, policies: readonly Policy[], print: Fingerprint) {
    this.#opened = policies
    this.#isShareable = policies.every(({ strategy }) => strategy.sharesNothing !== true)
    this.#bucket = new Bucket(policies)
    this.#bucket.layOut(region.slots)
    this.#times = policies.map((policy, i) =>
      timeOf(memory, region.tiers + i * region.tierUnits, policy, this.#bucket.tiers[i]!.steady)
    )
    this.#limits = new SharedLimits(memory, region, this.#bucket.lowest)
    this.#table = new ChainTable(memory, region.table, region.shape)
    this.#blocks = new SharedBlocks(memory, region.blocks, region.maxKeys)
    this.#print = print
    this.#state = new Float64Array(region.shape.slots)
    this.#swept = new Float64Array(region.shape.slots)
  }

  decide(action: Action, key: string, cost: number, now: number, policies: readonly Policy[]): Verdict {
    const bucket = this.#bucket
    this.#print.of(key)
    this.#checkRoom(policies)
    const blockedMs = this.#blocks.left(this.#print, now)
    this.#isPrepared = false
    do this.#load(now, policies)
    while (!bucket.decide(action, cost, blockedMs, this) || !this.#keep())
    this.#table.settle()
    const { penaltyMs } = bucket
    if (penaltyMs > 0 && this.#blocks.add(this.#print, key, penaltyMs, now)) bucket.block(penaltyMs)
    return bucket.verdict
  }

  /** Looks for room for a key without a record. That changes other chains, so the key's is then read again. */
  reserve(): boolean {
    if (this.#table.chain.found !== 0) return true
    if (!this.#isPrepared) {
      this.#makeRoom()
      this.#isPrepared = true
      return false
    }
    this.#hasRoom = this.#table.isReserved && !this.#table.chain.isLong
    this.#bucket.isShared = this.#isOverflow || !this.#hasRoom
    return true
  }

  refund(key: string, cost: number, now: number, policies: readonly Policy[], chargedAt: number): void {
    if (chargedAt < this.#clearedAt) return
    const { chain } = this.#table
    this.#print.of(key)
    this.#checkRoom(policies)
    do {
      this.#load(now, policies)
      if (chain.found === 0) return
      this.#bucket.refund(cost, chargedAgo(now, chargedAt) + this.#lag)
    } while (!chain.replace(this.#print.low, this.#print.high, this.#state))
    this.#table.settle()
  }

  reset(key: string): void {
    const { chain } = this.#table
    const print = this.#print
    print.of(key)
    this.#blocks.delete(print)
    this.#state.fill(0)
    do {
      do {
        chain.open(this.#table.bucketOf(print.high))
        chain.find(print.low, print.high)
      } while (!chain.isCurrent())
      if (chain.found === 0) return
      // It keeps its record, so that it is not judged by the overflow's, which knows nothing of resets.
    } while (!chain.replace(print.low, print.high, this.#state))
    this.#table.settle()
  }

  clear(): void {
    this.#table.clear()
    this.#blocks.clear()
    this.#clearedAt = this.#bucket.verdict.at
  }

  block(key: string, blockMs: number, now: number, isLeast?: boolean): boolean {
    this.#print.of(key)
    return this.#blocks.add(this.#print, key, blockMs, now, isLeast)
  }

  blocks(page: BlockPage, now: number): BlocksFound {
    return this.#blocks.list(page, now)
  }

  size(now: number): number {
    let owing = 0
    for (let i = 0; i < this.#table.buckets; i++) owing += this.#countOwing(this.#table.bucketAt(i), now)
    return owing
  }

  /**
   * Copies what the key at hand has, which is then certain to be what its chain held at one instant, and sets the time
   * of the decision.
   */
  #load(now: number, policies: readonly Policy[]): void {
    const { chain } = this.#table
    const { low, high } = this.#print
    const state = this.#state
    const head = this.#table.bucketOf(high)
    do {
      chain.open(head)
      this.#setTime(now)
      this.#bucket.use(policies)
      chain.find(low, high)
      const from = chain.found === 0 ? chain.overflow : chain.found
      if (from === 0) state.fill(0)
      else chain.read(from, state)
    } while (!chain.isCurrent())
    this.#isOverflow = chain.found === 0 && chain.overflow !== 0 && !this.#isSpent(state)
    if (this.#isOverflow) this.#bucket.useLowest()
    else if (chain.found === 0) state.fill(0)
    this.#bucket.open(state, 0)
  }

  /** Swaps in what was charged. False if another thread was quicker. */
  #keep(): boolean {
    const { low, high } = this.#print
    const { chain } = this.#table
    if (!this.#bucket.hasCharged) return true
    this.#limits.publish()
    if (chain.found !== 0) return chain.replace(low, high, this.#state)
    if (this.#hasRoom) return this.#table.insert(low, high, this.#state)
    if (!this.#isShareable) return true
    return chain.overflow === 0 ? chain.insert(0, 0, this.#state) : chain.replaceOverflow(this.#state)
  }

  /** Reserves room in the table for the key at hand, if need be by reclaiming what owes nothing. */
  #makeRoom(): void {
    this.#sweep(sweepPerKey)
    if (this.#table.reserve()) return
    this.#sweep(sweepWhenFull)
    this.#table.reserve()
  }

  /** Removes what owes nothing from a few chains. */
  #sweep(chains: number): void {
    for (let i = 0; i < chains; i++) {
      const head = this.#table.nextSwept()
      while (this.#removeSpent(head));
    }
  }

  /** Removes one record, so that a thread that is killed meanwhile takes the room of one with it; true if there was one. */
  #removeSpent(head: number): boolean {
    const { swept } = this.#table
    swept.open(head)
    this.#setTime(this.#bucket.verdict.at)
    swept.rewind()
    while (this.#stepOn(swept)) if (this.#isSpent(this.#swept)) return this.#table.remove(swept)
    return false
  }

  #countOwing(head: number, now: number): number {
    const { swept } = this.#table
    for (;;) {
      let owing = 0
      swept.open(head)
      this.#setTime(now)
      swept.rewind()
      while (this.#stepOn(swept)) if (!swept.isOverflow(swept.found) && !this.#isSpent(this.#swept)) owing++
      if (swept.isCurrent()) return owing
    }
  }

  /** Goes on to the next record of a chain, and copies it; false at the end, and where the chain was changed. */
  #stepOn(chain: Chain): boolean {
    if (chain.step() === 0) return false
    chain.read(chain.found, this.#swept)
    return chain.isCurrent()
  }

  #isSpent(state: Float64Array): boolean {
    this.#limits.learn()
    return isSpent(this.#bucket, state, 0)
  }

  /** How far this thread's clock is behind: what it calls the instant of a charge may be that much before it. */
  get #lag(): number {
    return Math.max(...this.#bucket.tiers.map(({ steady }) => steady.lag))
  }

  /** The time of all threads, not of this one's clock alone. */
  #setTime(now: number): void {
    this.#bucket.verdict.at = now
    for (let i = 0; i < this.#times.length; i++) this.#times[i]!.read(now)
  }

  #checkRoom(policies: readonly Policy[]): void {
    if (policies === this.#opened) return
    for (const [i, { name, slots, limit }] of policies.entries())
      if (slots > this.#bucket.tiers[i]!.slots)
        throw new HeadgateError(
          'HEADGATE_BAD_LIMIT',
          `The limit function of policy '${name}' returned ${limit}, for which the shared store has no room: return a smaller limit, or open the limiter with the largest.`
        )
  }
}
