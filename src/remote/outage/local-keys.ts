import { Bucket } from '../../core/bucket.js'
import type { Policy } from '../../core/policy.js'
import { type Action, Out, outSize, peek, type Verdict } from '../../core/verdict.js'
import type { KnownBlocks } from './known-blocks.js'
import {
  bytesOf,
  countingOf,
  type LocalKey,
  laidOut,
  type Numbers,
  numbersFor,
  type Payment,
  type Shared
} from './local-key.js'

/** What is kept at the most: so many keys, and so many bytes. */
export interface LocalBounds {
  readonly keys: number
  readonly bytes: number
}

/** Keys that a newcomer looks at for those that owe nothing any more, when there is no room. */
const looksForRoom = 64

/**
 * The keys that are counted in this process while a store fails, with all that is needed to charge the store for them
 * afterwards. All times are of one clock, which never goes back.
 */
export class LocalKeys {
  readonly #bounds: LocalBounds
  readonly #blocks: KnownBlocks
  readonly #bucket: Bucket
  readonly #keys = new Map<string, LocalKey>()
  #bytes = 0

  constructor(own: Shared, blocks: KnownBlocks, bounds: LocalBounds) {
    this.#bounds = bounds
    this.#blocks = blocks
    this.#bucket = new Bucket(own.shares)
  }

  get isEmpty(): boolean {
    return this.#keys.size === 0
  }

