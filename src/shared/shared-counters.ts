import { Tiers } from '../core/bucket.js'
import { Answer } from '../core/decision.js'
import { HeadgateError } from '../core/errors.js'
import type { Policy } from '../core/policy.js'
import { Charge, type Counters, Verdict } from '../core/store.js'
import type { Chain } from './chain.js'
import { ChainTable } from './chain-table.js'
import type { KeyPrint } from './key-print.js'
import { Lowest } from './lowest.js'
import type { SharedMemory } from './memory.js'
import type { Region } from './region.js'
import { SharedBlocks } from './shared-blocks.js'
import { type SharedTime, timeOf } from './shared-time.js'

/** Buckets that each new key looks at for keys to reclaim. */
const sweepPerKey = 2

/** The same where the table is full. */
const sweepWhenFull = 64

/**
 * One thread's hand on the counters of a limiter. A decision reads the key's numbers, decides on a copy of them, and
 * swaps them in; if another thread was quicker it decides anew. It waits for nobody: it fails only where another one
 * has succeeded.
 */
export class SharedCounters implements Counters {
  readonly answers: readonly Float64Array[]
  readonly #opened: readonly Policy[]
  readonly #tiers: Tiers
  readonly #times: readonly SharedTime[]
  readonly #lowest: Lowest
  readonly #table: ChainTable
  readonly #blocks: SharedBlocks
  readonly #print: KeyPrint
  /** The numbers of the key at hand. */
  readonly #state: Float64Array
  readonly #swept: Float64Array
  /** True once room was looked for, for the key at hand. */
  #isPrepared = false

  constructor(memory: SharedMemory, region: Region, policies: readonly Policy[], print: KeyPrint) {
    this.#opened = policies
    this.#tiers = new Tiers(policies)
    this.#tiers.layOut(region.slots)
    this.answers = this.#tiers.answers
    this.#times = policies.map((policy, i) =>
      timeOf(memory, region.tiers + i * region.tierUnits, policy, this.#tiers.all[i]!.steady)
    )
    this.#lowest = new Lowest(memory, region, policies)
    this.#table = new ChainTable(memory, region.table, region.shape)
    this.#blocks = new SharedBlocks(memory, region.blocks, region.shape.maxKeys)
    this.#print = print
    this.#state = new Float64Array(region.shape.slots)
    this.#swept = new Float64Array(region.shape.slots)
  }

