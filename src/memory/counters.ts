import { Tiers } from '../core/bucket.js'
import { Answer } from '../core/decision.js'
import type { Policy } from '../core/policy.js'
import { Charge, type Counters, Verdict } from '../core/store.js'
import { Blocks } from './blocks.js'
import { KeyTable } from './key-table.js'
import { Overflow, overflowWidth } from './overflow.js'
import type { Mover } from './segment.js'

/** Counters in one table, whose buckets hold the numbers of all tiers side by side. */
export class MemoryCounters implements Counters {
  readonly answers: readonly Float64Array[]
  readonly #tiers: Tiers
  readonly #keys: KeyTable
  /** What a key that has no place has: zeros, or what the overflow holds of it. */
  #fresh: Float64Array
  #overflow: Overflow | null = null
  #blocks: Blocks | null = null

  constructor(policies: readonly Policy[], maxKeys: number | undefined) {
    this.#tiers = new Tiers(policies)
    this.answers = this.#tiers.answers
    this.#keys = new KeyTable(this.#tiers, maxKeys)
    this.#fresh = new Float64Array(this.#tiers.slots)
  }

  decide(key: string, cost: number, now: number, policies: readonly Policy[], charge: Charge): Verdict {
    const tiers = this.#tiers
    tiers.setTime(now)
    if (policies !== tiers.policies) this.#adopt(policies)
    const base = this.#keys.find(key)
    if (base < 0) return this.#decideNew(key, cost, now, charge)
    const { cells } = this.#keys
    const allowed = tiers.check(cells, base, cost)
    if (this.#blocks !== null && this.#isBlocked(key, now, this.#blocks)) return Verdict.blocked
    if (allowed ? charge !== Charge.none : charge === Charge.always) {
      tiers.charge(cells, base, cost)
      if (!allowed) tiers.check(cells, base, cost)
    }
    return allowed ? Verdict.admitted : Verdict.denied
  }

  /** Decides for a key that has no place: by zeros, or by what the overflow holds of it. */
  #decideNew(key: string, cost: number, now: number, charge: Charge): Verdict {
    this.#loadFresh(cost)
    const allowed = this.#tiers.check(this.#fresh, 0, cost)
    if (this.#blocks !== null && this.#isBlocked(key, now, this.#blocks)) return Verdict.blocked
    this.#overflow?.relax(this.answers)
    if (allowed ? charge !== Charge.none : charge === Charge.always) this.#chargeNew(cost, allowed)
    return allowed ? Verdict.admitted : Verdict.denied
  }

  refund(key: string, cost: number, now: number, policies: readonly Policy[], chargedAt: number): void {
    this.#tiers.setTime(now)
    if (policies !== this.#tiers.policies) this.#adopt(policies)
    const base = this.#keys.find(key)
    const agoMs = Math.max(0, now - chargedAt)
    if (base < 0) return
    this.#tiers.refund(this.#keys.cells, base, cost, agoMs)
    this.#keys.lightened()
  }

  reset(key: string): void {
    this.#blocks?.delete(key)
    const base = this.#keys.find(key)
    // It keeps its place, so that it is not judged by the overflow, which knows nothing of resets.
    if (base < 0) return
    this.#keys.cells.fill(0, base, base + this.#tiers.slots)
    this.#keys.lightened()
  }

  block(key: string, blockMs: number, now: number): boolean {
    this.#blocks ??= new Blocks()
    return this.#blocks.add(key, blockMs, now, this.#keys.maxKeys)
  }

  size(now: number): number {
    this.#tiers.setTime(now)
    return this.#keys.countOwing()
  }

  /** Charges a key that has no place: in one that it is given, begun with what is held of it, or in the overflow. */
  #chargeNew(cost: number, allowed: boolean): void {
    const keys = this.#keys
    const given = keys.admit()
    const state = given < 0 ? this.#fresh : keys.cells
    const base = Math.max(given, 0)
    if (given >= 0 && this.#overflow !== null) state.set(this.#fresh, base)
    if (given < 0 || this.#overflow !== null) this.#tiers.chargeShared(state, base, cost)
    else this.#tiers.charge(state, base, cost)
    if (given < 0) this.#chargeOverflow(cost)
    if (!allowed) this.#tiers.check(state, base, cost)
  }

  #loadFresh(cost: number): void {
    if (this.#overflow === null) return
    const { print } = this.#keys
    if (this.#overflow.isActive(this.#tiers)) {
      this.#tiers.judgeBySlowest()
      this.#overflow.load(print[0]!, print[1]!, cost, this.#tiers, this.#fresh)
    } else {
      this.#overflow = null
      this.#fresh.fill(0)
    }
  }

  #chargeOverflow(cost: number): void {
    const { print, maxKeys } = this.#keys
    const { slots } = this.#tiers
    this.#overflow ??= new Overflow(slots, overflowWidth(slots, maxKeys), this.answers.length)
    this.#overflow.charge(print[0]!, print[1]!, cost, this.#tiers, this.#fresh)
  }

  /** Takes other limits; a strategy that needs more numbers for one gets them in every entry. */
  #adopt(policies: readonly Policy[]): void {
    const wider = this.#tiers.widerFor(policies)
    if (wider !== null) this.#widen(wider)
    this.#tiers.adopt(policies, this.#keys.table.used === 0)
  }

  #widen(wider: readonly number[]): void {
    const slots = wider.reduce((sum, count) => sum + count, 0)
    const narrow = this.#tiers.all.map(({ offset, end }) => ({ offset, end }))
    const move: Mover = (from, at, to, target) => {
      let next = target
      for (const [i, { offset, end }] of narrow.entries()) {
        to.set(from.subarray(at + offset, at + end), next)
        next += wider[i]!
      }
    }
    this.#keys.widen(slots, move)
    this.#overflow = this.#overflow?.movedTo(slots, move) ?? null
    this.#fresh = new Float64Array(slots)
    this.#tiers.layOut(wider)
  }

  /** Lengthens the waits of the answer at hand by what is left of a block. */
  #isBlocked(key: string, now: number, blocks: Blocks): boolean {
    const wait = blocks.left(key, now)
    if (blocks.isEmpty) this.#blocks = null
    if (wait === 0) return false
    for (const answer of this.answers) {
      answer[Answer.remaining] = 0
      answer[Answer.retryAfterMs] = Math.max(answer[Answer.retryAfterMs]!, wait)
      answer[Answer.resetMs] = Math.max(answer[Answer.resetMs]!, wait)
    }
    return true
  }
}