  /** The keys that were charged, those whose payment has failed last. */
  *[Symbol.iterator](): Generator<string> {
    for (const [key, { payment }] of this.#keys) if ((payment?.failures ?? 0) === 0) yield key
    for (const [key, { payment }] of this.#keys) if ((payment?.failures ?? 0) > 0) yield key
  }

  has(key: string): boolean {
    return this.#keys.has(key)
  }

  /** Decides about a key; null if there is no room for what it would be charged. */
  decide(action: Action, key: string, cost: number, now: number, shared: Shared): Verdict | null {
    const bucket = this.#bucket
    const blockedMs = this.#blocks.left(key)
    const known = this.#keys.get(key)
    bucket.setTime(now)
    const held = known ?? this.#fresh(shared)
    const mayCharge = action.kind !== 'peek' && blockedMs === 0
    if (known === undefined && mayCharge && !this.#makeRoom(key, held)) return null
    if (!this.#fit(held, shared.shares)) return null
    this.#open(held, shared.shares)
    bucket.decide(action, cost, blockedMs, null)
    if (bucket.penaltyMs > 0) {
      this.#blocks.add(key, bucket.penaltyMs, true)
      bucket.block(bucket.penaltyMs)
    }
    const { isAllowed, isBlocked, charged, at, out } = bucket.verdict
    const verdict: Verdict = {
      ...{ isAllowed, isBlocked, charged, at, source: 'local', policies: shared.shares },
      out: Array.from(out)
    }
    if (bucket.hasCharged && held.numbers.length > 0) this.#note(key, held, shared, charged)
    return verdict
  }

  /**
   * Gives back what was charged here at `at`.
   * @returns false for what was not, or is being charged in the store
   */
  refund(key: string, cost: number, now: number, shared: Shared, at: number): boolean {
    const held = this.#keys.get(key)
    if (held === undefined) return false
    const { payment } = held
    if (payment !== null && at <= payment.at) return false
    this.#bucket.setTime(now)
    if (!this.#fit(held, shared.shares)) return true
    this.#open(held, shared.shares)
    this.#bucket.refund(cost, Math.max(0, now - at))
    if (payment !== null && payment.since !== null) {
      this.#bucket.open(payment.since, 0)
      this.#bucket.refund(cost, Math.max(0, now - at))
    }
    return true
  }

  /** The payment of a key that is under way, or is to begin. */
  paymentOf(key: string): Payment | null {
    return this.#keys.get(key)?.payment ?? null
  }

  /** Begins to charge the store for what a key owes; null if that is nothing, and the key is forgotten. */
  begin(key: string, now: number, mark: string): Payment | null {
    const held = this.#keys.get(key)
    if (held === undefined) return null
    const { numbers, slots, shared } = held
    if (this.unitsOf(held, shared, now).every((units) => units === 0)) {
      this.delete(key)
      return null
    }
    const owed = { numbers: numbers.slice(), slots }
    held.payment = { mark, at: now, owed, shared, since: null, failures: 0 }
    return held.payment
  }

  /** Ends a payment: what is owed is only what was charged since. False if the key was forgotten meanwhile. */
  endPayment(key: string, payment: Payment): boolean {
    const held = this.#keys.get(key)
    if (held?.payment !== payment) return false
    if (payment.since === null) this.delete(key)
    else held.numbers = payment.since
    held.payment = null
    return true
  }

  /** What some numbers owe now, in units for each tier. */
  unitsOf(owed: Numbers, { shares }: Shared, now: number): number[] {
    const bucket = this.#bucket
    bucket.setTime(now)
    this.#open(owed, shares)
    bucket.decide(peek, 1, 0, null)
    const { out } = bucket.verdict
    return shares.map(({ capacity }, i) =>
      Number.isFinite(capacity) ? capacity - out[i * outSize + Out.remaining]! : 0
    )
  }

  /** For how long they owe anything, ms. */
  owedMs(owed: Numbers, { shares }: Shared, now: number): number {
    this.#bucket.setTime(now)
    this.#open(owed, shares)
    return this.#bucket.owedMs()
  }

  delete(key: string): void {
    const held = this.#keys.get(key)
    if (held === undefined) return
    this.#keys.delete(key)
    this.#bytes -= bytesOf(key, held)
  }

  clear(): void {
    this.#keys.clear()
    this.#bytes = 0
  }

  #fresh(shared: Shared): LocalKey {
    const slots = shared.shares.map((policy) => policy.slots)
    return { numbers: numbersFor(slots), slots, shared, payment: null }
  }

  /** Keeps what was charged, and of a key whose payment is under way what was charged since as well. */
  #note(key: string, held: LocalKey, shared: Shared, charged: number): void {
    const { payment } = held
    held.shared = countingOf(shared, held.shared)
    if (!this.#keys.has(key)) {
      this.#keys.set(key, held)
      this.#bytes += bytesOf(key, held)
    }
    if (payment === null || charged === 0) return
    payment.since ??= numbersFor(held.slots)
    this.#bucket.open(payment.since, 0)
    this.#bucket.chargeEach(held.slots.map(() => charged))
  }

  #open({ numbers, slots }: Numbers, shares: readonly Policy[]): void {
    const bucket = this.#bucket
    bucket.layOut(slots)
    bucket.use(shares)
    bucket.open(numbers, 0)
  }

  /** Gives a key the slots that its strategies need under other limits; false if there is no room. */
  #fit(held: LocalKey, shares: readonly Policy[]): boolean {
    const { slots, payment } = held
    if (shares.every((policy, i) => policy.slots <= slots[i]!)) return true
    const wider = shares.map((policy, i) => Math.max(policy.slots, slots[i]!))
    const numbers = laidOut(held.numbers, slots, wider)
    const more = numbers.byteLength - held.numbers.byteLength
    if (this.#bytes + more > this.#bounds.bytes) return false
    this.#bytes += more
    held.slots = wider
    held.numbers = numbers
    if (payment !== null && payment.since !== null) payment.since = laidOut(payment.since, slots, wider)
    return true
  }

  #makeRoom(key: string, held: LocalKey): boolean {
    const { keys, bytes } = this.#bounds
    const needed = bytesOf(key, held)
    const hasRoom = () => this.#keys.size < keys && this.#bytes + needed <= bytes
    let looks = 0
    for (const [known, other] of this.#keys) {
      if (hasRoom() || looks++ === looksForRoom) break
      if (other.payment === null && this.#owes(other) === 0) this.delete(known)
      else {
        // Those that are looked at next stand first.
        this.#keys.delete(known)
        this.#keys.set(known, other)
      }
    }
    return hasRoom()
  }

  #owes(held: LocalKey): number {
    this.#open(held, held.shared.shares)
    return this.#bucket.owedMs()
  }
}
