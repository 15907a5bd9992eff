import { SteadyTime } from '../core/clock.js'
import { Answer, answerSize } from '../core/decision.js'
import { HeadgateError } from '../core/errors.js'
import type { Policy } from '../core/policy.js'
import { Charge, type Counters, Verdict } from '../core/store.js'
import { Blocks } from './blocks.js'
import { fingerprint } from './fingerprint.js'
import { Overflow, overflowWidth, type Tiers } from './overflow.js'
import { bytesPerKey, type Mover, Table } from './table.js'

const defaultMaxKeys = 1_000_000
const defaultMaxBytes = 256 * 2 ** 20

/** Entries that each new key looks at for one to reclaim: at least as many as it adds, so spent keys go. */
const sweepPerKey = 2

/** Entries that a new key looks at when the table is full, before the overflow judges it. */
const sweepWhenFull = 64

/** Counters in one table, whose buckets hold the numbers of all tiers side by side. */
export class MemoryCounters implements Counters {
  readonly answers: readonly Float64Array[]
  readonly #steady: readonly SteadyTime[]
  readonly #askedKeys: number | undefined
  #maxKeys: number
  #table: Table
  /** The tiers of the decision at hand; made once, so that a decision allocates nothing. */
  readonly #tiers: Tiers
  /** What an unknown key has: zeros, or what the overflow holds of it. */
  #fresh: Float64Array
  readonly #print = new Int32Array(2)
  readonly #scratch = new Float64Array(answerSize)
  #overflow: Overflow | null = null
  #blocks: Blocks | null = null
  #hand = 0
  #leap = 1