  decide(key: string, cost: number, now: number, policies: readonly Policy[], charge: Charge): Verdict {
    this.#print.of(key)
    this.#adopt(policies)
    const wait = this.#blocks.left(this.#print, now)
    this.#isPrepared = false
    for (;;) {
      const isShared = this.#load(now, policies)
      const allowed = this.#tiers.check(this.#state, 0, cost)
      if (wait > 0) return this.#blocked(wait)
      const isToCharge = charge === Charge.always || (allowed && charge === Charge.admitted)
      if (isToCharge && !this.#charge(cost, now, isShared)) continue
      if (isToCharge && !allowed) this.#tiers.check(this.#state, 0, cost)
      this.#table.settle()
      return allowed ? Verdict.admitted : Verdict.denied
    }
  }

  refund(key: string, cost: number, now: number, policies: readonly Policy[], chargedAt: number): void {
    const { chain } = this.#table
    this.#print.of(key)
    this.#adopt(policies)
    do {
      this.#load(now, policies)
      if (chain.found === 0) return
      this.#tiers.refund(this.#state, 0, cost, Math.max(0, now - chargedAt) + this.#lag)
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
      // It keeps its record, so that it is not judged by the crowd's, which knows nothing of resets.
    } while (!chain.replace(print.low, print.high, this.#state))
    this.#table.settle()
  }

  block(key: string, blockMs: number, now: number): boolean {
    this.#print.of(key)
    return this.#blocks.add(this.#print, blockMs, now)
  }

  size(now: number): number {
    let owing = 0
    for (let i = 0; i < this.#table.buckets; i++) owing += this.#countOwing(this.#table.bucketAt(i), now)
    return owing
  }

  /**
   * Copies what the key at hand has, which is then certain to be what its bucket held at one instant, and sets the time
   * of the decision. True if it has no record and what was copied is that of the crowd.
   */
  #load(now: number, policies: readonly Policy[]): boolean {
    const { chain } = this.#table
    const { low, high } = this.#print
    const state = this.#state
    const bucket = this.#table.bucketOf(high)
    for (;;) {
      chain.open(bucket)
      this.#setTime(now)
      this.#tiers.use(policies)
      chain.find(low, high)
      const { found, crowd } = chain
      const from = found === 0 ? crowd : found
      if (from === 0) state.fill(0)
      else chain.read(from, state)
      if (!chain.isCurrent()) continue
      if (found !== 0 || crowd === 0) return false
      if (this.#isSpent(state)) {
        state.fill(0)
        return false
      }
      this.#tiers.judgeBySlowest()
      return true
    }
  }

  /** Charges what `#load` has found. False if it is to be done anew, for another thread was quicker, or time went on. */
  #charge(cost: number, now: number, isShared: boolean): boolean {
    const { low, high } = this.#print
    const { chain } = this.#table
    this.#lowest.lower(this.#tiers.policies)
    if (chain.found !== 0) {
      this.#tiers.charge(this.#state, 0, cost)
      return chain.replace(low, high, this.#state)
    }
    if (!this.#isPrepared) {
      this.#makeRoom(now)
      this.#isPrepared = true
      return false
    }
    const hasRoom = this.#table.isReserved && !chain.isLong
    if (isShared || !hasRoom) this.#tiers.chargeShared(this.#state, 0, cost)
    else this.#tiers.charge(this.#state, 0, cost)
    return hasRoom ? this.#table.insert(low, high, this.#state) : this.#chargeCrowd()
  }

  /** Reserves room in the table for the key at hand, if need be by reclaiming what owes nothing. */
  #makeRoom(now: number): void {
    this.#sweep(sweepPerKey, now)
    if (this.#table.reserve()) return
    this.#sweep(sweepWhenFull, now)
    this.#table.reserve()
  }

  #chargeCrowd(): boolean {
    const { chain } = this.#table
    return chain.crowd === 0 ? chain.insert(0, 0, this.#state) : chain.replaceCrowd(this.#state)
  }

  /** Removes what owes nothing from a few buckets. */
  #sweep(buckets: number, now: number): void {
    for (let i = 0; i < buckets; i++) {
      const bucket = this.#table.nextSwept()
      while (this.#removeSpent(bucket, now));
    }
  }

  /** Removes one record, so that a thread that is killed meanwhile takes the room of one with it; true if there was one. */
  #removeSpent(bucket: number, now: number): boolean {
    const { swept } = this.#table
    swept.open(bucket)
    this.#setTime(now)
    swept.rewind()
    while (this.#stepOn(swept)) if (this.#isSpent(this.#swept)) return this.#table.remove(swept)
    return false
  }

  #countOwing(bucket: number, now: number): number {
    const { swept } = this.#table
    for (;;) {
      let owing = 0
      swept.open(bucket)
      this.#setTime(now)
      swept.rewind()
      while (this.#stepOn(swept)) if (!swept.isCrowd(swept.found) && !this.#isSpent(this.#swept)) owing++
      if (swept.isCurrent()) return owing
    }
  }

  /** Goes on to the next record of a chain, and copies it; false at the end, and where the bucket was changed. */
  #stepOn(chain: Chain): boolean {
    if (chain.step() === 0) return false
    chain.read(chain.found, this.#swept)
    return chain.isCurrent()
  }

  #isSpent(state: Float64Array): boolean {
    this.#tiers.judgeSpentBy(this.#lowest.learn())
    return this.#tiers.isSpent(state, 0)
  }

  /** How far this thread's clock is behind: what it calls the instant of a charge may be that much before it. */
  get #lag(): number {
    return Math.max(...this.#tiers.all.map(({ steady }) => steady.lag))
  }

  #setTime(now: number): void {
    for (let i = 0; i < this.#times.length; i++) this.#times[i]!.read(now)
  }

  #adopt(policies: readonly Policy[]): void {
    if (policies !== this.#opened)
      for (const [i, { name, slots, limit }] of policies.entries())
        if (slots > this.#tiers.all[i]!.slots)
          throw new HeadgateError(
            'HEADGATE_BAD_LIMIT',
            `The limit function of policy '${name}' returned ${limit}, for which the shared store has no room: return a smaller limit, or open the limiter with the largest.`
          )
    this.#tiers.use(policies)
  }

  /** Lengthens the waits of the answer at hand by what is left of a block. */
  #blocked(wait: number): Verdict {
    for (const answer of this.answers) {
      answer[Answer.remaining] = 0
      answer[Answer.retryAfterMs] = Math.max(answer[Answer.retryAfterMs]!, wait)
      answer[Answer.resetMs] = Math.max(answer[Answer.resetMs]!, wait)
    }
    return Verdict.blocked
  }
}