  constructor(policies: readonly Policy[], maxKeys: number | undefined) {
    const offsets = offsetsOf(policies.map((policy) => policy.slots))
    const slots = offsets[policies.length]!
    this.answers = policies.map(() => new Float64Array(answerSize))
    this.#steady = policies.map(
      (policy) => new SteadyTime(policy.windowMs, policy.strategy.aligned?.(policy) === true)
    )
    this.#askedKeys = maxKeys
    this.#maxKeys = this.#boundOf(slots)
    this.#table = new Table(slots, this.#maxKeys)
    this.#leap = leapFor(this.#table.size)
    this.#tiers = {
      slowest: policies,
      policies,
      offsets,
      times: new Float64Array(policies.length)
    }
    this.#fresh = new Float64Array(slots)
  }

  decide(key: string, cost: number, now: number, policies: readonly Policy[], charge: Charge): Verdict {
    this.#setTime(now)
    if (policies !== this.#tiers.policies) this.#adopt(policies)
    const print = this.#print
    fingerprint(key, print)
    let place = this.#table.find(print[0]!, print[1]!)
    if (place < 0) this.#loadFresh(cost)
    const allowed =
      place < 0
        ? this.#check(this.#fresh, 0, cost)
        : this.#check(this.#table.cells, place * this.#table.stride + 1, cost)
    if (this.#blocks !== null && this.#isBlocked(key, now, this.#blocks)) return Verdict.blocked
    if (place < 0 && this.#overflow !== null)
      this.#overflow.relax(print[0]!, print[1]!, cost, this.#tiers, this.answers)
    if (charge === Charge.none || (!allowed && charge !== Charge.always))
      return allowed ? Verdict.admitted : Verdict.denied
    const isNew = place < 0
    if (isNew) place = this.#admit()
    if (place < 0) this.#chargeOverflow(cost)
    else
      this.#charge(this.#table.cells, place * this.#table.stride + 1, cost, isNew && this.#overflow !== null)
    if (allowed) return Verdict.admitted
    this.#recheck(place, cost)
    return Verdict.denied
  }

  refund(key: string, cost: number, now: number, policies: readonly Policy[], chargedAt: number): void {
    this.#setTime(now)
    if (policies !== this.#tiers.policies) this.#adopt(policies)
    const place = this.#placeOf(key)
    if (place < 0) return
    const { times, offsets } = this.#tiers
    for (let i = 0; i < policies.length; i++) {
      const at = place * this.#table.stride + 1 + offsets[i]!
      const time = times[i]!
      policies[i]!.strategy.refund?.(
        this.#table.cells,
        at,
        policies[i]!,
        time,
        cost,
        time - Math.max(0, now - chargedAt)
      )
    }
  }

  reset(key: string): void {
    this.#blocks?.delete(key)
    const place = this.#placeOf(key)
    const { cells, stride } = this.#table
    // It keeps its room, so that it is not judged by the overflow, which knows nothing of resets.
    if (place >= 0) cells.fill(0, place * stride + 1, (place + 1) * stride)
  }

  block(key: string, blockMs: number, now: number): boolean {
    this.#blocks ??= new Blocks()
    return this.#blocks.add(key, blockMs, now, this.#maxKeys)
  }

  size(now: number): number {
    this.#setTime(now)
    let owing = 0
    for (let place = 0; place < this.#table.size; place++)
      if (this.#table.isUsed(place) && !this.#isSpent(place * this.#table.stride + 1)) owing++
    return owing
  }

  #setTime(now: number): void {
    const { times } = this.#tiers
    for (let i = 0; i < times.length; i++) times[i] = this.#steady[i]!.read(now)
  }

  #placeOf(key: string): number {
    fingerprint(key, this.#print)
    return this.#table.find(this.#print[0]!, this.#print[1]!)
  }

  /** Decides every tier on the numbers at `base`; writes nothing but the answers. */
  #check(state: Float64Array, base: number, cost: number): boolean {
    const { policies, offsets, times } = this.#tiers
    let allowed = true
    for (let i = 0; i < policies.length; i++) {
      const policy = policies[i]!
      const answer = this.answers[i]!
      if (cost > policy.capacity) {
        policy.strategy.check(state, base + offsets[i]!, policy, times[i]!, 1, answer)
        answer[Answer.retryAfterMs] = Number.POSITIVE_INFINITY
        allowed = false
      } else if (!policy.strategy.check(state, base + offsets[i]!, policy, times[i]!, cost, answer))
        allowed = false
      if (this.#steady[i]!.lag > 0) this.#addLag(i)
    }
    return allowed
  }

  /** `isShared`: the numbers are, or were a moment ago, those of several keys. */
  #charge(state: Float64Array, base: number, cost: number, isShared: boolean): void {
    const { policies, offsets, times } = this.#tiers
    for (let i = 0; i < policies.length; i++) {
      const policy = policies[i]!
      const { strategy } = policy
      const answer = this.answers[i]!
      if (isShared && strategy.chargeShared)
        strategy.chargeShared(state, base + offsets[i]!, policy, times[i]!, cost, answer)
      else strategy.charge(state, base + offsets[i]!, policy, times[i]!, cost, answer)
      if (this.#steady[i]!.lag > 0) answer[Answer.resetMs]! += this.#steady[i]!.lag
    }
  }

  /** The clock is behind steady time: whatever ends, ends that much later. */
  #addLag(tier: number): void {
    const answer = this.answers[tier]!
    const { lag } = this.#steady[tier]!
    if (answer[Answer.retryAfterMs]! > 0) answer[Answer.retryAfterMs]! += lag
    if (answer[Answer.resetMs]! > 0) answer[Answer.resetMs]! += lag
  }

  /** A room for the key whose fingerprint is at hand, begun with what is held of it; -1 if the table is full. */
  #admit(): number {
    this.#sweep(sweepPerKey)
    if (this.#table.isCrowded) this.#rebuild()
    if (this.#table.used >= this.#maxKeys) this.#sweep(sweepWhenFull)
    if (this.#table.used >= this.#maxKeys) return -1
    const place = this.#table.insert(this.#print[0]!, this.#print[1]!)
    if (this.#overflow !== null) this.#table.cells.set(this.#fresh, place * this.#table.stride + 1)
    return place
  }

  #loadFresh(cost: number): void {
    if (this.#overflow === null) return
    if (this.#overflow.isActive(this.#tiers)) {
      this.#judgeBySlowest()
      this.#overflow.load(this.#print[0]!, this.#print[1]!, cost, this.#tiers, this.#fresh)
    } else {
      this.#overflow = null
      this.#fresh.fill(0)
    }
  }

  /** Limits of 0 and `Infinity` hold as they are. */
  #judgeBySlowest(): void {
    const { policies, slowest } = this.#tiers
    if (policies !== slowest)
      this.#tiers.policies = policies.map((policy, i) => (policy.slots === 0 ? policy : slowest[i]!))
  }

  #chargeOverflow(cost: number): void {
    this.#overflow ??= this.#newOverflow()
    this.#overflow.charge(this.#print[0]!, this.#print[1]!, cost, this.#tiers)
    this.#charge(this.#fresh, 0, cost, true)
  }

  #newOverflow(): Overflow {
    const slots = this.#fresh.length
    return new Overflow(slots, overflowWidth(slots, this.#maxKeys), this.answers.length)
  }

  #recheck(place: number, cost: number): void {
    if (place < 0) this.#check(this.#fresh, 0, cost)
    else this.#check(this.#table.cells, place * this.#table.stride + 1, cost)
  }

  /**
   * Looks at a few buckets and removes what has nothing left to say. The hand leaps: if it swept neighbours, new keys
   * would crowd the part that it has not come to.
   */
  #sweep(buckets: number): void {
    const table = this.#table
    for (let i = 0; i < buckets; i++) {
      this.#hand = (this.#hand + this.#leap) % table.size
      if (table.isUsed(this.#hand) && this.#isSpent(this.#hand * table.stride + 1)) table.remove(this.#hand)
    }
  }

  /** True where the numbers behave as zeros do: nothing would change if they were forgotten. */
  #isSpent(at: number): boolean {
    const { slowest: policies, offsets, times } = this.#tiers
    for (let i = 0; i < policies.length; i++) {
      policies[i]!.strategy.check(
        this.#table.cells,
        at + offsets[i]!,
        policies[i]!,
        times[i]!,
        1,
        this.#scratch
      )
      if (this.#scratch[Answer.resetMs] !== 0) return false
    }
    return true
  }

  #rebuild(slots = this.#fresh.length, move: Mover = copyOf(slots)): void {
    this.#table = this.#table.rebuilt(slots, this.#maxKeys, (at) => this.#isSpent(at), move)
    this.#hand = 0
    this.#leap = leapFor(this.#table.size)
  }

  /** Takes other limits; a strategy that needs more numbers for one gets them in every entry. */
  #adopt(policies: readonly Policy[]): void {
    const { offsets, slowest } = this.#tiers
    const room = policies.map((_, i) => offsets[i + 1]! - offsets[i]!)
    if (policies.some((policy, i) => policy.slots > room[i]!)) this.#widen(policies, room)
    this.#tiers.policies = policies
    this.#tiers.slowest = policies.map((policy, i) => slower(policy, slowest[i]!))
  }

  #widen(policies: readonly Policy[], room: readonly number[]): void {
    const { offsets } = this.#tiers
    const wider = offsetsOf(policies.map(({ slots }, i) => Math.max(room[i]!, slots)))
    const slots = wider[policies.length]!
    this.#rebuild()
    const maxKeys = this.#boundOf(slots)
    if (this.#table.used > maxKeys)
      throw new HeadgateError(
        'HEADGATE_BAD_LIMIT',
        `A limit function asks for ${slots * 8} bytes a key, more than ${this.#table.used} keys may have together: return a smaller limit, or use a strategy that needs less.`
      )
    const move: Mover = (from, at, to, target) =>
      room.forEach((count, i) => {
        to.set(from.subarray(at + offsets[i]!, at + offsets[i]! + count), target + wider[i]!)
      })
    this.#maxKeys = maxKeys
    this.#rebuild(slots, move)
    this.#overflow = this.#overflow?.movedTo(slots, move) ?? null
    this.#fresh = new Float64Array(slots)
    this.#tiers.offsets = wider
  }

  #boundOf(slots: number): number {
    return (
      this.#askedKeys ??
      Math.max(1, Math.min(defaultMaxKeys, Math.floor(defaultMaxBytes / bytesPerKey(slots))))
    )
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

/** A step of about the golden section of a table, coprime to its size, so that it comes to every bucket. */
function leapFor(size: number): number {
  let leap = Math.max(1, Math.round(size * 0.618))
  while (divisor(leap, size) !== 1) leap++
  return leap
}

function divisor(a: number, b: number): number {
  return b === 0 ? a : divisor(b, a % b)
}

/** Of two variants of a policy, the one under which a key owes for longer. */
function slower(a: Policy, b: Policy): Policy {
  return a.limit > 0 && a.limit < b.limit ? a : b
}

function copyOf(slots: number): Mover {
  return (from, at, to, target) => to.set(from.subarray(at, at + slots), target)
}

function offsetsOf(slots: readonly number[]): number[] {
  const offsets = [0]
  for (const count of slots) offsets.push(offsets[offsets.length - 1]! + count)
  return offsets
}
